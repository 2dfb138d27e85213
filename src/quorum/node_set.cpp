#include "quorum/node_set.hpp"

#include "core/quorum.hpp"
#include "core/validity.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace redlock::inline v1::quorum {

namespace {

constexpr std::chrono::milliseconds timeout_max = std::chrono::minutes(1);

}  // namespace

node_set::node_set(std::vector<std::shared_ptr<node>> nodes, manager_options const& settings, runtime::runtime& r,
                   events::event_log& log, events::member_counters<redlock::stats>& count)
    : settings_(settings),
      runtime_(r),
      log_(log),
      count_(count),
      nodes_(std::move(nodes)),
      quorum_(core::majority(nodes_.size())),
      longest_timeout_(settings.node_timeout),
      known_(nodes_.size())
{
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const& n = nodes_[i];
        auto const limits = n->limits();
        known_[i].timeout = std::max(settings.node_timeout, std::min(limits.timeout, timeout_max));
        if (known_[i].timeout > longest_timeout_) {
            longest_timeout_ = known_[i].timeout;
            slowest_node_ = n->name();
        }
        if (limits.ttl_min > ttl_min_) {
            ttl_min_ = limits.ttl_min;
            ttl_min_node_ = n->name();
        }
        if (tickets_lack_.empty() && limits.ends_with_session)
            tickets_lack_ =
                fmt::format("{} ends its locks with its session, so no other process can resume them", n->name());
    }

    std::array const keys{settings.prefix + "a", settings.prefix + "b"};
    key_view const two = keys;
    auto const one = two.first(1);
    bool const fence = settings.fencing;
    using kind = node_command::kind;
    auto const missing = [&](char const* of, std::initializer_list<node_command> needed) {
        for (auto const& n : nodes_) {
            for (auto const& c : needed) {
                if ((c.which() != kind::raise || fence) && !n->can(c))
                    return fmt::format("{} cannot {}", n->name(), of);
            }
        }
        return std::string();
    };
    lack_ = missing("draw fencing tokens (manager_options::fencing)", {{.what = commands::raise{.fence = 1}}});
    several_lack_ = missing("lock several resources at once", {{.what = commands::acquire{.fence = fence}, .keys = two},
                                                               {.what = commands::raise{.fence = 1}, .keys = two}});
    any_lack_ = missing("lock any one of several resources",
                        {{.what = commands::acquire{.any = true, .fence = fence}, .keys = two},
                         {.what = commands::release{}, .keys = two}});
    replace_lack_ = missing("replace the token of a lock (acquire_options::new_token)",
                            {{.what = commands::replace{.former = "former"}, .keys = one}});
    shared_lack_ = missing("share locks (acquire_options::mode)",
                           {{.what = commands::acquire{.fence = fence}, .mode = mode::shared, .keys = one},
                            {.what = commands::raise{.fence = 1}, .mode = mode::shared, .keys = one}});
    upgrade_lack_ = missing("upgrade locks that are shared",
                            {{.what = commands::upgrade{.fence = fence}, .mode = mode::shared, .keys = one},
                             {.what = commands::downgrade{}, .mode = mode::shared, .keys = one}});
    if (settings.read_only)
        lack_ = "this manager only reads (manager_options::read_only)";
}

std::string node_set::check_ttl(std::chrono::milliseconds ttl) const
{
    if (ttl < ttl_min_)
        return fmt::format("ttl is {} ms, but must be {} ms at least for {}", ttl.count(), ttl_min_.count(),
                           ttl_min_node_);
    if (ttl <= longest_timeout_ && !slowest_node_.empty())
        return fmt::format("ttl is {} ms, but must be longer than {} ms, for which {} may need to answer", ttl.count(),
                           longest_timeout_.count(), slowest_node_);
    return {};
}

void node_set::start(std::weak_ptr<node_set> self, std::function<void(std::size_t, std::string_view)> changed)
{
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const connected = [self, i](server_identity const& server) {
            if (auto const s = self.lock())
                s->connected(i, server);
        };
        auto const learned = [self, i](server_identity const& server) {
            if (auto const s = self.lock())
                s->learned(i, server);
        };
        auto const has_changed = [self, i, changed](std::string_view key) {
            if (auto const s = self.lock())
                changed(i, key);
        };
        nodes_[i]->start(runtime_.urgent(), {.connected = connected, .learned = learned, .changed = has_changed});
    }
}

void node_set::close()
{
    old_set_known_.clear();
    for (auto& n : nodes_)
        n->close();
}

void node_set::abandon()
{
    old_set_known_.clear();
    for (auto& n : nodes_)
        n->abandon();
}

bool node_set::ready() const
{
    return static_cast<std::size_t>(std::count_if(nodes_.begin(), nodes_.end(), [](auto& n) { return n->ready(); }))
           >= quorum_;
}

