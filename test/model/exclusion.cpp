#include "model/exclusion.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace redlock::model {

exclusion::exclusion(exclusion_rules r)
    : rules_(r), majority_(r.nodes / 2 + 1), owner_bits_(static_cast<unsigned>(std::bit_width(r.clients))),
      at_bits_(r.checks_survival ? 4 : 3),
      shape_{.nodes = r.nodes,
             .attempts = r.clients,
             .node_bits = owner_bits_ + 7 + at_bits_ * r.clients,
             .attempt_bits = r.checks_survival ? 10u : 9u}
{
    if (r.nodes > nodes_max || r.clients > attempts_max || r.ttl > 7 || r.quarantine > 7 ||
        shape_.nodes * shape_.node_bits + shape_.attempts * shape_.attempt_bits > 128)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void exclusion::begin(Visit visit) const
{
    state s;
    for (unsigned n = 0; n < rules_.session_nodes; ++n)
        s.nodes[n].session = 1;
    visit(s);
}

template <class Visit>
void exclusion::steps(state const& s, Visit visit) const
{
    auto const go = [&](step how, state next) {
        auto const* const wrong = settle(s, next);
        visit(how, next, wrong);
    };
    go({.what = step::kind::tick}, tick(s));
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto const node = static_cast<std::uint8_t>(n);
        bool const is_last_old_one = s.nodes[n].quarantine == 0 && young(s) == rules_.nodes - 1;
        if (rules_.forgets && !(rules_.spares_an_old_node && is_last_old_one)) {
            auto next = s;
            next.nodes[n] = {.quarantine = static_cast<std::uint8_t>(rules_.quarantine), .session = s.nodes[n].session};
            for (auto& client : next.clients)
                client.at[n] |= rules_.checks_survival && client.phase == phase::holding ? crashed : 0;
            go({.what = step::kind::crash, .node = node}, next);
        }
        for (unsigned c = 0; c < rules_.clients; ++c) {
            auto const client = static_cast<std::uint8_t>(c);
            auto const attempt = [&](step::kind what, auto carry_out) {
                auto next = s;
                if (carry_out(next))
                    go({.what = what, .client = client, .node = node}, next);
            };
            auto const& me = s.clients[c];
            attempt(step::kind::acquire, [&](state& next) { return acquire(next, c, n); });
            if (me.phase != phase::holding || !rules_.renews)
                continue;
            attempt(step::kind::touch, [&](state& next) { return touch(next, c, n); });
            if (me.renewal > 0)
                attempt(step::kind::consent, [&](state& next) { return consent(next, c, n); });
            // A renewal in the tick of the last one gains nothing.
            if (me.left > 0 && me.left < rules_.ttl) {
                attempt(step::kind::renew, [&](state& next) {
                    next.clients[c].renewal = static_cast<std::uint8_t>(rules_.ttl);
                    next.clients[c].outlived = outlives(me);
                    for (auto& at : next.clients[c].at)
                        at &= acquired | crashed;
                    return consent(next, c, n);
                });
            }
        }
    }
    for (unsigned c = 0; c < rules_.clients; ++c) {
        if (s.clients[c].phase == phase::idle)
            continue;
        auto next = s;
        end(next, c);
        go({.what = step::kind::end, .client = static_cast<std::uint8_t>(c)}, next);
    }
}

void exclusion::end(state& s, unsigned c) const
{
    s.clients[c] = {};
    for (auto& node : s.nodes) {
        if (node.owner == c + 1)
            node.owner = node.left = 0;
    }
}

exclusion::state exclusion::tick(state const& s) const
{
    auto next = s;
    for (auto& node : next.nodes) {
        node.left -= node.left > 0;
        node.quarantine -= node.quarantine > 0;
        if (node.left == 0)
            node.owner = 0;
    }
    for (unsigned c = 0; c < rules_.clients; ++c) {
        auto& me = next.clients[c];
        me.left -= me.left > 0;
        me.renewal -= me.renewal > 0;
        if (me.phase != phase::idle && me.left == 0 && !(rules_.accepts_late && me.renewal > 0))
            end(next, c);
    }
    return next;
}

unsigned exclusion::young(state const& s) const
{
    return static_cast<unsigned>(std::count_if(s.nodes.begin(), s.nodes.begin() + rules_.nodes, [](auto& n) { return n.quarantine > 0; }));
}

