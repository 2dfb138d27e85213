#pragma once

#include "tools/supervised.hpp"

#include <redlock/lock.hpp>
#include <redlock/testing.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::tools {

namespace asio = boost::asio;

/// What becomes of a command whose lock cannot be kept.
enum class on_lost : std::uint8_t {
    term,  ///< SIGTERM, and SIGKILL after a while; both before the validity is over
    kill,  ///< SIGKILL
    warn,  ///< nothing
};

/** Stays with a command until it and its process group are gone: hands signals on to it, and stops it before the lock is lost.

    A lock is lost, and the command killed, a margin before its validity ends, min(max(ttl/20, 50 ms), ttl/5): see lock::async_wait_lost.
    A while before that it is asked to stop: for @ref options::grace, but not for more than half of what a renewal gives, so that renewals
    can be tried again first.
*/
class supervisor : public std::enable_shared_from_this<supervisor> {
public:
    struct options {
        std::chrono::milliseconds ttl;    ///< of the lock
        std::chrono::milliseconds grace;  ///< between SIGTERM and SIGKILL
        on_lost then;
        std::function<void()> lost{};                    ///< called once, when the command is about to be stopped, or was not
        std::function<void(std::string const&)> say{};   ///< for people
        std::shared_ptr<testing::manual_clock> test_clock{};  ///< that of the lock's manager: config::test_clock
    };

    /// @param signals  what is handed on, and SIGCHLD
    supervisor(asio::signal_set& signals, lock&, supervised&, options);

    /// @return whether the lock could be kept until the command was gone
    asio::awaitable<bool> run();

private:
    void listen();
    void watch();
    void pass_on_signals();
    void act();
    asio::awaitable<void> sleep(clock::duration);  ///< or less, if wake_ is cancelled
    void stop_softly(std::string const& why);
    void kill(std::string const& why);
    void tell_loss();
    clock::time_point now() const;
    clock::time_point hard_end() const;  ///< at which it is killed
    clock::time_point soft_end() const { return hard_end() - grace_; }
    clock::time_point next_step() const;

    lock& held_;
    supervised& child_;
    options const options_;
    std::chrono::milliseconds const margin_, grace_;
    asio::signal_set& signals_;
    asio::steady_timer wake_;
    std::vector<int> arrived_;
    bool is_over_ = false;
    bool lost_ = false;          ///< the lock
    bool is_told_ = false;       ///< that it cannot be kept
    bool is_killed_ = false;
    clock::time_point kill_at_ = clock::time_point::max();  ///< at the latest, once it was asked to stop
};

}  // namespace redlock::tools