// A new connection may lead to another server, or to the same server after a restart.
void node_set::connected(std::size_t node, server_identity const& server)
{
    events::bump(known_[node].count[&node_stats::connections]);
    if (log_.observed())
        report_up(node);
    learned(node, server);
}

void node_set::learned(std::size_t node, server_identity const& server)
{
    auto& k = known_[node];
    auto const now = runtime_.now();
    auto const until = core::quarantined_until(server, settings_.restart_guard, settings_.max_ttl, now);
    bool const is_newly = until != never && until != k.quarantined_until.load();
    k.server = server;
    k.quarantined_until = until;
    may_have_new_ = std::any_of(known_.begin(), known_.end(), [&](auto& one) {
        return one.server && core::is_new(*one.server, settings_.max_ttl, now);
    });
    may_have_fresh_ = may_have_fresh_ || server.fresh;
    if (until == never) {
        end_quarantine(node);
    } else {
        k.reason = core::reason_of(server, settings_.max_ttl);
        if (is_newly)
            k.is_announced = false;
        announce_quarantines();
    }
    note_old_set();
}

// Without this note, a server that has lost its keys would look new for max_ttl, also after all others have lost
// theirs.
void node_set::note_old_set()
{
    if (!may_have_fresh_)
        return;
    std::vector<server_identity> servers;
    for (auto const& k : known_) {
        if (k.server)
            servers.push_back(*k.server);
    }
    auto const now = runtime_.now();
    auto const due = old_set_.known_at(servers, settings_.max_ttl, now);
    if (due == clock::time_point::max())
        return old_set_known_.clear();
    if (now < due)
        return runtime_.set(old_set_known_, due);
    for (std::size_t i = 0; i < known_.size(); ++i) {
        auto const& s = known_[i].server;
        if (s && core::old_set::is_fresh(*s, settings_.max_ttl, now))
            nodes_[i]->note_old_set();
    }
}

bool node_set::awaits_others() const
{
    return settings_.restart_guard == restart_guard::automatic && may_have_new_
           && std::any_of(known_.begin(), known_.end(), [](auto& k) { return !k.server; });
}

bool node_set::is_new() const
{
    if (!may_have_new_)
        return false;
    auto const now = runtime_.now();
    auto const is_new = [&](auto& k) { return k.server && core::is_new(*k.server, settings_.max_ttl, now); };
    return std::all_of(known_.begin(), known_.end(), is_new);
}

bool node_set::is_being_founded() const
{
    if (!may_have_new_ || settings_.restart_guard != restart_guard::automatic)
        return false;
    auto const now = runtime_.now();
    auto const is_fresh = [&](auto& k) {
        return k.server && core::is_new(*k.server, settings_.max_ttl, now)
               && now - k.server->began < core::founding_time;
    };
    auto const is_founded = [](auto& k) { return k.server && k.server->founded; };
    auto const founded = std::count_if(known_.begin(), known_.end(), is_founded);
    return founded < static_cast<std::ptrdiff_t>(quorum_)
           && std::all_of(known_.begin(), known_.end(), [&](auto& k) { return is_fresh(k) || is_founded(k); });
}

void node_set::set_founded()
{
    if (!has_founded_.exchange(true))
        log_.add(log_level::info, runtime_.now(), "the nodes are new to the prefix {}, and were founded",
                 settings_.prefix);
}

bool node_set::is_known_as_old() const
{
    auto const now = runtime_.now();
    return std::any_of(known_.begin(), known_.end(), [&](auto& k) {
        return k.server && !k.server->durable && !core::is_new(*k.server, settings_.max_ttl, now);
    });
}

bool node_set::may_be_founded(std::size_t i) const
{
    auto const& k = known_[i];
    return k.server && in_quarantine(i) && core::is_new(*k.server, settings_.max_ttl, runtime_.now());
}

std::string node_set::why_in_quarantine(std::size_t i) const
{
    auto const& k = known_[i];
    auto const left = core::time_left(k.quarantined_until.load(std::memory_order_relaxed), runtime_.now());
    return fmt::format("{}; it votes in {} ms", core::in_words(k.reason), left.count());
}

// If the guard is automatic, the manager itself founds a set of new nodes. It announces them only if another node is
// old.
void node_set::announce_quarantines()
{
    auto const now = runtime_.now();
    auto const may_be_founded = [&](auto& k) {
        return !k.server || k.server->founded || core::is_new(*k.server, settings_.max_ttl, now);
    };
    bool const founds = settings_.restart_guard == restart_guard::automatic
                        && std::all_of(known_.begin(), known_.end(), may_be_founded);
    for (std::size_t i = 0; i < known_.size(); ++i) {
        if (!founds || known_[i].reason != quarantine_reason::fresh)
            announce_quarantine(i);
    }
}