bool exclusion::votes(state const& s, unsigned n) const
{
    using newness = exclusion_rules::newness;
    if (s.nodes[n].quarantine == 0)
        return true;
    if (rules_.taken_for_new == newness::never)
        return false;
    return young(s) >= (rules_.taken_for_new == newness::all_are_young ? rules_.nodes : majority_);
}

unsigned exclusion::consents(client const& c) const
{
    return static_cast<unsigned>(std::count_if(c.at.begin(), c.at.end(), [](auto at) { return (at & round) == consented; }));
}

// By how much less than the ttl those that have consented promise, as a majority.
unsigned exclusion::unpromised(state const& s, client const& c) const
{
    unsigned full = 0;
    for (unsigned n = 0; n < rules_.nodes; ++n)
        full += (c.at[n] & round) == consented && !s.nodes[n].session;
    using promise = exclusion_rules::promise;
    bool const for_the_ttl = rules_.heeds == promise::ignored || full >= (rules_.heeds == promise::longest ? 1 : majority_);
    return for_the_ttl ? 0 : rules_.ttl - rules_.session;
}

// A node with a foreign key refuses, which changes nothing. True if it sets the key.
bool exclusion::acquire(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    auto& node = s.nodes[n];
    if (me.at[n] & acquired || node.owner != 0)
        return false;
    if (me.phase == phase::holding && (!rules_.renews || rules_.heals))
        return false;  // it only keeps others out, or is a touch
    if (me.phase == phase::idle)
        me = {.phase = phase::asking, .left = static_cast<std::uint8_t>(rules_.ttl)};
    node.owner = static_cast<std::uint8_t>(c + 1);
    node.left = static_cast<std::uint8_t>(life_on(node));
    me.at[n] |= acquired;
    if (me.phase != phase::asking)
        return true;
    me.at[n] |= votes(s, n) ? consented : in_vain;
    if (consents(me) < majority_)
        return true;
    auto const less = unpromised(s, me);
    if (me.left <= less) {  // its validity is over already
        end(s, c);
        return true;
    }
    me.phase = phase::holding;
    me.left = static_cast<std::uint8_t>((rules_.validity_from_send ? me.left : rules_.ttl) - less);
    for (auto& at : me.at)
        at = rules_.renews && !rules_.heals ? at & acquired : 0;
    return true;
}

// An earlier renewal is carried out. Nobody waits for it any more.
bool exclusion::touch(state& s, unsigned c, unsigned n) const
{
    auto& node = s.nodes[n];
    if (node.owner == 0 ? !rules_.heals : node.owner != c + 1)
        return false;
    node.owner = static_cast<std::uint8_t>(c + 1);
    node.left = static_cast<std::uint8_t>(life_on(node));
    return true;
}

// The renewal under way is carried out.
bool exclusion::consent(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    bool const missing = s.nodes[n].owner == 0;
    if (me.at[n] & round || !touch(s, c, n))
        return false;
    bool const has_vote = !rules_.quarantine_in_renewals || votes(s, n);
    me.at[n] |= has_vote && (!missing || rules_.healed_counts_at_once) ? consented : in_vain;
    if (consents(me) >= majority_) {
        auto const less = static_cast<std::uint8_t>(unpromised(s, me));
        me.left = std::max<std::uint8_t>(me.left, me.renewal > less ? me.renewal - less : 0);
        me.renewal = 0;
    }
    return true;
}

// Tidies up after a step, and names the property that it broke.
char const* exclusion::settle(state const& before, state& s) const
{
    char const* wrong = nullptr;
    unsigned valid = 0;
    for (unsigned c = 0; c < rules_.clients; ++c) {
        auto& me = s.clients[c];
        if (me.renewal <= me.left) {  // it cannot prolong anything
            me.renewal = me.outlived = 0;
            if (me.phase == phase::holding) {
                for (auto& at : me.at)
                    at &= acquired | crashed;
            }
        }
        if (me.phase != phase::holding || me.left == 0)
            continue;
        ++valid;
        if (before.clients[c].intruded && rules_.checks_holes)
            wrong = "P2: a lock became valid again after somebody else held it";
        if (before.clients[c].outlived && me.left > before.clients[c].left)
            wrong = "S: a hold was prolonged after every node had crashed";
        me.intruded = 0;
    }
    if (valid > 1)
        wrong = "P1: two clients hold the lock";
    for (auto& c : s.clients)
        c.intruded |= static_cast<std::uint8_t>(c.phase == phase::holding && c.left == 0 && valid > 0);
    return wrong;
}

