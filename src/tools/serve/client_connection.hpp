#pragma once

#include <atomic>
#include <chrono>
#include <functional>

namespace redlock::serve {

/// A connection of a client. All functions may be called from any thread.
class client_connection {
public:
    using clock = std::chrono::steady_clock;

    virtual ~client_connection() = default;

    /// @param ended is called on the executor of the api, when nothing of the connection is under way any more
    virtual void start(std::function<void()> ended) = 0;

    /// Ends the connection after the answer that is under way, or at once.
    virtual void stop() = 0;

    virtual void close() = 0;

    /// Ends the connection, although its client may have more to read.
    virtual void drop() = 0;

    /// Ends the connection if no request is under way.
    virtual void drop_if_idle() = 0;

    /// Whether a whole request has come, and its answer is not known yet or is a stream.
    bool is_under_way() const noexcept { return idle_since() == clock::time_point::max(); }

    /// Since when the service waits for the client: for a request, or until the client takes an answer. The maximum: a
    /// request is under way.
    clock::time_point idle_since() const noexcept { return clock::time_point(clock::duration(idle_since_.load())); }

    /// Whether an answer was ready for the client.
    bool has_answered() const noexcept { return has_answered_; }

    /// The client has sent a bearer token that is known, or needs none.
    void set_known() noexcept { is_known_ = true; }

protected:
    void set_idle(bool is_idle) noexcept
    {
        idle_since_ = (is_idle ? clock::now() : clock::time_point::max()).time_since_epoch().count();
    }
    void set_answered() noexcept { has_answered_ = true; }
    bool is_known() const noexcept { return is_known_; }

private:
    std::atomic<clock::rep> idle_since_{clock::now().time_since_epoch().count()};
    std::atomic<bool> has_answered_ = false, is_known_ = false;
};

}  // namespace redlock::serve
