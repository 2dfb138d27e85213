#include "scenarios.hpp"

#include "apart.hpp"
#include "crowd.hpp"
#include "laboratory.hpp"
#include "bed/proxy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

result measure_uncontended(laboratory& lab, std::string const& scenario, std::size_t clients)
{
    auto const& o = lab.settings();
    auto const hold = o.hold.value_or(0us);
    load l(lab.servers().urls());
    l.run({.clients = clients, .duration = 200ms});  // connects to the nodes, and warms up
    auto const rounds = lab.rounds(
        fmt::format("{}, nodes: {}, clients: {}", scenario, lab.servers().size(), clients),
        [&] {
            return run_floor(lab.servers().addresses(),
                             {.clients = clients, .duration = o.duration, .rate = o.rate, .hold = hold});
        },
        [&](round& r) {
            work w{.clients = clients, .duration = o.duration, .hold = hold, .rate = o.rate};
            r.library = lab.observe([&] { return l.run(w); });
            if (o.note == 0)
                return;
            w.note.assign(o.note, 'n');
            r.more["note_to_none"] = l.run(w).rate() / r.library.rate();
        });
    auto const variant = o.rate > 0 ? fmt::format("{:g} cycles/s", o.rate) : std::string();
    return lab.conclude(rounds, scenario, variant, clients);
}

// Measures in a process of its own, so that each measurement begins with a fresh heap.
void add_uncontended(std::vector<result>& to, options const& o, progress const& p, std::string const& scenario,
                     std::size_t nodes, std::size_t clients)
{
    auto const one = apart([&] {
        laboratory lab(o, p, nodes);
        return std::vector{measure_uncontended(lab, scenario, clients)};
    });
    to.insert(to.end(), one.begin(), one.end());
}

std::vector<std::size_t> many_and_one(options const& o)
{
    return o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{256, 1};
}

std::vector<result> uncontended(options const& o, progress const& p)
{
    std::vector<result> results;
    for (auto clients : many_and_one(o))
        add_uncontended(results, o, p, "uncontended", o.count, clients);
    return results;
}

// The floor is one client that locks and unlocks the same key: the hold time plus one round trip.
std::vector<result> measure_contended(std::string const& scenario, options const& o, progress const& p,
                                      std::size_t processes)
{
    laboratory lab(o, p, o.count);
    auto const clients = std::max(o.clients > 0 ? o.clients : 32, processes) / processes * processes;
    auto const hold = o.hold.value_or(1ms);
    work const w{.clients = clients, .duration = o.duration, .one_key = true, .hold = hold, .rate = o.rate};
    std::optional<load> l;
    if (processes == 1) {
        l.emplace(lab.servers().urls());
        l->run({.clients = clients, .duration = 200ms, .one_key = true, .hold = hold});
    }
    auto const rounds = lab.rounds(
        fmt::format("{}, {} clients", scenario, clients),
        [&] {
            return run_floor(lab.servers().addresses(),
                             {.clients = 1, .duration = o.duration, .majority = true, .hold = hold});
        },
        [&](round& r) {
            r.library = lab.observe(
                [&] { return l ? l->run(w) : run_crowd(settings_for(lab.servers().urls()), w, processes, r.more); });
            auto const waits = r.library.wait.summary();
            r.more["p99_wait_to_mean"] = waits.mean > 0 ? waits.p99 / waits.mean : 0;
            r.more["longest_wait_to_mean"] = waits.mean > 0 ? waits.max / waits.mean : 0;
        });
    auto variant = fmt::format("hold {:g} ms", std::chrono::duration<double, std::milli>(hold).count());
    if (processes > 4)
        variant += fmt::format(", {} processes", processes);
    return {lab.conclude(rounds, scenario, variant, clients)};
}

std::vector<result> contended(options const& o, progress const& p) { return measure_contended("contended", o, p, 1); }

std::vector<result> crowded(options const& o, progress const& p)
{
    return measure_contended("crowded", o, p, o.processes);
}

std::vector<result> renew(options const& o, progress const& p)
{
    laboratory lab(o, p, o.count);
    auto const duration = std::max(o.duration, o.ttl);  // each lock is renewed three times
    auto const rate = static_cast<double>(o.locks) * 3e3 / static_cast<double>(o.ttl.count());
    load l(lab.servers().urls());
    l.run({.clients = 16, .duration = 200ms});
    auto const rounds = lab.rounds(
        fmt::format("renew, {} locks", o.locks),
        [&] {
            return run_floor(lab.servers().addresses(),
                             {.clients = o.locks, .duration = o.duration, .rate = rate, .extend = true});
        },
        [&](round& r) { r.library = lab.observe([&] { return l.hold(o.locks, o.ttl, duration, r.more); }); });
    return {lab.conclude(rounds, "renew", fmt::format("{} locks", o.locks), 1)};
}

result measure_distant(laboratory& lab, testbed::proxy& network, std::string const& variant)
{
    auto const& o = lab.settings();
    auto const clients = o.clients > 0 ? o.clients : 1;
    std::vector<std::string> urls;
    std::vector<net::url> addresses;
    for (std::size_t i = 0; i < network.size(); ++i) {
        urls.push_back(network.url(i));
        addresses.push_back(net::parse_url(urls.back()));
    }
    load l(urls);
    l.run({.clients = clients, .duration = 500ms});
    auto const rounds = lab.rounds(
        "distant, " + variant,
        [&] {
            return run_floor(addresses, {.clients = clients, .duration = o.duration, .majority = true, .rate = o.rate});
        },
        [&](round& r) {
            r.library =
                lab.observe([&] { return l.run({.clients = clients, .duration = o.duration, .rate = o.rate}); });
            auto const own = r.library.cycle.summary(), floor = r.floor.cycle.summary();
            r.more["cycle_p50_to_floor"] = floor.p50 > 0 ? own.p50 / floor.p50 : 0;
        });
    return lab.conclude(rounds, "distant", variant, clients);
}

