#include "wake.hpp"

#include "interrupt.hpp"
#include "laboratory.hpp"
#include "scenarios.hpp"
#include "two_managers.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

class holder_and_waiter : two_managers {
public:
    explicit holder_and_waiter(manager_options const& c) : two_managers(c) {}
    explicit holder_and_waiter(fleet const& servers)
        : two_managers({.nodes = servers.urls()}), foreign_(connect_to_all(servers))
    {
    }

    // In a cycle, a waiter waits for a held lock. The holder releases it, or a foreign client deletes its keys.
    sample wake(std::chrono::milliseconds duration, bool by_foreign_client)
    {
        sample s;
        auto const begun = steady::now();
        while (steady::now() < begun + duration) {
            throw_if_interrupted();
            auto held = acquire(holder_, "bench:woken");
            auto const asked = waiter_.stats().rounds;
            lock won;
            bool done = false;
            waiter_.async_acquire("bench:woken", {.wait = 10s}, [&](error_code ec, lock l) {
                done = true;
                won = std::move(l);
                if (ec)
                    ++s.failures[ec.message()];
            });
            run_until([&] { return waiter_.stats().rounds >= asked + 2; });
            context_.run_for(2ms);  // the waiter has been denied, and sleeps
            auto const free = steady::now();
            if (by_foreign_client) {
                for (auto& c : foreign_)
                    c->ask({"DEL", "lock:bench:woken"});
            } else {
                held.async_release([](error_code) {});
            }
            run_until([&] { return done; });
            s.acquire.record(steady::now() - free);
            ++s.cycles;
            held = {};
            release(std::move(won));
        }
        s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
        return s;
    }

    // A cycle is a second of one waiter. Commands of the holder's renewals are not counted.
    sample idle(laboratory& lab, std::size_t waiters, std::chrono::milliseconds duration)
    {
        auto const ttl = lab.settings().ttl;
        auto held = acquire(holder_, "bench:woken", {.ttl = ttl, .renew = renewal::automatic});
        std::deque<asio::cancellation_signal> cancel(waiters);
        std::size_t left = waiters;
        sample s;
        for (auto& c : cancel) {
            waiter_.async_acquire("bench:woken", {.wait = wait_forever},
                                  asio::bind_cancellation_slot(c.slot(), [&](error_code ec, lock) {
                                      --left;
                                      if (ec != asio::error::operation_aborted)
                                          ++s.failures["waiters that did not wait to the end"];
                                  }));
        }
        run_for(100ms);  // by now, all waiters have been denied
        auto const renewals = holder_.stats().renewals;
        auto const begun = steady::now();
        s.commands = lab.observe([&] { return run_for(duration), sample(); }).commands;
        s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
        s.cycles = static_cast<std::uint64_t>(std::lround(s.seconds * static_cast<double>(waiters)));
        s.commands -= (holder_.stats().renewals - renewals) * lab.servers().size();
        for (auto& c : cancel)
            c.emit(asio::cancellation_type::terminal);
        run_until([&] { return left == 0; });
        release(std::move(held));
        return s;
    }

private:
    std::vector<std::unique_ptr<testbed::plain_client>> foreign_;
};

result measure(laboratory& lab, std::string const& variant, std::size_t clients,
               std::function<sample(holder_and_waiter&)> const& what)
{
    holder_and_waiter n(lab.servers());
    return lab.conclude(lab.rounds("woken, " + variant, {}, [&](round& r) { r.library = what(n); }), "woken", variant,
                        clients, false);
}

}  // namespace

sample wake(manager_options const& c, std::chrono::milliseconds duration)
{
    return holder_and_waiter(c).wake(duration, false);
}

std::vector<result> woken(options const& o, progress const& p)
{
    laboratory lab(o, p, o.count);
    auto const gives_up = [&](bool foreign) {
        return [&, foreign](auto& n) { return lab.observe([&] { return n.wake(o.duration, foreign); }); };
    };
    std::vector<result> results{measure(lab, "by a release", 1, gives_up(false)),
                                measure(lab, "by a foreign DEL", 1, gives_up(true))};
    auto const variant = fmt::format("not: renewed, ttl {:g} s", std::chrono::duration<double>(o.ttl).count());
    auto const duration = std::max<std::chrono::milliseconds>(o.duration, o.ttl);  // three renewals
    for (auto const count : {std::size_t{1}, o.clients > 1 ? o.clients : 32}) {
        results.push_back(measure(lab, variant, count, [&](auto& n) { return n.idle(lab, count, duration); }));
        results.back().more["commands_per_second_and_waiter"] = results.back().commands_per_cycle;
    }
    return results;
}

}  // namespace redlock::bench
