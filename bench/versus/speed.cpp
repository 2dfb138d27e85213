#include "versus/speed.hpp"

#include "apart.hpp"
#include "laboratory.hpp"
#include "processor.hpp"
#include "bed/etcd_server.hpp"
#include "bed/postgres_server.hpp"
#include "bed/proxy.hpp"
#include "bed/zookeeper_server.hpp"
#include "versus/crew.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t many_clients = 32;  // from here on, several worker processes may do better than one
constexpr std::size_t several_workers = 4;

/// The server of a peer that keeps its locks elsewhere than on our Redis servers.
struct foreign_server {
    std::unique_ptr<testbed::server_process> process;
    std::string url;
};

template <class Server, class... Options>
foreign_server start(std::string const& before_port, std::string const& after_port, Options... options)
{
    auto server = std::make_unique<Server>(std::move(options)...);
    auto url = fmt::format("{}127.0.0.1:{}{}", before_port, server->port(), after_port);
    return {std::move(server), std::move(url)};
}

foreign_server start_for(lock_servers which)
{
    switch (which) {
    case lock_servers::redis_quorum:
    case lock_servers::one_redis:
        break;
    case lock_servers::etcd:
        return start<testbed::etcd_server>("http://", "");
    case lock_servers::zookeeper:
        return start<testbed::zookeeper_server>("", "");
    case lock_servers::postgresql:  // each of four workers may have 64 connections
        return start<testbed::postgres_server>("postgresql://redlock@", "/postgres",
                                               std::vector<std::string>{"max_connections=300"});
    }
    return {};
}

/// Stops a node until resume(), or until the end of its scope.
class stopped_node {
public:
    explicit stopped_node(testbed::local_server* node) : node_(node)
    {
        if (node_)
            node_->pause();
    }
    ~stopped_node() { resume(); }
    stopped_node(stopped_node const&) = delete;
    stopped_node& operator=(stopped_node const&) = delete;

    void resume()
    {
        if (node_)
            node_->resume();
    }

private:
    testbed::local_server* node_;
};

/// The servers of a cell, with this library and the peers as their clients.
class contest {
public:
    contest(versus_cell const& c, options const& o, progress const& p) : cell_(c), lab_(o, p, c.nodes), progress_(p)
    {
        if (cell_.rtt > 0us) {
            std::vector<testbed::proxy::target> targets;
            for (std::size_t i = 0; i < lab_.servers().size(); ++i)
                targets.push_back({lab_.servers().own(i)->port(), cell_.rtt});
            network_.emplace(targets);
            lab_.count_in(network_->start_apart());
        }
        for (std::size_t i = 0; i < lab_.servers().size(); ++i)
            urls_.push_back(network_ ? network_->url(i) : lab_.servers().urls()[i]);
        ours_.emplace(settings_for(urls_));
        run(*ours_, 200ms);
    }

    result measure_ours()
    {
        auto const rounds = lab_.rounds(
            title("redlock"), [&] { return run_the_floor(); },
            [&](round& r) { r.library = lab_.observe([&] { return measure(*ours_); }); });
        return conclude(rounds, "redlock");
    }

    result measure_with_fencing()
    {
        load fenced(settings_for(urls_, true));
        run(fenced, 200ms);
        auto const rounds = lab_.rounds(
            title("redlock with fencing"), [&] { return measure(*ours_); },
            [&](round& r) { r.library = lab_.observe([&] { return measure(fenced); }); });
        return conclude(rounds, "redlock with fencing");
    }

    result measure_peer(peer const& p)
    {
        try {
            return measure_workers(p);
        } catch (worker_failed const& e) {
            progress_(fmt::format("{}: {}", title(p.title), e.what()));
            auto r = conclude({round{}}, p.title);
            r.rounds = 0;
            r.ratio_to_floor = r.floor_cycles_per_second = std::nullopt;
            r.failures[e.what()] = 1;
            return r;
        }
    }

private:
    std::string title(std::string const& name) const { return fmt::format("{}, {}", cell_.name(), name); }

    result conclude(std::vector<round> const& rounds, std::string const& name) const
    {
        auto r = lab_.conclude(rounds, cell_.name(), name, cell_.clients);
        // Little's law: the clients that took part. The others starved, and their cycles never ended.
        if (cell_.one_key)
            r.more["clients_served_at_a_time"] = r.cycle_us.mean * 1e-6 * r.cycles_per_second;
        return r;
    }