bool exclusion::outlives(client const& c) const
{
    return rules_.checks_survival && std::all_of(c.at.begin(), c.at.begin() + rules_.nodes, [](auto at) { return (at & crashed) != 0; });
}

packed exclusion::pack(state const& s) const
{
    auto const own = [&](unsigned c) {
        auto const& me = s.clients[c];
        auto const bits = ((static_cast<std::uint64_t>(me.phase) << 3 | me.left) << 3 | me.renewal) << 1 | me.intruded;
        return rules_.checks_survival ? bits << 1 | me.outlived : bits;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        std::uint64_t bits = 0;
        for (unsigned i = rules_.clients; i-- > 0;)
            bits = bits << at_bits_ | s.clients[order[i]].at[n];
        return (((bits << 1 | node.session) << 3 | node.quarantine) << 3 | node.left) << owner_bits_ | renumbered(node.owner, order);
    };
    return canonical(shape_, own, column);
}

exclusion::state exclusion::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned c = 0; c < rules_.clients; ++c) {
        auto& me = s.clients[c];
        if (rules_.checks_survival)
            me.outlived = pop(1);
        me.intruded = pop(1);
        me.renewal = pop(3);
        me.left = pop(3);
        me.phase = static_cast<phase>(pop(2));
    }
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto& node = s.nodes[n];
        node.owner = pop(owner_bits_);
        node.left = pop(3);
        node.quarantine = pop(3);
        node.session = pop(1);
        for (unsigned c = 0; c < rules_.clients; ++c)
            s.clients[c].at[n] = pop(at_bits_);
    }
    return s;
}

std::string exclusion::tell(state const&) const
{
    auto text = fmt::format("all is free; the ttl is {} ticks, the quarantine {}", rules_.ttl, rules_.quarantine);
    return rules_.session_nodes == 0 ? text : text + fmt::format("; {} nodes keep a key for {} ticks", rules_.session_nodes, rules_.session);
}

std::string exclusion::tell(state const& before, step const& how, state const& after) const
{
    auto const name = static_cast<char>('A' + how.client);
    auto const& was = before.clients[how.client];
    auto const& is = after.clients[how.client];
    auto const& node = before.nodes[how.node];
    auto const where = how.node + 1;
    auto const quarantined = node.quarantine > 0 ? fmt::format(" (in quarantine for {} more)", node.quarantine) : std::string();
    std::string text;
    switch (how.what) {
    case step::kind::tick:
        text = "a tick passes";
        for (unsigned c = 0; c < rules_.clients; ++c) {
            if (before.clients[c].phase == phase::holding && before.clients[c].left > 0)
                text += after.clients[c].left > 0
                            ? fmt::format("; {} holds the lock for {} more", static_cast<char>('A' + c), after.clients[c].left)
                            : fmt::format("; the validity of {} is over", static_cast<char>('A' + c));
        }
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            auto const owner = before.nodes[n].owner;
            if (owner != 0 && after.nodes[n].owner == 0 && after.clients[owner - 1].phase != phase::idle)
                text += fmt::format("; its key at node {} expires", n + 1);
        }
        return text;
    case step::kind::crash:
        return fmt::format("node {} crashes and has forgotten {}", where,
                           node.owner != 0 ? fmt::format("the key of {}", static_cast<char>('A' + node.owner - 1)) : "everything");
    case step::kind::end:
        return fmt::format("{} {}", name, was.phase == phase::asking ? "gives up" : "releases");
    case step::kind::acquire:
        if (was.phase == phase::idle)
            text = fmt::format("{} begins; ", name);
        text += fmt::format("node {}{} carries out {}'s ACQ", where, quarantined, name);
        break;
    case step::kind::renew:
        text = fmt::format("{} renews; ", name);
        [[fallthrough]];
    case step::kind::consent:
        text += fmt::format("node {}{} {} by {}'s renewal", where, quarantined,
                            node.owner == 0 ? "has its key set again" : "has its key prolonged", name);
        break;
    case step::kind::touch:
        text = fmt::format("node {}{} {} by an earlier renewal of {}", where, quarantined,
                           node.owner == 0 ? "has its key set again" : "has its key prolonged", name);
        break;
    }
    if (is.phase == phase::holding && (was.phase != phase::holding || is.left > was.left))
        text += fmt::format("; {} holds the lock for {} more", name, is.left);
    return text;
}