std::vector<result> distant(options const& o, progress const& p)
{
    need_own_servers(o, "distant", "it adds delays to connections on loopback");
    laboratory lab(o, p, o.count);
    std::vector<testbed::proxy::target> targets;
    for (std::size_t i = 0; i < lab.servers().size(); ++i)
        targets.push_back({lab.servers().own(i)->port(), o.rtt});
    testbed::proxy network(targets);
    lab.count_in(network.start_apart());
    auto const rtt = fmt::format("rtt {:g} ms", std::chrono::duration<double, std::milli>(o.rtt).count());
    std::vector<result> results{measure_distant(lab, network, rtt)};
    if (targets.size() < 3)
        return results;
    network.set_rtt(targets.size() - 1, 200ms);
    results.push_back(measure_distant(lab, network, rtt + ", one 200 ms"));
    auto const& near = results[0].cycle_us;
    auto& far = results[1];
    far.more["cycle_p50_to_healthy"] = near.p50 > 0 ? far.cycle_us.p50 / near.p50 : 0;
    far.more["cycle_p99_to_healthy"] = near.p99 > 0 ? far.cycle_us.p99 / near.p99 : 0;
    return results;
}

std::vector<result> scale(options const& given, progress const& p)
{
    need_own_servers(given, "scale");
    auto o = given;
    o.rounds = std::min<std::size_t>(o.rounds, 3);  // few rounds, because the trend over all sizes counts
    std::vector<result> results;
    for (std::size_t nodes : {1, 3, 5, 7, 9})
        add_uncontended(results, o, p, "scale", nodes, 256);
    for (std::size_t clients : {1, 4, 16, 64, 1000, 4000, 10'000})
        add_uncontended(results, o, p, "scale", o.count, clients);
    return results;
}

// Measures the cost of an option. The floor is the library without the option.
result measure_option(laboratory& lab, std::string const& scenario, std::string const& variant, std::size_t clients,
                      manager_options with)
{
    auto const& o = lab.settings();
    load plain(lab.servers().urls()), other(std::move(with));
    work const warm_up{.clients = clients, .duration = 200ms};
    work const w{.clients = clients, .duration = o.duration, .hold = o.hold.value_or(0us), .rate = o.rate};
    plain.run(warm_up);
    other.run(warm_up);
    auto const rounds = lab.rounds(
        fmt::format("{}, {} clients", scenario, clients), [&] { return plain.run(w); },
        [&](round& r) {
            auto const before = other.stats();
            r.library = lab.observe([&] { return other.run(w); });
            auto const after = other.stats();
            auto const acquired = static_cast<double>(after.acquired - before.acquired);
            r.more["second_rounds_percent"] =
                acquired > 0 ? 100 * static_cast<double>(after.second_rounds - before.second_rounds) / acquired : 0;
        });
    return lab.conclude(rounds, scenario, variant, clients);
}

std::vector<result> fenced(options const& o, progress const& p)
{
    need_own_servers(o, "fenced", "it would leave its counters there");
    std::vector<result> results;
    for (auto clients : many_and_one(o)) {
        laboratory lab(o, p, o.count);
        auto const with = settings_for(lab.servers().urls(), true);
        results.push_back(measure_option(lab, "fenced", "floor: without fencing", clients, with));
    }
    return results;
}

std::vector<result> observed(options const& o, progress const& p)
{
    std::vector<result> results;
    for (auto clients : many_and_one(o)) {
        laboratory lab(o, p, o.count);
        auto with = settings_for(lab.servers().urls());
        with.observer = std::make_shared<observer>();
        results.push_back(measure_option(lab, "observed", "floor: without observer", clients, with));
    }
    return results;
}

struct scenario {
    char const* name;
    std::vector<result> (*run)(options const&, progress const&);
};

constexpr scenario scenarios[] = {
    {"uncontended", uncontended},
    {"contended", contended},
    {"crowded", crowded},
    {"renew", renew},
    {"stalled", stalled},
    {"killed", killed},
    {"distant", distant},
    {"fenced", fenced},
    {"observed", observed},
    {"woken", woken},
    {"orders", orders},
    {"sets", sets},
    {"denied", denied},
    {"shared", shared},
    {"slots", slots_of_a_semaphore},
    {"stores", stores},
    {"command", command_under_lock},
    {"serve", locks_over_http},
    {"versus", versus},
    {"scale", scale},
};

}  // namespace

std::vector<std::string> scenario_names()
{
    std::vector<std::string> names;
    for (auto const& s : scenarios)
        names.emplace_back(s.name);
    return names;
}

std::vector<result> run_scenario(std::string const& name, options const& o, progress const& p)
{
    auto const found =
        std::find_if(std::begin(scenarios), std::end(scenarios), [&](auto& s) { return name == s.name; });
    return apart([&] { return found->run(o, p); });
}

}  // namespace redlock::bench