    sample run_the_floor()
    {
        std::vector<net::url> addresses;
        for (auto const& u : urls_)
            addresses.push_back(net::parse_url(u));
        auto const alone = cell_.one_key;
        return run_floor(addresses, {.clients = alone ? 1 : cell_.clients,
                                     .duration = lab_.settings().duration,
                                     .majority = alone || network_,
                                     .hold = cell_.hold});
    }

    sample run(load& l, std::chrono::milliseconds duration)
    {
        return l.run({.clients = cell_.clients, .duration = duration, .one_key = cell_.one_key, .hold = cell_.hold});
    }

    // Cycles after a stop let all nodes vote again before the next measurement.
    sample measure(load& l)
    {
        stopped_node stopped(node_to_stop());
        auto s = run(l, lab_.settings().duration);
        stopped.resume();
        if (cell_.stopped)
            run(l, 300ms);
        return s;
    }

    sample measure(crew& workers, std::chrono::milliseconds duration)
    {
        if (!cell_.stopped)
            return workers.run(duration);
        stopped_node stopped(node_to_stop());
        auto s = workers.run(duration, [&] { stopped.resume(); });
        workers.run(300ms);
        return s;
    }

    testbed::local_server* node_to_stop() { return cell_.stopped ? lab_.servers().own(cell_.nodes - 1) : nullptr; }

    result measure_workers(peer const& p)
    {
        auto const foreign = start_server_of(p);
        progress_(fmt::format("{}: the workers start", title(p.title)));
        auto const workers = best_crew(p, foreign.process ? foreign.url : fmt::format("{}", fmt::join(urls_, ",")));
        for (auto const pid : workers->pids())
            lab_.count_in(pid);
        auto const duration = time_for(*workers);
        auto const rounds = lab_.rounds(
            title(p.title), [&] { return measure(*ours_); },
            [&](round& r) {
                r.library = foreign.process ? observe(*foreign.process, *workers, duration)
                                            : lab_.observe([&] { return measure(*workers, duration); });
                if (duration != lab_.settings().duration)
                    r.more["worker_seconds"] = std::chrono::duration<double>(duration).count();
                if (workers->size() > 1)
                    r.more["worker_processes"] = static_cast<double>(workers->size());
            });
        auto r = conclude(rounds, p.title);
        // The counters of the servers include the calls of scripts, and are unknown for other servers.
        constexpr auto unknown = std::numeric_limits<double>::quiet_NaN();
        r.commands_per_cycle = unknown;
        r.allocations_per_cycle = r.bytes_per_cycle = unknown;
        if (foreign.process)
            r.writes_per_cycle = unknown;
        return r;
    }

    foreign_server start_server_of(peer const& p)
    {
        try {
            auto foreign = start_for(p.servers);
            if (foreign.process)
                lab_.count_in(foreign.process->pid());
            return foreign;
        } catch (std::runtime_error const& e) {
            throw worker_failed(e.what());
        }
    }

    sample observe(testbed::server_process const& server, crew& workers, std::chrono::milliseconds duration)
    {
        auto const before = cpu_seconds_of_family(server.pid());
        auto s = measure(workers, duration);
        s.server_cpu_seconds = cpu_seconds_of_family(server.pid()) - before;
        return s;
    }

    // Workers do not count cycles that last beyond the end. So that few are lost, each client needs time for several.
    std::chrono::milliseconds time_for(crew& workers)
    {
        auto const usual = lab_.settings().duration;
        if (cell_.one_key)
            return usual;
        auto const cycles = 8 * static_cast<double>(cell_.clients);
        std::chrono::duration<double> const needed(cycles / std::max(workers.run(warm_up).rate(), cycles / 10));
        return std::max(usual, std::chrono::ceil<std::chrono::milliseconds>(needed));  // 10 s if it had no cycles
    }

