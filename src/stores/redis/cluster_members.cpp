#include "stores/redis/cluster_members.hpp"

#include "core/quarantine.hpp"
#include "stores/redis/cluster_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::stores::redis {

namespace {

// The shortest time between two questions for the record of a master whose slots do not vote yet.
constexpr std::chrono::milliseconds look_every{100};
// The manager asks once a second. Gossip takes less than three seconds; a master that hangs must not delay for longer.
constexpr unsigned leaving_asked_max = 3;

}  // namespace

cluster_members::cluster_members(net::url const& cluster, manager_options const& c, std::shared_ptr<group> g,
                                 transport_factory make_transport, cluster_map& map, owner& o)
    : url_(cluster),
      name_(cluster.name()),
      settings_(c),
      group_(std::move(g)),
      make_transport_(std::move(make_transport)),
      map_(map),
      owner_(o)
{
}

void cluster_members::start(std::shared_ptr<runtime::runtime> by, asio::any_io_executor executor,
                            std::weak_ptr<void> self)
{
    runtime_ = std::move(by);
    executor_ = std::move(executor);
    self_ = std::move(self);
}

void cluster_members::close()
{
    for (auto const& m : std::exchange(members_, {}))
        m.node->close();
    drop_references();
}

void cluster_members::abandon()
{
    for (auto const& m : std::exchange(members_, {}))
        m.node->abandon();
    drop_references();
}

void cluster_members::drop_references()
{
    ready_ = notifies_ = false;
    old_set_known_.clear();
    executor_ = {};
    runtime_.reset();
}

cluster_members::member const* cluster_members::find(std::uint32_t number) const
{
    auto const known = std::ranges::find(members_, number, &member::number);
    return known == members_.end() ? nullptr : &*known;
}

cluster_members::member* cluster_members::of_number(std::uint32_t number) { return const_cast<member*>(find(number)); }

cluster_members::member* cluster_members::of_place(net::place const& p)
{
    auto const known = std::ranges::find(members_, p, &member::where);
    return known == members_.end() ? nullptr : &*known;
}

cluster_members::member* cluster_members::at(net::place const& p)
try {
    if (auto* const known = of_place(p))
        return known;
    auto const number = member_connection::free_member(number_, [this](auto n) { return find(n) != nullptr; });
    if (number == 0)
        throw std::length_error("the cluster has too many masters");
    number_ = number;
    auto where = url_.of(p);
    where.topology = net::topology::member;
    where.cluster = name_;
    where.tag = map_.tag_of(p);
    where.routes = {{p, map_.target_of(p)}};
    auto const n = make_redis_node(where, settings_, group_, make_transport_(where));
    members_.push_back({.number = number_, .where = p, .target = map_.target_of(p), .tag = where.tag, .node = n});
    auto const connected = [this, self = self_, number = number_](server_identity const& server) {
        if (auto const alive = self.lock())
            this->connected(number, server);
    };
    auto const changed = [this, self = self_](std::string_view key) {
        if (auto const alive = self.lock())
            this->changed(key);
    };
    auto const learned = [this, self = self_, number = number_](server_identity const& server) {
        if (auto const alive = self.lock()) {
            this->learned(number, server);
            owner_.learned();
        }
    };
    auto const told = [this, self = self_, number = number_](server_record const& r) {
        if (auto const alive = self.lock())
            this->told(number, r);
    };
    auto const moved = [this, self = self_, number = number_] {
        if (auto const alive = self.lock())
            record_has_moved(number);
    };
    n->observe({.told = told, .moved = moved});
    n->start(executor_, {.connected = connected, .learned = learned, .changed = changed});
    return &members_.back();
} catch (std::exception const& e) {  // e.g. a certificate file is gone, or no memory
    trouble_ = {.untouched = true, .error = errc::node_unreachable, .text = net::to_string(p) + ": " + e.what()};
    return nullptr;
}

std::vector<net::place> cluster_members::wanted() const
{
    auto const& p = settings_.prefix;
    if (slot_of(p + 'a') != slot_of(p + 'b'))
        return map_.owners();
    auto const* const one = map_.owner(slot_of(p + 'a'));
    return one ? std::vector{*one} : std::vector<net::place>();
}

