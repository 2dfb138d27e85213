#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <deque>
#include <exception>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

// The loop of the workers in C++, for this library and for Boost.Redis. It needs nothing but Boost.Asio, because the
// worker of Boost.Redis is compiled with a newer Boost than this project. bench/versus/peers.hpp describes the
// protocol.

namespace versus {

namespace asio = boost::asio;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

struct call {
    bool speed = false;  ///< false: count
    std::vector<std::string> urls;
    milliseconds ttl{};
    std::size_t clients = 1;
    std::optional<std::size_t> first_key{};  ///< nothing: all clients want one lock
    milliseconds hold{};
};

inline void say(std::string const& line)
{
    std::puts(line.c_str());
    std::fflush(stdout);
}

inline std::string in_one_line(std::exception const& e)
{
    std::string text = e.what();
    std::ranges::replace(text, '\n', ' ');
    return text;
}

inline std::vector<std::string> split(std::string const& text, char at)
{
    std::istringstream rest(text);
    std::vector<std::string> parts;
    for (std::string part; std::getline(rest, part, at);)
        parts.push_back(part);
    return parts;
}

inline std::size_t number(std::string const& text)
{
    std::size_t n = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (error != std::errc() || end != text.data() + text.size())
        throw std::invalid_argument('"' + text + "\" must be a number");
    return n;
}

/// @throws std::invalid_argument
inline call read_call(std::vector<std::string> const& words)
{
    bool const speed = words.size() == 6 && words[0] == "speed" && (words[4] == "one" || words[4].starts_with("each"));
    if (!speed && !(words.size() == 3 && words[0] == "count"))
        throw std::invalid_argument(
            "usage: WORKER probe | count URLS TTL_MS | speed URLS TTL_MS CLIENTS one|each[:FIRST] HOLD_MS");
    call c{.speed = speed, .urls = split(words[1], ','), .ttl = milliseconds(number(words[2]))};
    if (speed) {
        c.clients = number(words[3]);
        if (words[4] != "one")
            c.first_key = words[4] == "each" ? 0 : number(words[4].substr(std::string_view("each:").size()));
        c.hold = milliseconds(number(words[5]));
    }
    return c;
}

inline asio::awaitable<void> sleep_until(steady::time_point time)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, time);
    co_await timer.async_wait(asio::use_awaitable);
}

/// The lines of the standard input.
class input {
public:
    explicit input(asio::io_context& context) : pipe_(context, ::dup(STDIN_FILENO)), changed_(context, forever) {}

    /// Reads until the end. Calls @p on_stop after `stop`, and at the end.
    template <class F>
    asio::awaitable<void> read(F on_stop)
    {
        std::string buffer;
        for (;;) {
            auto const [ec, size] = co_await asio::async_read_until(pipe_, asio::dynamic_buffer(buffer), '\n',
                                                                    asio::as_tuple(asio::use_awaitable));
            ended_ = bool(ec);
            auto const line = ec ? "stop" : buffer.substr(0, size - 1);
            buffer.erase(0, size);
            if (line == "stop") {
                stopped_ = true;
                on_stop();
            } else {
                lines_.push_back(line);
            }
            changed_.cancel();
            if (ec)
                co_return;
        }
    }

    /// The words of the next line; nothing at the end.
    asio::awaitable<std::optional<std::vector<std::string>>> next()
    {
        while (lines_.empty()) {
            if (ended_)
                co_return std::nullopt;
            co_await changed_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
        auto words = split(lines_.front(), ' ');
        lines_.pop_front();
        co_return words;
    }

    bool stopped() const noexcept { return stopped_; }
    bool ended() const noexcept { return ended_; }

private:
    static constexpr auto forever = steady::time_point::max();

    asio::posix::stream_descriptor pipe_;
    asio::steady_timer changed_;
    std::deque<std::string> lines_;
    bool stopped_ = false, ended_ = false;
};

/** A worker. @p Peer is a lock library:

    - `Peer(io_context&, call const&)`;
    - `awaitable<Lock> acquire(std::string name)` waits for the lock. It throws an exception if it fails;
    - `awaitable<void> close()` closes the connections.

    A `Lock` has `bool held()`, `std::string token()`, which is empty without fencing tokens, and `awaitable<void>
    release()`.
*/
template <class Peer>
class worker {
public:
    explicit worker(call c) : call_(std::move(c)) {}

    /// @return the exit status
    int run()
    {
        asio::co_spawn(context_, input_.read([this] { stop(); }), asio::detached);
        asio::co_spawn(context_, work(), asio::bind_cancellation_slot(stop_.slot(), [this](std::exception_ptr e) {
                           failure_ = e;
                           context_.stop();
                       }));
        context_.run();
        if (!failure_)
            return 0;
        try {
            std::rethrow_exception(failure_);
        } catch (std::exception const& e) {
            std::fprintf(stderr, "%s\n", in_one_line(e).c_str());
        }
        return 1;
    }

private:
    // A client that waits for the lock may get it soon, and then gives it back. It may also wait for ever.
    void stop()
    {
        auto const time = steady::now() + std::chrono::seconds(call_.speed ? 0 : 2);
        asio::co_spawn(context_, sleep_until(time), [this](std::exception_ptr) {
            if (!acquired_)
                stop_.emit(asio::cancellation_type::terminal);
        });
    }

