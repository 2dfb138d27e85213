#pragma once

#include "sim/client.hpp"
#include "sim/gallery/stores.hpp"
#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim::gallery {

namespace asio = boost::asio;
using namespace std::chrono_literals;

template <class T>
using task = asio::awaitable<T>;

/** All that an algorithm of the gallery has: servers that may answer, clocks of its own, and random numbers. Its
    process may be paused whenever it waits or reads a clock.
*/
class computer {
public:
    computer(world& w, process& p, std::string name) : world_(w), process_(p), name_(std::move(name))
    {
        for (auto& s : w.servers)
            channels_.push_back(std::make_unique<channel>(w, *this, *s));
    }

    std::string const& name() const noexcept { return name_; }
    process& runs_on() noexcept { return process_; }

    std::size_t servers() const noexcept { return channels_.size(); }

    /// Sends a command to a server, and waits for the answer without a limit.
    /// @return what redis-cli prints: `OK`, `1`, a value, `(nil)`. Empty: an error, or no answer, and the server may
    /// still carry out the command.
    template <class... Words>
    task<std::string> ask(std::size_t server, Words... words)
    {
        return ask_words(server, clock::duration::max(), command{fmt::format("{}", words)...});
    }

    /// Like @ref ask, but waits for at most @p timeout; then it gives up the connection.
    template <class... Words>
    task<std::string> ask_within(clock::duration timeout, std::size_t server, Words... words)
    {
        return ask_words(server, timeout, command{fmt::format("{}", words)...});
    }

    /// The time since boot, by its clock.
    clock::time_point now()
    {
        process_.may_stall();
        auto const t = process_.clock_now();
        process_.may_stall();
        return t;
    }

    /// The time since 1970, by its clock.
    std::chrono::milliseconds time_of_day()
    {
        process_.may_stall();
        auto const t = std::chrono::floor<std::chrono::milliseconds>(std::chrono::microseconds(process_.wall_clock()));
        process_.may_stall();
        return t;
    }

    task<void> sleep(clock::duration d)
    {
        timer t(process_.executor());
        t.expires_after(d);
        co_await t.async_wait(as_result);
    }

    clock::duration any_up_to(clock::duration d) { return world_.random.between(0ms, d); }

    /// A text that is never returned twice.
    std::string unique() { return fmt::format("{}#{}", name_, ++last_unique_); }

    /// Writes a line of the history.
    void tell(std::string_view what) { world_.tell("{} {}", name_, what); }

    /// Runs beside everything else, until it returns.
    void start(std::function<task<void>()> what)
    {
        asio::co_spawn(process_.executor(), std::move(what), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
    }

private:
    using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

    /// An answer that somebody waits for. The network does not keep it, because its caller may have ended.
    struct exchange {
        timer over;
        std::optional<std::string> answer{};  ///< an empty text: there will be none

        void end(std::string with)
        {
            answer = std::move(with);
            over.cancel();
        }
    };

    /// The connection to one server. It is made when it is needed.
    class channel final : network::owner {
    public:
        channel(world& w, computer& c, server& s) : world_(w), computer_(c), server_(s) { renew(); }

        ~channel() { network_->leave(); }

        task<std::string> ask(clock::duration timeout, command words)
        {
            auto const e = std::make_shared<exchange>(exchange{timer(computer_.process_.executor())});
            if (timeout == clock::duration::max())
                e->over.expires_at(clock::time_point::max());
            else
                e->over.expires_after(timeout);
            waiting_.push_back({std::move(words), e});
            if (state_ == state::closed) {
                state_ = state::opening;
                network_->open();
            }
            send();
            if (!e->answer)
                co_await e->over.async_wait(as_result);
            if (!e->answer) {
                world_.tell("{} stops waiting for {}", computer_.name(), server_.name);
                give_up();
            }
            co_return e->answer.value_or("");
        }

    private:
        enum class state { closed, opening, open };

        struct request {
            command words;
            std::weak_ptr<exchange> over;
        };

        void renew()
        {
            network_ = std::make_shared<network>(world_, computer_.process_, server_);
            network_->start(computer_.process_.executor(), *this);
            state_ = state::closed;
        }

        // Requests under way may still arrive.
        void give_up()
        {
            auto const before = network_;
            renew();
            fail_all();
            for (auto const& lost : before->leave())
                lost();
        }

        void send()
        {
            if (state_ != state::open)
                return;
            for (auto& r : std::exchange(waiting_, {})) {
                auto carry_out = [&s = server_, who = computer_.name(), words = std::move(r.words),
                                  over = r.over](auto const&) {
                    auto answer = gallery::carry_out(s, who, words);
                    return [over, answer] {
                        if (auto const e = over.lock())
                            e->end(answer);
                    };
                };
                auto lost = [this, over = r.over] {
                    if (auto const e = over.lock()) {
                        world_.tell("{} loses its connection to {}, and has no answer", computer_.name(), server_.name);
                        e->end("");
                    }
                };
                network_->send({.carry_out = std::move(carry_out), .lost = std::move(lost)});
            }
        }

        void opened(std::shared_ptr<client> const& there) override
        {
            state_ = there ? state::open : state::closed;
            if (there)
                send();
            else
                fail_all();
        }

        void told(std::string const&) override {}

        void broken(std::string_view, std::vector<std::function<void()>> lost) override
        {
            state_ = state::closed;
            for (auto const& one : lost)
                one();
        }

        void fail_all()
        {
            for (auto const& r : std::exchange(waiting_, {})) {
                if (auto const e = r.over.lock())
                    e->end("");
            }
        }

        world& world_;
        computer& computer_;
        server& server_;
        std::shared_ptr<network> network_;
        state state_ = state::closed;
        std::vector<request> waiting_;
    };

    task<std::string> ask_words(std::size_t server, clock::duration timeout, command words)
    {
        return channels_[server]->ask(timeout, std::move(words));
    }

    world& world_;
    process& process_;
    std::string const name_;
    std::uint64_t last_unique_ = 0;
    std::vector<std::unique_ptr<channel>> channels_;
};

}  // namespace redlock::sim::gallery
