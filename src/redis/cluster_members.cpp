#include "redis/cluster_members.hpp"

#include "core/quarantine.hpp"
#include "redis/cluster_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <iterator>
#include <utility>

namespace redlock::redis {

cluster_members::cluster_members(url const& cluster, config const& c, std::shared_ptr<group> g, link_factory make_link, owner& o)
    : url_(cluster), name_(cluster.name()), settings_(c), group_(std::move(g)), make_link_(std::move(make_link)), owner_(o)
{
}

void cluster_members::start(std::shared_ptr<detail::runtime> by, asio::any_io_executor executor, std::weak_ptr<void> self)
{
    runtime_ = std::move(by);
    executor_ = std::move(executor);
    self_ = std::move(self);
}

void cluster_members::close()
{
    for (auto const& m : std::exchange(members_, {}))
        m.node->close();
    let_go();
}

void cluster_members::abandon()
{
    for (auto const& m : std::exchange(members_, {}))
        m.node->abandon();
    let_go();
}

void cluster_members::let_go()
{
    ready_ = notifies_ = false;
    executor_ = {};
    runtime_.reset();
}

cluster_members::member const* cluster_members::find(std::uint32_t number) const
{
    auto const known = std::ranges::find(members_, number, &member::number);
    return known == members_.end() ? nullptr : &*known;
}

cluster_members::member* cluster_members::at(place const& p, cluster_map const& map)
try {
    if (auto const known = std::ranges::find(members_, p, &member::where); known != members_.end())
        return &*known;
    number_ = number_ % member_connection::member_max + 1;
    auto where = url_.of(p);
    where.topology = topology::member;
    where.cluster = name_;
    where.tag = map.tag_of(p);
    auto const n = make_redis_node(where, settings_, group_, make_link_(where));
    members_.push_back({number_, p, where.tag, n});
    auto const connected = [this, self = self_, number = number_](server_identity const& server) {
        if (auto const alive = self.lock())
            this->connected(number, server);
    };
    auto const changed = [this, self = self_](std::string_view key) {
        if (auto const alive = self.lock())
            this->changed(key);
    };
    n->start(executor_, {.connected = connected, .changed = changed});
    return &members_.back();
} catch (std::exception const& e) {  // certificates that have gone, no memory
    trouble_ = {.untouched = true, .error = errc::node_unreachable, .text = to_string(p) + ": " + e.what()};
    return nullptr;
}

// Those that have slots; where all locks have one hash tag, the one that has theirs.
std::vector<place> cluster_members::wanted(cluster_map const& map) const
{
    auto const& p = settings_.prefix;
    if (slot_of(p + 'a') != slot_of(p + 'b'))
        return map.owners();
    auto const* const one = map.owner(slot_of(p + 'a'));
    return one ? std::vector{*one} : std::vector<place>();
}

void cluster_members::tend(cluster_map const& map)
{
    auto const owners = wanted(map);
    // One that is connected may be asked all the same; another needs a slot, and one that it can be tried in.
    auto const stays = [&](member const& m) {
        auto const* const of_tag = map.owner(slot_of(m.tag));
        return m.node->ready() || (std::ranges::find(owners, m.where) != owners.end() && of_tag && *of_tag == m.where);
    };
    auto const gone = std::stable_partition(members_.begin(), members_.end(), stays);
    std::vector<member> const left(std::make_move_iterator(gone), std::make_move_iterator(members_.end()));
    members_.erase(gone, members_.end());
    for (auto const& p : owners)
        at(p, map);
    for (auto const& m : left)
        m.node->close();
}

void cluster_members::connected(std::uint32_t number, server_identity const& server)
{
    auto const m = std::ranges::find(members_, number, &member::number);
    if (m == members_.end())
        return;
    auto const now = runtime_->now();
    std::array<core::node_age<clock::time_point>, 1> const age{{{true, server.durable, server.restarted, server.began}}};
    auto const until = core::quarantined_until<clock::time_point>(age, 0, settings_.restart_guard, settings_.max_ttl, now);
    if (until > now && until != m->votes_from)
        log(fmt::format("{}: it may have forgotten locks; its slots vote in {} ms", to_string(m->where), (until - now) / std::chrono::milliseconds(1)));
    m->votes_from = until;
    look_who_is_ready();
    owner_.connected();
}

void cluster_members::changed(std::string_view key)
{
    look_who_is_ready();
    owner_.changed(key);
}

void cluster_members::look_who_is_ready()
{
    auto const ready = [](member const& m) { return m.node->ready(); };
    ready_ = std::ranges::any_of(members_, ready);
    notifies_ = ready_ && std::ranges::all_of(members_, [&](auto& m) { return !ready(m) || m.node->notifies(); });
}

void cluster_members::log(std::string const& what) const
{
    if (settings_.log)
        settings_.log(log_level::warning, name_ + ": " + what);
}

}  // namespace redlock::redis