    asio::awaitable<void> work()
    {
        try {
            if (call_.speed)
                co_await speed();
            else
                co_await count();
        } catch (boost::system::system_error const& e) {
            if (e.code() != asio::error::operation_aborted)
                throw;
        }
        co_await asio::this_coro::reset_cancellation_state();
        co_await peer_.close();
        if (!call_.speed && !input_.ended())
            say("bye");
    }

    asio::awaitable<void> count()
    {
        while (!input_.stopped()) {
            acquired_ = false;
            try {
                auto lock = co_await peer_.acquire("versus");
                acquired_ = !input_.stopped();
                if (acquired_)
                    co_await increment(lock);
                co_await lock.release();
                if (acquired_)
                    say("released");
            } catch (std::exception const& e) {
                if (acquired_ || !input_.stopped())
                    say((acquired_ ? "failed " : "denied ") + in_one_line(e));
            }
            if (!input_.stopped())
                co_await sleep_until(steady::now() + milliseconds(50));
        }
    }

    // One cycle of the counter, while the lock is held.
    template <class Lock>
    asio::awaitable<void> increment(Lock& lock)
    {
        auto const token = lock.token().empty() ? "" : " " + lock.token();
        say("acquired" + token);
        auto const words = co_await input_.next();
        if (!words)
            co_return;
        auto const value = number(words->at(1));
        auto const end = steady::now() + milliseconds(number(words->at(2)));
        for (bool complete = false; !complete;) {
            auto const now = steady::now();
            complete = now >= end;
            if (!complete)
                co_await sleep_until(std::min(now + milliseconds(10), end));
            if (!lock.held()) {
                say("lost");
                co_return;
            }
        }
        say("write " + std::to_string(value + 1) + token);
        co_await input_.next();
    }

    asio::awaitable<void> speed()
    {
        inside_.resize(call_.clients);
        for (std::size_t i = 0; i < (call_.first_key ? call_.clients : 1); ++i)
            co_await cycle(i);
        say("ready");
        while (auto const words = co_await input_.next()) {
            milliseconds const duration(number(words->at(1)));
            result_ = {};
            running_ = call_.clients;
            auto const end = steady::now() + duration;
            for (std::size_t i = 0; i < call_.clients; ++i)
                asio::co_spawn(context_, repeat(i, end), asio::detached);
            co_await done_.async_wait(asio::as_tuple(asio::use_awaitable));
            say(result_.json(duration));
        }
    }

    // A cycle that ends after the time is over does not count: its client only waited for others.
    asio::awaitable<void> repeat(std::size_t client, steady::time_point end)
    {
        for (auto begin = steady::now(); begin < end; begin = steady::now()) {
            std::string failure;
            try {
                co_await cycle(client);
                auto const now = steady::now();
                if (now <= end)
                    result_.us.push_back(std::chrono::duration_cast<std::chrono::microseconds>(now - begin).count());
            } catch (std::exception const& e) {
                failure = in_one_line(e);
            }
            if (!failure.empty()) {
                ++result_.failures[failure];
                co_await sleep_until(steady::now() + milliseconds(1));  // if it fails at once, others go on
            }
        }
        if (--running_ == 0)
            done_.cancel();
    }

    asio::awaitable<void> cycle(std::size_t client)
    {
        std::string name = "versus";
        if (call_.first_key)
            name += ':' + std::to_string(*call_.first_key + client);
        auto lock = co_await peer_.acquire(name);
        auto& inside = inside_[call_.first_key ? client : 0];
        if (++inside > 1)
            ++result_.violations;
        if (call_.hold > milliseconds(0))
            co_await sleep_until(steady::now() + call_.hold);
        --inside;
        co_await lock.release();
    }

    struct result {
        std::vector<long> us;
        std::map<std::string, std::size_t> failures;
        std::size_t violations = 0;

        std::string json(milliseconds duration) const
        {
            std::ostringstream text;
            text << R"({"seconds": )" << std::chrono::duration<double>(duration).count() << R"(, "us": [)";
            for (auto const* separator = ""; auto u : us)
                text << std::exchange(separator, ", ") << u;
            text << R"(], "failures": {)";
            for (auto const* separator = ""; auto const& [message, count] : failures) {
                text << std::exchange(separator, ", ") << '"';
                for (char c : message)
                    text << (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ' ? '\'' : c);
                text << "\": " << count;
            }
            text << R"(}, "violations": )" << violations << '}';
            return text.str();
        }
    };

    call const call_;
    asio::io_context context_{1};
    input input_{context_};
    Peer peer_{context_, call_};
    asio::cancellation_signal stop_;
    asio::steady_timer done_{context_, steady::time_point::max()};
    std::vector<int> inside_;  ///< by key: its holders
    result result_;
    std::size_t running_ = 0;
    bool acquired_ = false;
    std::exception_ptr failure_;
};

/// @param versions  printed by `probe`
template <class Peer>
int run_worker(std::vector<std::string> const& words, std::string const& versions)
try {
    if (words.size() == 1 && words[0] == "probe")
        return say(versions), 0;
    return worker<Peer>(read_call(words)).run();
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", in_one_line(e).c_str());
    return 1;
}

}  // namespace versus
