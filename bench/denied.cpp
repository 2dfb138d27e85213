#include "scenarios.hpp"

#include "interrupt.hpp"
#include "laboratory.hpp"
#include "stores/redis/reply.hpp"
#include "two_managers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

// One manager holds all names, and another waits for them. After each change of all names the waiter begins a new round
// with client tracking.
class denied_waiter : two_managers {
public:
    denied_waiter(fleet const& servers, std::size_t names, std::size_t length)
        : two_managers({.nodes = servers.urls(), .node_timeout = 5s, .max_ttl = 2 * lock_ttl}),
          clients_(connect_to_all(servers))
    {
        for (std::size_t i = 0; i < names; ++i) {
            names_.push_back(fmt::format("bench:denied:{:03}", i));
            names_.back().resize(length, 'x');
        }
    }

    /// A cycle is a round of the waiter.
    /// @param server_ms  gets the time that a server needs for the commands of a round. It is the median over rounds
    ///                   and servers, because the system may take the processor from a server meanwhile
    sample run(std::chrono::milliseconds duration, double& server_ms)
    {
        auto held = acquire(holder_, names_, {.ttl = lock_ttl});
        bool done = false;
        acquire_options const waiting{.ttl = lock_ttl, .wait = wait_forever};
        waiter_.async_acquire(names_, waiting, [&](error_code, lock) { done = true; });
        auto const first = waiter_.stats().rounds;
        run_until([&] { return waiter_.stats().rounds >= first + 2; });  // the first round does not track
        std::vector<double> costs;
        sample s;
        auto const begun = steady::now();
        while (steady::now() < begun + duration) {
            auto const before = server_work();
            auto after = before;
            while (!std::ranges::equal(before, after, std::ranges::less(), &work::scripts, &work::scripts)) {
                throw_if_interrupted();
                touch_all();  // repeated: a change before the answer to a round does not count
                context_.run_for(10ms);
                after = server_work();
            }
            for (std::size_t i = 0; i < clients_.size(); ++i)
                costs.push_back((after[i].ms - before[i].ms) / (after[i].scripts - before[i].scripts));
            ++s.cycles;
        }
        s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
        server_ms = median(std::move(costs));
        release(std::move(held));
        run_until([&] { return done; });
        return s;
    }

private:
    static constexpr std::chrono::milliseconds lock_ttl = 300s;

    // Changes all lock keys; then the waiter begins a new round.
    void touch_all()
    {
        auto const* const script = "for i = 1, #KEYS do redis.call('PEXPIRE', KEYS[i], ARGV[1]) end";
        std::vector<std::string> command{"EVAL", script, std::to_string(names_.size())};
        for (auto const& name : names_)
            command.push_back("lock:" + name);
        command.push_back(std::to_string(lock_ttl.count()));
        for (auto& c : clients_)
            c->ask(command);
    }

    struct work {
        double scripts = 0, ms = 0;
    };

    /// The scripts and the time that each server has spent on the waiter.
    std::vector<work> server_work()
    {
        std::vector<work> all;
        for (auto& c : clients_) {
            auto const info = c->ask({"INFO", "commandstats"});
            auto const figure = [&](std::string_view command, std::string_view name) {
                auto const line = stores::redis::value_after(info, fmt::format("cmdstat_{}:", command));
                return std::strtod(std::string(stores::redis::value_after(line, name, ",")).c_str(), nullptr);
            };
            work w{.scripts = figure("evalsha", "calls=")};
            for (auto const* const command : {"evalsha", "exists", "client|caching"})  // evalsha includes its calls
                w.ms += figure(command, "usec=") / 1e3;
            all.push_back(w);
        }
        return all;
    }

    std::vector<std::unique_ptr<testbed::plain_client>> clients_;
    std::vector<std::string> names_;
};

}  // namespace

std::vector<result> denied(options const& o, progress const& p)
{
    need_own_servers(o, "denied", "commands of other clients would be counted");
    std::vector<result> results;
    for (std::size_t names : {64, 256}) {
        for (std::size_t length : {24, 200}) {
            laboratory lab(o, p, o.count);
            denied_waiter waiter(lab.servers(), names, length);
            auto const variant = fmt::format("{} names of {} bytes", names, length);
            auto const rounds = lab.rounds("denied, " + variant, {}, [&](round& r) {
                r.library = waiter.run(o.duration, r.more["server_ms_per_round"]);
            });
            results.push_back(lab.conclude(rounds, "denied", variant, 1, false));
        }
    }
    return results;
}

}  // namespace redlock::bench