void node_set::announce_quarantine(std::size_t i)
{
    auto& k = known_[i];
    if (!in_quarantine(i) || std::exchange(k.is_announced, true))
        return;
    auto const now = runtime_.now();
    auto const until = k.quarantined_until.load();
    log_.announce(&observer::node_quarantined,
                  {.when = now, .node = nodes_[i]->name(), .remaining = until - now, .reason = k.reason}, nodes_[i]);
    if (!log_.observed())
        return;
    k.reported_quarantine = true;
    if (!k.quarantine_ends)
        k.quarantine_ends.emplace([this, i] { end_quarantine(i); });
    runtime_.set(*k.quarantine_ends, until);
}

void node_set::end_quarantine(std::size_t i)
{
    auto& k = known_[i];
    if (!std::exchange(k.reported_quarantine, false))
        return;
    k.quarantine_ends->clear();
    log_.tell(&observer::node_trusted, {.when = runtime_.now(), .node = nodes_[i]->name()}, nodes_[i]);
}

bool node_set::in_quarantine(std::size_t i) const noexcept
{
    auto const until = known_[i].quarantined_until.load(std::memory_order_relaxed);
    return until != never && runtime_.now() < until;
}

clock::time_point node_set::quarantine_over() const
{
    std::vector<clock::time_point> ends;
    for (auto& k : known_)
        ends.push_back(k.quarantined_until);
    std::sort(ends.begin(), ends.end());
    return ends[quorum_ - 1];
}

void node_set::heard(std::size_t i, node_command::kind what, node_reply const& reply, vote counts_as)
{
    auto& k = known_[i];
    using kind = node_command::kind;
    if (what == kind::acquire || what == kind::extend || what == kind::upgrade || what == kind::replace)
        events::bump(counts_as == vote::granted  ? k.count[&node_stats::granted]
                     : counts_as == vote::denied ? k.count[&node_stats::denied]
                                                 : k.count[&node_stats::unknown]);
    if (reply.vote == vote::granted && counts_as == vote::unknown)
        announce_quarantine(i);
    if (reply.healed)
        events::bump(count_[&redlock::stats::healed]);
    if (log_.observed())
        report_reply(i, reply);
    if (reply.error) {
        std::lock_guard guard(error_mutex_);
        k.last_error = reply.error;
        k.last_message = reply.text;
    }
}

void node_set::report_up(std::size_t i)
{
    known_[i].reported_error = {};
    log_.tell(&observer::node_up, {.when = runtime_.now(), .node = nodes_[i]->name()}, nodes_[i]);
}

// An operation that was withdrawn before it was sent completes with an error although the node is ready. Such an error
// says nothing about the node.
void node_set::report_reply(std::size_t i, node_reply const& reply) noexcept
try {
    auto& reported = known_[i].reported_error;
    auto const ec = reply.error;
    if (reply.vote != vote::unknown && reported && nodes_[i]->ready())
        return report_up(i);
    bool const is_away = ec == errc::node_unreachable || ec == errc::connection_lost || ec == errc::node_timeout;
    bool const is_of_one_key = ec == errc::wrong_type || ec == errc::quarantined;
    if (!ec || ec == errc::node_closed || is_of_one_key || (is_away && nodes_[i]->ready()) || ec == reported)
        return;
    reported = ec;
    struct kept {
        std::string words;
        std::shared_ptr<node> of;
    };
    auto const k = std::make_shared<kept const>(kept{reply.text, nodes_[i]});
    auto const now = runtime_.now();
    if (is_away)
        log_.tell(&observer::node_down, {.when = now, .node = k->of->name(), .error = ec, .message = k->words}, k);
    else
        log_.tell(&observer::node_refused, {.when = now, .node = k->of->name(), .error = ec, .message = k->words}, k);
} catch (...) {  // out of memory: an event less
}

std::pair<error_code, std::string> node_set::latest_error(std::size_t i) const
{
    auto const& k = known_[i];
    std::lock_guard guard(error_mutex_);
    return k.last_error ? std::pair(k.last_error, k.last_message)
                        : std::pair(make_error_code(errc::node_unreachable), std::string());
}

std::vector<node_stats> node_set::stats() const
{
    auto const now = runtime_.now();
    std::vector<node_stats> all;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const& n = *nodes_[i];
        auto const& k = known_[i];
        auto const until = k.quarantined_until.load(std::memory_order_relaxed);
        std::lock_guard guard(error_mutex_);
        k.count.tell(all.emplace_back(node_stats{.name = n.name(),
                                                 .connected = n.ready(),
                                                 .notifies = n.notifies(),
                                                 .last_error = k.last_error,
                                                 .last_message = k.last_message,
                                                 .quarantine = core::time_left(until, now),
                                                 .reason = reason(i)}));
    }
    return all;
}

}  // namespace redlock::quorum