void cluster_members::tend()
{
    auto const owners = wanted();
    // A connected member stays, because it can still be asked. Any other member needs a slot for the trial lock.
    auto const stays = [&](member const& m) {
        auto const* const of_tag = map_.owner(slot_of(m.tag));
        return m.node->ready()
               || (std::ranges::find(owners, m.where) != owners.end() && of_tag && *of_tag == m.where
                   && m.target == map_.target_of(m.where));
    };
    auto const gone = std::stable_partition(members_.begin(), members_.end(), stays);
    std::vector<member> const left(std::make_move_iterator(gone), std::make_move_iterator(members_.end()));
    members_.erase(gone, members_.end());
    for (auto const& p : owners)
        at(p);
    for (auto const& m : left)
        m.node->close();
}

// Slots that change their master

clock::duration cluster_members::quarantine() const { return settings_.max_ttl + core::follow_time; }

void cluster_members::follow(cluster_map told)
{
    auto const now = runtime_->now();
    for (auto& m : members_) {
        m.leaving.reset();
        if (!told.is_well(m.where))
            m.vouches_from = now + quarantine();
    }
    bool changed = false;
    for (std::uint16_t slot = 0; slot < slot_count && guards(); ++slot) {
        auto const* const before = map_.owner(slot);
        auto const* const after = told.owner(slot);
        if (!before || (after && *before == *after))
            continue;
        changed = true;
        auto* const m = of_place(*before);
        if (after && m && m->leaving_asked < leaving_asked_max && hands_over(*m, slot)) {
            m->leaving.set(slot);  // the slot stays there until the master itself gives it up or redirects
            told.set_owner(slot, *before);
        } else {
            forget(slot);
        }
    }
    map_ = std::move(told);
    tend();
    if (changed)
        read_records();
    for (auto& m : members_) {
        m.leaving_asked = m.leaving.any() ? m.leaving_asked + 1 : 0;
        if (m.leaving.any())
            ask_what_has_left(m);
    }
}

// If a master could grant and has not failed lately, it knows all locks in the slot. When it hands the slot over, the
// next master gets these locks, too.
bool cluster_members::hands_over(member const& m, std::uint16_t slot) const
{
    auto const now = runtime_->now();
    auto const from = m.given_up[slot] ? std::optional(clock::time_point::min()) : m.slots.votes_from(slot);
    return m.node->ready() && from && now >= std::max({*from, m.votes_from, m.vouches_from});
}

void cluster_members::forget(std::uint16_t slot)
{
    for (auto& m : members_) {
        m.slots.forget(slot);
        m.ranges.clear();  // so that the next record counts
        m.vouched.reset(slot);
        m.given_up.reset(slot);
    }
}

void cluster_members::ask_what_has_left(member& m)
{
    m.node->ask(ask_for_cluster(), [this, self = self_, number = m.number](batch const& b) {
        if (auto const alive = self.lock(); alive && b.has(0))
            answered(number, b.replies[0]);
    });
}

void cluster_members::answered(std::uint32_t number, reply const& cluster)
{
    auto* const m = of_number(number);
    cluster_map own;
    if (!m || read_cluster(cluster, url_.of(m->where), own).error)
        return;
    auto const where = m->where;
    auto const leaving = m->leaving;
    bool changed = false;
    for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
        auto const* const to = leaving[slot] ? own.owner(slot) : nullptr;
        if (!to || *to == where)
            continue;
        hand_over(number, slot, *to);
        changed = true;
    }
    if (changed)
        read_records();
}

void cluster_members::redirected(std::uint32_t number, redirection const& r)
{
    if (!guards())
        return map_.set_owner(r.slot, r.to);
    hand_over(number, r.slot, r.to);
    for (auto* const m : {of_number(number), of_place(r.to)}) {
        if (m)
            read_record(*m);
    }
}

// A live master has handed the slot over to another one.
void cluster_members::hand_over(std::uint32_t from, std::uint16_t slot, net::place const& to)
{
    auto* const m = of_number(from);
    bool const vouched = m && hands_over(*m, slot);
    if (m)
        m->leaving.reset(slot);
    forget(slot);
    map_.set_owner(slot, to);
    if (auto* const next = vouched ? at(to) : nullptr)
        next->vouched.set(slot);
}

void cluster_members::read_records()
{
    for (auto& m : members_)
        read_record(m);
}

// The master answers in the order of the questions, so the record is known before any later grant.
void cluster_members::read_record(member& m)
{
    if (!guards() || !m.node->ready())
        return;
    m.looked = runtime_->now();
    m.node->vouch(m.vouched);
}