std::vector<world> exclusion_worlds()
{
    worlds<exclusion, exclusion_rules> w;

    w.safe("hold", "nobody forgets", {.forgets = false});
    w.safe("hold_renew", "nobody forgets, renewals", {.forgets = false, .renews = true});
    w.safe("quarantine", "nodes forget, quarantine of one ttl", {});
    w.safe("quarantine_renew", "with renewals", {.renews = true});
    w.safe("quarantine_heal", "with renewals that set missing keys again", {.renews = true, .heals = true});
    w.safe("quarantine_heal_ttl4", "the same with a ttl of 4", {.ttl = 4, .quarantine = 4, .renews = true, .heals = true});
    w.safe("quarantine_heal_at_once", "a healed node outside quarantine may count at once",
         {.renews = true, .heals = true, .healed_counts_at_once = true});
    w.safe("late_renewal_p1", "late renewals alone make no two holders",
         {.renews = true, .heals = true, .accepts_late = true, .checks_holes = false});
    w.safe("session_1_of_3", "a node promises less than the ttl", {.renews = true, .session_nodes = 1});
    w.safe("session_2_of_3", "two nodes promise less than the ttl", {.renews = true, .session_nodes = 2});
    w.safe("session_3_of_3", "all nodes promise less than the ttl", {.renews = true, .session_nodes = 3});
    w.safe("session_heal", "two nodes promise less, renewals set missing keys again", {.renews = true, .heals = true, .session_nodes = 2});
    w.safe("rolling_restart", "newcomers; nodes restart, and one stays that is old",
         {.taken_for_new = exclusion_rules::newness::all_are_young, .spares_an_old_node = true});
    w.safe("rolling_restart_heal", "the same with renewals that set missing keys again",
         {.taken_for_new = exclusion_rules::newness::all_are_young, .spares_an_old_node = true, .renews = true, .heals = true});
    w.safe("survival_without_heal", "no hold outlives a crash of every node", {.renews = true, .checks_survival = true});

    w.large("quarantine_3_clients", "3 clients", {.clients = 3});
    w.large("heal_3_clients", "3 clients, renewals that set missing keys again", {.clients = 3, .renews = true, .heals = true});
    w.large("quarantine_5_nodes", "5 nodes", {.nodes = 5});
    w.large("renew_5_nodes", "5 nodes, renewals", {.nodes = 5, .renews = true});
    w.large("heal_5_nodes", "5 nodes, ttl 2, renewals that set missing keys again",
          {.nodes = 5, .ttl = 2, .quarantine = 2, .renews = true, .heals = true});
    w.large("heal_ttl6", "ttl 6, renewals that set missing keys again", {.ttl = 6, .quarantine = 6, .renews = true, .heals = true});

    w.control("no_quarantine", "nodes forget, and vote at once", {.quarantine = 0});
    w.control("quarantine_short", "quarantine of one ttl less a tick", {.quarantine = 2});
    w.control("rolling_majority", "who finds a majority young takes the set for new",
            {.taken_for_new = exclusion_rules::newness::majority_is_young, .spares_an_old_node = true});
    w.control("power_cut", "newcomers take what is young as a whole for new",
            {.taken_for_new = exclusion_rules::newness::all_are_young});
    w.control("validity_from_majority", "validity counts from the majority", {.forgets = false, .validity_from_send = false});
    w.control("renewal_in_quarantine", "nodes in quarantine vote on renewals", {.renews = true, .quarantine_in_renewals = false});
    w.control("heal_in_quarantine", "so do healed ones, from the next renewal on",
            {.renews = true, .heals = true, .quarantine_in_renewals = false});
    w.control("heal_at_once", "so do healed ones, at once",
            {.renews = true, .heals = true, .quarantine_in_renewals = false, .healed_counts_at_once = true});
    w.control("session_ignored", "what the nodes promise is ignored", {.forgets = false, .session_nodes = 2, .heeds = exclusion_rules::promise::ignored});
    w.control("session_longest", "the longest promise counts", {.forgets = false, .session_nodes = 1, .heeds = exclusion_rules::promise::longest});
    w.control("session_ignored_renew", "the same, with renewals",
            {.forgets = false, .renews = true, .session_nodes = 3, .heeds = exclusion_rules::promise::ignored});
    w.control("late_renewal", "a renewal counts when the old validity is over",
            {.renews = true, .heals = true, .accepts_late = true});
    w.control("survival_with_heal", "healing lets a hold outlive a crash of every node",
            {.renews = true, .heals = true, .checks_survival = true});
    return w.all;
}

}  // namespace redlock::model