    // Even on one processor, several processes may do better: Python lets one thread of a process run at a time.
    std::unique_ptr<crew> best_crew(peer const& p, std::string const& urls)
    {
        crew_work const w{.urls = urls, .clients = cell_.clients, .one_key = cell_.one_key, .hold = cell_.hold};
        auto one = std::make_unique<crew>(p, w);
        one->run(warm_up);
        if (cell_.clients < many_clients)
            return one;
        auto several = std::make_unique<crew>(p, w, several_workers);
        several->run(warm_up);
        return several->run(warm_up).rate() > one->run(warm_up).rate() ? std::move(several) : std::move(one);
    }

    static constexpr auto warm_up = 500ms;

    versus_cell const cell_;
    laboratory lab_;
    progress const& progress_;
    std::optional<testbed::proxy> network_;
    std::vector<std::string> urls_;
    std::optional<load> ours_;
};

bool fits(peer const& p, versus_cell const& c)
{
    return p.missing.empty() && (c.nodes == 1 || p.servers == lock_servers::redis_quorum);
}

}  // namespace

std::string versus_cell::name() const
{
    auto const counted = [](std::size_t n, char const* what) {
        return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
    };
    auto text = "versus: " + counted(nodes, "node");
    if (stopped)
        text += ", one of them stopped";
    if (rtt > 0us)
        text += fmt::format(" {:g} ms away", std::chrono::duration<double, std::milli>(rtt).count());
    text += ", " + counted(clients, "client");
    return text + (one_key ? fmt::format(", one key, hold {} ms", hold.count()) : std::string(", a key each"));
}

std::vector<versus_cell> versus_cells(options const& o)
{
    auto const clients = [&](std::size_t usual) { return o.clients > 0 ? o.clients : usual; };
    std::vector<versus_cell> cells;
    for (auto const nodes : o.count > 1 ? std::vector<std::size_t>{1, o.count} : std::vector<std::size_t>{1}) {
        for (auto const many : o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{1, 256})
            cells.push_back({.nodes = nodes, .clients = many});
        cells.push_back({.nodes = nodes, .clients = clients(32), .one_key = true, .hold = 1ms});
        if (nodes == 1)
            cells.push_back({.nodes = nodes, .clients = clients(32), .one_key = true});
    }
    if (o.count > 1) {  // an odd number, so that the other nodes are a majority
        cells.push_back({.nodes = o.count, .clients = clients(1), .stopped = true});
        cells.push_back({.nodes = o.count, .clients = clients(1), .rtt = o.rtt});
    }
    return cells;
}

std::vector<result> measure_versus(versus_cell const& c, options const& o, progress const& p)
{
    contest servers(c, o, p);
    std::vector<result> results{servers.measure_ours(), servers.measure_with_fencing()};
    for (auto const& one : o.peers) {
        if (fits(one, c))
            results.push_back(servers.measure_peer(one));
    }
    return results;
}

std::vector<peer> find_rivals(options const& o)
{
    if (o.workers.empty())
        return {};
    auto all = find_peers(o.workers);
    std::erase_if(all, [](peer const& p) { return p.name == "redlock" || p.name == "redlock-fencing"; });
    std::vector<std::string> names;
    for (auto const& p : all)
        names.push_back(p.name);
    for (auto const& name : o.peer_names) {
        if (std::ranges::find(names, name) == names.end())
            throw std::runtime_error(
                fmt::format("--peer is \"{}\", but must be one of {}", name, fmt::join(names, ", ")));
    }
    if (!o.peer_names.empty())
        std::erase_if(all,
                      [&](peer const& p) { return std::ranges::find(o.peer_names, p.name) == o.peer_names.end(); });
    return all;
}

void describe(std::vector<peer> const& peers, std::map<std::string, std::string>& machine)
{
    if (peers.empty())
        machine["peers"] = "left out: --peers names no folder of worker programs; \"./dev bench versus\" makes one";
    for (auto const& p : peers)
        machine["peer " + p.name] = p.missing.empty() ? p.versions : "left out: " + p.missing;
}

// Each cell has a process of its own, so that it begins with a fresh heap.
std::vector<result> versus(options const& o, progress const& p)
{
    need_own_servers(o, "versus", "it compares libraries on servers that nobody else uses");
    std::vector<result> results;
    for (auto const& c : versus_cells(o)) {
        auto const more = apart([&] { return measure_versus(c, o, p); });
        results.insert(results.end(), more.begin(), more.end());
    }
    return results;
}

}  // namespace redlock::bench