void cluster_members::told(std::uint32_t number, server_record const& record)
{
    auto* const m = of_number(number);
    if (!m || (record.slots == m->ranges && m->vouched.none()))
        return;  // most looks tell nothing new about the slots
    auto const now = runtime_->now();
    auto const before = *m;
    m->ranges = record.slots;
    m->slots.told(record, quarantine(), now);
    for (std::uint16_t slot = 0; slot < slot_count; ++slot) {
        auto const from = m->slots.votes_from(slot);
        if (from && *from == clock::time_point::min())
            m->vouched.reset(slot);
        bool const has_lost = !from && hands_over(before, slot);
        m->given_up.set(slot, has_lost);
        if (has_lost)
            m->leaving.set(slot);
    }
    if (m->given_up.any())
        ask_what_has_left(*m);
    if (auto const until = m->slots.all_vote_from(); until > now && until > before.slots.all_vote_from() + look_every)
        log(fmt::format("{}: it has slots of another master, and may not know the locks in them; they vote in {} ms",
                        net::to_string(m->where), (until - now) / std::chrono::milliseconds(1)));
}

// The slot of the record has another master, and so has the record. The member begins another one.
void cluster_members::record_has_moved(std::uint32_t number)
{
    auto* const m = of_number(number);
    auto const tag = m ? map_.tag_of(m->where) : std::string();
    if (tag.empty() || tag == m->tag)
        return;
    m->tag = tag;
    m->node->move_to(tag);
}

node_reply cluster_members::doubt(std::uint32_t number, std::uint16_t slot)
{
    auto* const m = of_number(number);
    if (!m || !guards())
        return {};
    auto const now = runtime_->now();
    if (now < m->votes_from)
        return {.error = errc::quarantined, .text = net::to_string(m->where) + " may have forgotten locks"};
    auto const from = m->slots.votes_from(slot);
    if (from && now >= *from)
        return {};
    if (now >= m->looked + look_every)  // another manager may have vouched for the slot
        read_record(*m);
    return {.error = errc::quarantined,
            .text = fmt::format("{} may not know the locks of slot {}, which was another master's",
                                net::to_string(m->where), slot)};
}

// Events of the members

void cluster_members::connected(std::uint32_t number, server_identity const& server)
{
    auto const m = std::ranges::find(members_, number, &member::number);
    if (m == members_.end())
        return;
    learned(number, server);
    m->given_up.reset();
    update_ready();
    owner_.connected();
}

void cluster_members::learned(std::uint32_t number, server_identity const& server)
{
    auto* const m = of_number(number);
    if (!m)
        return;
    auto const now = runtime_->now();
    auto const until = core::quarantined_until(server, settings_.restart_guard, settings_.max_ttl, now);
    if (server.restarted && until > now && until != m->votes_from)
        log(fmt::format("{}: it may have forgotten locks; its slots vote in {} ms", net::to_string(m->where),
                        (until - now) / std::chrono::milliseconds(1)));
    m->server = server;
    m->votes_from = until;
    find_out_about_old_set();
}

void cluster_members::find_out_about_old_set()
{
    std::vector<server_identity> servers;
    for (auto const& m : members_)
        servers.push_back(m.server);
    auto const now = runtime_->now();
    auto const due = old_set_.known_at(servers, settings_.max_ttl, now);
    if (due == clock::time_point::max())
        old_set_known_.clear();
    else if (now < due)
        runtime_->set(old_set_known_, due);
    else
        note_old_set();
}

void cluster_members::note_old_set()
{
    auto const now = runtime_->now();
    for (auto const& m : all()) {
        if (core::old_set::is_fresh(m.server, settings_.max_ttl, now))
            m.node->note_old_set();
    }
}

std::vector<cluster_members::member> cluster_members::needed() const
{
    std::vector<member> masters;
    for (auto const& p : wanted()) {
        auto const m = std::ranges::find(members_, p, &member::where);
        if (m == members_.end())
            return {};
        masters.push_back(*m);
    }
    return masters;
}

std::optional<server_identity> cluster_members::as_new() const
{
    auto const now = runtime_->now();
    std::optional<server_identity> latest;
    for (auto const& m : needed()) {
        if (!m.node->ready() || !core::is_new(m.server, settings_.max_ttl, now))
            return std::nullopt;
        if (!latest || latest->began < m.server.began)
            latest = m.server;
    }
    return latest;
}

void cluster_members::changed(std::string_view key)
{
    update_ready();
    owner_.changed(key);
}

void cluster_members::update_ready()
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

}  // namespace redlock::stores::redis
