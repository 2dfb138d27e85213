#include "sim/cluster.hpp"

#include "core/key.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"
#include "stores/etcd/etcd_node.hpp"
#include "stores/etcd/layout.hpp"

#include <algorithm>
#include <iterator>

namespace redlock::sim {

namespace {

bool is_lock(std::string const& key)
{
    return core::mark_in(key).empty();
}

}  // namespace

cluster::cluster(sim::world& w, std::size_t index, double rate) : server(w, index, rate), etcd_gateway(name)
{
    expire();
}

etcd_v3::json::object cluster::carry_out(std::string_view path, std::string const& body)
{
    return refuses() ? error("etcdserver: too many requests", 8) : etcd_gateway::carry_out(path, body);
}

void cluster::note(std::string_view lease, std::string_view what) const
{
    world().tell("{}: lease {} {}", name, lease, what);
}

// It looks now and then.
void cluster::expire()
{
    world().after(world().random.between(10ms, 500ms), [this] {
        for (auto const& id : leases_that_are_over()) {
            if (alive() && !paused())
                end(id);
        }
        expire();
    });
}

// Shows which locks there are.
void cluster::changed(values const& before)
{
    keys.entries.clear();
    for (auto const& [key, v] : all()) {
        if (!is_lock(key))
            continue;
        keys.entries[key] = {etcd_v3::to_content(v.bytes).value, clock::time_point::max()};  // until it is deleted
        if (!before.contains(key))
            world().note_taking(key);
        if (auto const was = before.find(key); was == before.end() || was->second != v)
            world().tell("{} sets {} {}", name, key, keys.entries[key].value.substr(0, 8));
    }
    for (auto const& [key, v] : before) {
        if (!all().contains(key) && is_lock(key))
            world().tell("{} deletes {} {}", name, key, etcd_v3::to_content(v.bytes).value.substr(0, 8));
    }
}

// Faults

void cluster::crash(bool)
{
    forget_watches();
    behind_until_.clear();
    server::crash(false);
}

void cluster::start()
{
    if (!alive())
        elect();
    server::start();
}

void cluster::evict()
{
    if (keys.entries.empty())
        return;
    auto victim = keys.entries.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(world().random.below(keys.entries.size())));
    world().tell("{}: somebody deletes {}", name, victim->first);
    erase(std::string(victim->first));
}

void cluster::change_leader(clock::duration d)
{
    if (!alive())
        return;
    elect();
    world().after(d, [this, stopped = time()] {
        for (auto const& id : leases_that_a_stopped_leader_ends(stopped)) {
            if (alive() && !paused())
                end(id);
        }
    });
    for (auto const& p : world().processes) {
        if (p && world().random.chance(0.5)) {
            world().tell("{}: another leader, which {} hears of in {} ms", name, p->name(), d / 1ms);
            behind_until_[p->index()] = world().now + d;
        }
    }
}

clock::time_point cluster::behind_until(std::size_t process) const
{
    auto const known = behind_until_.find(process);
    return known == behind_until_.end() ? world().now : std::max(known->second, world().now);
}

std::shared_ptr<node> cluster::make_node(process& p, config const& settings, std::shared_ptr<redis::group> const&)
{
    etcd_v3::address where{.name = "cluster://" + name,
                           .members = {{.host = name}},
                           .user = {},
                           .password = {},
                           .options = {.session = std::chrono::seconds(2 + world().random.below(4)), .timeout = settings.node_timeout}};
    auto make_channel = [this, &p](asio::any_io_executor on, auto const&) { return std::make_shared<cluster_channel>(world(), p, *this, std::move(on)); };
    return etcd_v3::make_etcd_node(std::move(where), settings, {.claim = [](auto&, auto&) { return std::string(); }},
                                   {.make_channel = std::move(make_channel), .seed = static_cast<std::uint32_t>(world().random.roll())});
}

}  // namespace redlock::sim
