#include "model/sets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <stdexcept>
#include <utility>

namespace redlock::model {

sets::sets(sets_rules r)
    : rules_(std::move(r)), wanted_(rules_.sets), clients_(wanted_.clients()),
      shape_{.nodes = node_count, .attempts = clients_, .node_bits = 4 * wanted_.keys() + 2 + clients_, .attempt_bits = 11}
{
    if (clients_ > 3 || wanted_.keys() > node_keys::most || rules_.ttl > 3)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void sets::begin(Visit visit) const
{
    state s;
    for (unsigned c = 0; c < clients_; ++c)
        s.clients[c].wants = wanted_.first_like(c);
    visit(s);
}

template <class Visit>
void sets::steps(state const& s, Visit visit) const
{
    using kind = step::kind;
    auto const go = [&](step how) {
        if (!may(s, how))
            return;
        auto next = s;
        carry_out(next, how);
        settle(next);
        visit(how, next, wrong_in(next));
    };
    go({.what = kind::tick});
    for (std::uint8_t c = 0; c < clients_; ++c) {
        go({.what = kind::end, .client = c});
        go({.what = kind::lose, .client = c});
    }
    for (std::uint8_t n = 0; n < node_count; ++n) {
        go({.what = kind::crash, .node = n});
        for (std::uint8_t c = 0; c < clients_; ++c) {
            for (auto const what : {kind::ask, kind::late, kind::renew, kind::consent, kind::touch})
                go({.what = what, .client = c, .node = n});
            for (std::uint8_t from = 0; from < keys_of(s.clients[c]).size(); ++from)
                go({.what = kind::trim, .client = c, .node = n, .from = from});
        }
    }
}

bool sets::may(state const& s, step const& how) const
{
    using kind = step::kind;
    auto const& me = s.clients[how.client];
    bool const holds = me.phase == phase::holding;
    switch (how.what) {
    case kind::tick:
        return true;
    case kind::crash:
        return rules_.forgets;
    case kind::end:
        return me.phase != phase::idle;
    case kind::lose:
        return rules_.grows && me.phase == phase::asking && me.left > 0;
    case kind::ask:
        return !holds && (rules_.grows || rules_.counts_some || s.nodes[how.node].keys.are_free(keys_of(me)));
    case kind::late:
        return rules_.grows && holds;
    case kind::trim:
        return rules_.grows && me.phase != phase::idle && how.from >= me.kept && (me.again || (!holds && !me.consented[how.node]));
    case kind::renew:  // in the tick of the last one it gains nothing
        return rules_.renews && holds && me.left < rules_.ttl;
    case kind::consent:
        return holds && me.renewal > 0 && !me.consented[how.node];
    case kind::touch:
        return rules_.renews && holds;
    }
    return false;
}

void sets::carry_out(state& s, step const& how) const
{
    using kind = step::kind;
    auto& me = s.clients[how.client];
    auto& node = s.nodes[how.node];
    switch (how.what) {
    case kind::tick:
        return tick(s);
    case kind::crash:
        node = {.quarantine = static_cast<std::uint8_t>(rules_.quarantines ? rules_.ttl : 0)};
        return;
    case kind::end:
        return end(s, how.client);
    case kind::lose:
        return lose(me);
    case kind::ask:
        return ask(s, how.client, how.node);
    case kind::late:
        node.keys.grow(keys_of(me), how.client + 1u, rules_.ttl);
        return;
    case kind::trim:
        return node.keys.release(keys_of(me).subspan(how.from), how.client + 1u);
    case kind::renew:
        me.renewal = static_cast<std::uint8_t>(rules_.ttl);
        me.consented = {};
        [[fallthrough]];
    case kind::consent:
        return consent(s, how.client, how.node);
    case kind::touch:
        extend(s, how.client, how.node);
        return;
    }
}

void sets::tick(state& s) const
{
    for (auto& node : s.nodes) {
        node.quarantine -= node.quarantine > 0;
        for (auto& key : node.keys.all) {
            key.left -= key.left > 0;
            if (key.left == 0)
                key.owner = 0;
        }
    }
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        me.left -= me.left > 0;
        me.renewal -= me.renewal > 0;
        if (me.phase == phase::idle || me.left > 0)
            continue;
        if (me.phase == phase::holding || !rules_.grows)
            end(s, c);
        else
            lose(me);
    }
}

void sets::end(state& s, unsigned c) const
{
    s.clients[c] = {.wants = s.clients[c].wants};
    for (auto& node : s.nodes)
        node.keys.release(keys_of(s.clients[c]), c + 1);
}

void sets::lose(client& c) const
{
    c.left = 0;
    if (!rules_.counts_earlier)
        c.consented = {};
}

// A request of the round under way, or of a new one, is carried out.
void sets::ask(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    auto& node = s.nodes[n];
    auto const keys = keys_of(me);
    if (me.left == 0)
        begin_round(s, c);
    bool granted = false;
    if (rules_.grows) {
        granted = node.keys.grow(keys.subspan(me.kept), c + 1, rules_.ttl);
    } else if (rules_.counts_some) {
        node.keys.set_what_is_free(keys, c + 1, rules_.ttl);
        granted = node.keys.has_ours(keys, c + 1);
    } else {
        granted = node.keys.acquire(keys, c + 1, rules_.ttl);
    }
    me.consented[n] = me.consented[n] || (granted && node.quarantine == 0);
    if (std::ranges::count(me.consented, true) >= majority)
        me = {.wants = me.wants, .phase = phase::holding, .left = me.left, .again = me.again};
}

void sets::begin_round(state& s, unsigned c) const
{
    using asking = sets_rules::asking;
    auto& me = s.clients[c];
    me.again = rules_.trims_late && me.phase == phase::asking;
    me.phase = phase::asking;
    me.left = static_cast<std::uint8_t>(rules_.ttl);
    if (rules_.asks == asking::all)
        return;
    std::array<unsigned, node_count> ours{};
    std::ranges::transform(s.nodes, ours.begin(), [&](auto& node) { return node.keys.ours(keys_of(me), c + 1); });
    std::ranges::sort(ours, std::greater<>());
    auto const kept = ours[rules_.asks == asking::rest_of_quorum ? majority - 1 : 0];
    me.kept = static_cast<std::uint8_t>(std::min<std::size_t>(kept, keys_of(me).size() - 1));
}

// The renewal under way is carried out.
void sets::consent(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    me.consented[n] = extend(s, c, n) && s.nodes[n].quarantine == 0;
    if (std::ranges::count(me.consented, true) >= majority)
        me.left = std::max(me.left, me.renewal);
}

// Whether the node has had what a renewal needs.
bool sets::extend(state& s, unsigned c, unsigned n) const
{
    auto& there = s.nodes[n].keys;
    auto const keys = keys_of(s.clients[c]);
    return rules_.extends_some ? there.extend_some(keys, c + 1, rules_.ttl) : there.extend(keys, c + 1, rules_.ttl);
}

// Tidies up after a step.
void sets::settle(state& s) const
{
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        if (me.phase == phase::holding && me.renewal <= me.left) {  // it cannot prolong anything
            me.renewal = 0;
            me.consented = {};
        }
        // A round in which nobody has granted yet begins with the next request, and an acquisition without a key anew.
        if (me.phase == phase::asking && rules_.grows && std::ranges::count(me.consented, true) == 0) {
            me.left = 0;
            if (std::ranges::none_of(s.nodes, [&](auto& node) { return node.keys.has_ours(keys_of(me), c + 1); }))
                end(s, c);
        }
    }
}

