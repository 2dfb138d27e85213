#include "scenarios.hpp"

#include "interrupt.hpp"
#include "laboratory.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <array>
#include <deque>
#include <random>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
constexpr auto token = asio::as_tuple(asio::deferred);

// Measures the cost of a set. The floor is the library with one name per lock.
result measure_cost(laboratory& lab, std::size_t clients, std::size_t names)
{
    auto const& o = lab.settings();
    load one(lab.servers().urls()), several(lab.servers().urls());
    work const single{.clients = clients, .duration = o.duration, .hold = o.hold.value_or(0us), .rate = o.rate};
    auto set = single;
    set.names = names;
    one.run({.clients = clients, .duration = 200ms});
    several.run({.clients = clients, .duration = 200ms, .names = names});
    auto const cpu_per_cycle = [](sample const& s) { return s.each(s.client_cpu_seconds); };
    auto const rounds = lab.rounds(
        fmt::format("sets of {}, {} clients", names, clients), [&] { return one.run(single); },
        [&](round& r) {
            r.library = lab.observe([&] { return several.run(set); });
            auto const floor = cpu_per_cycle(r.floor);
            r.more["client_cpu_to_one_name"] = floor > 0 ? cpu_per_cycle(r.library) / floor : 0;
        });
    return lab.conclude(rounds, "sets", fmt::format("{} names; floor: one", names), clients);
}

constexpr std::size_t names_in_all = 20, names_wanted = 10, single_processes = 4;
constexpr auto hold = 5ms;
constexpr double load_of_singles = 0.9;

// How the client that wants several names acquires them.
enum class manner {
    not_at_all,   // only single names are locked
    in_sequence,  // one lock after the other in the order of the names, like multi-locks of other libraries
    as_set,
};

// Five managers that stand for processes: they communicate only through the servers. One acquires ten of twenty names
// together. Four lock each name alone, so that a name is held for nine tenths of the time.
class overlap {
public:
    explicit overlap(fleet const& servers)
    {
        for (std::size_t i = 0; i <= single_processes; ++i)
            managers_.emplace_back(context_, manager_options{.nodes = servers.urls()});
        for (std::size_t i = 0; i < names_in_all; ++i)
            names_.push_back(fmt::format("bench:overlap:{:02}", i));
    }

    ~overlap()
    {
        std::size_t left = managers_.size();
        for (auto& m : managers_)
            m.async_shutdown([&](error_code) { --left; });
        context_.restart();
        while (left > 0 && context_.run_one() > 0) {
        }
    }

    // A cycle is a held set. @p singles gets the waits for single names.
    sample run(manner how, std::chrono::milliseconds duration, histogram& singles)
    {
        sample s;
        auto const begun = steady::now();
        end_ = begun + duration;
        running_ = single_processes * names_in_all + (how != manner::not_at_all);
        for (std::size_t i = 0; i < single_processes; ++i) {
            for (auto const& name : names_)
                asio::co_spawn(context_, take_one(managers_[i], name, singles, i * names_in_all), asio::detached);
        }
        if (how != manner::not_at_all)
            asio::co_spawn(context_, take_several(how, s), asio::detached);
        context_.restart();
        while (running_ > 0) {
            context_.run_one_for(100ms);
            if (was_interrupted())
                end_ = begun;
        }
        throw_if_interrupted();
        s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
        return s;
    }

private:
    // The pauses are random, with a mean that gives the load `load_of_singles` if no acquisition waits.
    asio::awaitable<void> take_one(lock_manager& by, std::string name, histogram& waits, std::size_t seed)
    {
        asio::steady_timer timer(context_);
        std::minstd_rand random(static_cast<unsigned>(seed * 31 + std::hash<std::string>()(name)));
        auto const idle = std::chrono::duration<double>(hold)
                          * (static_cast<double>(single_processes) / load_of_singles - 1);
        std::exponential_distribution<double> pause(1 / idle.count());
        while (steady::now() < end_) {
            timer.expires_after(
                std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>(pause(random))));
            co_await timer.async_wait(token);
            auto const asked = steady::now();
            auto [ec, held] = co_await by.async_acquire(name, {.ttl = 10s, .wait = 10s}, token);
            waits.record(steady::now() - asked);
            timer.expires_after(hold);
            co_await timer.async_wait(token);
            co_await held.async_release(token);
        }
        --running_;
    }

    asio::awaitable<void> take_several(manner how, sample& s)
    {
        asio::steady_timer timer(context_);
        std::vector<std::string> const wanted(names_.begin(), names_.begin() + names_wanted);
        while (steady::now() < end_) {
            auto const asked = steady::now();
            std::deque<lock> held;
            if (how == manner::as_set) {
                auto [ec, all] = co_await managers_.back().async_acquire(wanted, {.ttl = 10s, .wait = 60s}, token);
                s.failures["sets that were not held"] += ec.failed();
                held.push_back(std::move(all));
            } else {
                for (auto const& name : wanted) {
                    auto [ec, one] = co_await managers_.back().async_acquire(name, {.ttl = 60s, .wait = 60s}, token);
                    s.failures["sets that were not held"] += ec.failed();
                    held.push_back(std::move(one));
                }
            }
            s.wait.record(steady::now() - asked);
            s.acquire.record(steady::now() - asked);
            ++s.cycles;
            timer.expires_after(hold);
            co_await timer.async_wait(token);
            for (auto& one : held)
                co_await one.async_release(token);
            timer.expires_after(50ms);
            co_await timer.async_wait(token);
        }
        std::erase_if(s.failures, [](auto& f) { return f.second == 0; });
        --running_;
    }

    asio::io_context context_{1};
    std::deque<lock_manager> managers_;  // the last one acquires several names
    std::vector<std::string> names_;
    steady::time_point end_;
    std::size_t running_ = 0;
};

result measure_overlap(laboratory& lab)
{
    overlap all(lab.servers());
    auto const duration = lab.settings().duration;
    histogram warm_up;
    all.run(manner::as_set, 300ms, warm_up);
    histogram beside_sequences;
    auto const rounds = lab.rounds(
        "sets that overlap with singles",
        [&] {
            beside_sequences = {};
            return all.run(manner::in_sequence, duration, beside_sequences);
        },
        [&](round& r) {
            histogram alone, beside_sets;
            all.run(manner::not_at_all, duration, alone);
            r.library = lab.observe([&] { return all.run(manner::as_set, duration, beside_sets); });
            auto const sequence = r.floor.wait.summary().mean, single = alone.summary().mean;
            r.more["longest_wait_to_sequences_mean"] = sequence > 0 ? r.library.wait.summary().max / sequence : 0;
            r.more["singles_mean_wait_to_alone"] = single > 0 ? beside_sets.summary().mean / single : 0;
            r.more["singles_mean_wait_to_alone_beside_sequences"] =
                single > 0 ? beside_sequences.summary().mean / single : 0;
        });
    return lab.conclude(rounds, "sets",
                        "10 of 20 names, each held for 0.9 of the time by others; floor: one lock after the other", 1);
}

}  // namespace

std::vector<result> sets(options const& o, progress const& p)
{
    std::vector<result> results;
    for (std::size_t names : {2, 5, 20}) {
        laboratory lab(o, p, o.count);
        results.push_back(measure_cost(lab, o.clients > 0 ? o.clients : 256, names));
    }
    laboratory lab(o, p, o.count);
    results.push_back(measure_overlap(lab));
    return results;
}

}  // namespace redlock::bench