char const* sets::wrong_in(state const& s) const
{
    std::array<bool, node_keys::most> held{};
    for (auto const& me : s.clients) {
        for (auto const k : me.phase == phase::holding ? keys_of(me) : key_numbers()) {
            if (std::exchange(held[k], true))
                return "E: two clients hold the same lock";
        }
    }
    return nullptr;
}

packed sets::pack(state const& s) const
{
    auto const own = [&](unsigned c) {
        auto const& me = s.clients[c];
        auto const bits = static_cast<std::uint64_t>(me.wants) << 2 | static_cast<std::uint64_t>(me.phase);
        return (((bits << 2 | me.left) << 2 | me.renewal) << 2 | me.kept) << 1 | static_cast<unsigned>(me.again);
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        std::uint64_t bits = 0;
        for (unsigned i = clients_; i-- > 0;)
            bits = bits << 1 | s.clients[order[i]].consented[n];
        bits = bits << 2 | node.quarantine;
        for (unsigned k = wanted_.keys(); k-- > 0;) {
            auto const& key = node.keys.all[k];
            bits = (bits << 2 | key.left) << 2 | renumbered(key.owner, order);
        }
        return bits;
    };
    return canonical(shape_, own, column);
}

sets::state sets::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        me.again = pop(1) != 0;
        me.kept = pop(2);
        me.renewal = pop(2);
        me.left = pop(2);
        me.phase = static_cast<phase>(pop(2));
        me.wants = pop(2);
    }
    for (unsigned n = 0; n < node_count; ++n) {
        auto& node = s.nodes[n];
        for (unsigned k = 0; k < wanted_.keys(); ++k) {
            node.keys.all[k].owner = pop(2);
            node.keys.all[k].left = pop(2);
        }
        node.quarantine = pop(2);
        for (unsigned c = 0; c < clients_; ++c)
            s.clients[c].consented[n] = pop(1) != 0;
    }
    return s;
}

std::string sets::tell(state const& s) const
{
    auto text = fmt::format("all is free; the ttl is {} ticks", rules_.ttl);
    for (unsigned c = 0; c < clients_; ++c)
        text += wanted_.tell(c, s.clients[c].wants);
    return text;
}

std::string sets::tell(state const& before, step const& how, state const& after) const
{
    using kind = step::kind;
    static constexpr std::array doing{"a tick passes", "a node crashes", "lets go", "has lost its round", "asks", "has asked in an earlier round",
                                      "gives keys back", "begins to renew", "renews", "has renewed before"};
    auto const& node = before.nodes[how.node];
    std::string text = doing[static_cast<std::size_t>(how.what)];
    if (how.what >= kind::end)
        text = fmt::format("{} {}", static_cast<char>('A' + how.client), text);
    if (how.what == kind::crash || how.what > kind::lose)
        text += fmt::format("; node {}{} has{}", how.node + 1, node.quarantine > 0 ? " (in quarantine)" : "", after.nodes[how.node].keys.tell());
    for (unsigned c = 0; c < clients_; ++c) {
        auto const& was = before.clients[c];
        auto const& is = after.clients[c];
        if (is.phase == phase::holding && (was.phase != phase::holding || was.left != is.left))
            text += fmt::format("; {} holds {} for {} more", static_cast<char>('A' + c), rules_.sets[is.wants], is.left);
    }
    return text;
}

std::vector<world> sets_worlds()
{
    using asking = sets_rules::asking;
    worlds<sets, sets_rules> w;

    w.safe("sets_ab_bc", "{a,b} {b,c}, all or nothing", {});
    w.safe("sets_ab_ab", "{a,b} {a,b}, all or nothing", {.sets = {"ab", "ab"}});
    w.safe("sets_singles", "{a,b} {a} {b}, all or nothing, ttl 2", {.sets = {"ab", "a", "b"}, .ttl = 2});
    w.safe("sets_cycle", "{a,b} {b,c} {a,c}, all or nothing, ttl 2", {.sets = {"ab", "bc", "ac"}, .ttl = 2});
    w.safe("sets_heal", "{a,b} {b,c}, renewals that set missing keys again", {.renews = true});
    w.safe("sets_heal_singles", "{a,b} {a} {b}, such renewals, ttl 2", {.sets = {"ab", "a", "b"}, .ttl = 2, .renews = true});
    w.safe("sets_grow", "{a,b} {b,c} grow, ttl 2", {.ttl = 2, .grows = true});
    w.safe("sets_grow_same", "{a,b} {a,b} grow", {.sets = {"ab", "ab"}, .grows = true});
    w.safe("sets_grow_last", "{a,c} {b,c} grow, ttl 2", {.sets = {"ac", "bc"}, .ttl = 2, .grows = true});
    w.safe("sets_grow_heal", "{a,b} {b,c} grow, healing renewals, ttl 2", {.ttl = 2, .grows = true, .renews = true});
    w.safe("sets_grow_heal_same", "{a,b} {a,b} grow, healing renewals", {.sets = {"ab", "ab"}, .grows = true, .renews = true});

    w.large("sets_cycle_3", "{a,b} {b,c} {a,c}, all or nothing", {.sets = {"ab", "bc", "ac"}});
    w.large("sets_heal_singles_3", "{a,b} {a} {b}, healing renewals", {.sets = {"ab", "a", "b"}, .renews = true});
    w.large("sets_grow_last_3", "{a,c} {b,c} grow", {.sets = {"ac", "bc"}, .grows = true});
    w.large("sets_grow_heal_3", "{a,b} {b,c} grow, healing renewals", {.grows = true, .renews = true});
    w.large("sets_grow_heal_singles", "{a,b} {a} {b} grow, healing renewals, ttl 2", {.sets = {"ab", "a", "b"}, .ttl = 2, .grows = true, .renews = true});
    w.large("sets_grow_singles_3", "{a,b} {a} {b} grow", {.sets = {"ab", "a", "b"}, .grows = true});
    w.large("sets_grow_cycle", "{a,b} {b,c} {a,c} grow, ttl 2", {.sets = {"ab", "bc", "ac"}, .ttl = 2, .grows = true});

    w.control("sets_some", "a node with some of the keys counts", {.forgets = false, .counts_some = true});
    w.control("sets_no_quarantine", "nodes forget, and vote at once", {.quarantines = false});
    w.control("sets_extend_some", "a renewal counts where some of the keys are ours", {.forgets = false, .renews = true, .extends_some = true});
    w.control("sets_grow_earlier", "votes of an earlier round count", {.forgets = false, .grows = true, .counts_earlier = true});
    w.control("sets_grow_rest", "what a quorum holds is not asked for any more", {.forgets = false, .grows = true, .asks = asking::rest_of_quorum});
    w.control("sets_grow_no_quorum", "what one node holds is not asked for any more", {.forgets = false, .grows = true, .asks = asking::rest_of_one});
    w.control("sets_trim_late", "keys are given back behind a later round", {.forgets = false, .grows = true, .trims_late = true});
    return w.all;
}

}  // namespace redlock::model
