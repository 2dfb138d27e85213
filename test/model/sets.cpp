// Model of several locks at once, with time, crashes that forget, and renewals: does a lock ever have two holders?
#include "model/explorer.hpp"
#include "model/node_keys.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol, and the rule that is left out.
struct sets_rules {
    std::vector<std::string_view> sets = {"ab", "bc"};  ///< each client's set: a letter for each lock, in key order
    unsigned ttl = 3;                                   ///< in ticks
    bool forgets = true;                                ///< nodes crash, forget, and come back
    bool quarantines = true;                            ///< a node has no vote for one ttl after a restart

    /// All rounds of an acquisition have one value, and keep what they get, in the order of the locks.
    bool grows = false;
    bool renews = false;  ///< a renewal also sets missing keys again; such a node does not count for it

    bool counts_some = false;     ///< a node sets the free keys, and counts if there are any
    bool extends_some = false;    ///< a renewal counts on a node that had any of the keys
    bool counts_earlier = false;  ///< a node that granted all in an earlier round counts for this round
    bool trims_late = false;      ///< a request that gives keys back may be carried out after a later round

    /// The keys for which a round of a set that grows asks. With `rest_of_quorum`, it leaves out the part that a quorum
    /// of nodes holds. With `rest_of_one`, it leaves out the part that one node holds.
    enum class asking : std::uint8_t { all, rest_of_quorum, rest_of_one } asks = asking::all;
};

/** The effects of the scripts for several locks on the keys of three nodes, with time in ticks, any delays, and clocks
    that agree.

    - E: no two clients whose validity is not over have a lock in common.

    The model builds on @ref exclusion: validity, quarantine and renewals are the same, and what need not be explored
    there need not be explored here. A request may be carried out more than once, which is more than the protocol
    allows. A set that grows may also do what an all-or-nothing set does. So if one set grows in a world, all sets do.

    For a set that grows:

    - *A round begins* with its first request that is granted. Only votes of this round count, and the validity is that
      of this round. The round may be lost at any moment.
    - *Requests of earlier rounds* may be carried out as long as the value is wanted. Before the set is held, they do
      the same as requests of this round, but have no vote. Later they are `step::kind::late`.
    - *Which keys are kept* is not fixed: all keys from any number on may be given back. But on a node they are given
      back before it carries out requests of later rounds, so not after its vote.
    - *Leftovers of a value that nobody wants*, also the keys of a late request, only keep others out. So there are no
      tombstones here: they save others a wait, but do not prevent two holders.
*/
class sets : public three_nodes {
public:
    enum class phase : std::uint8_t { idle, asking, holding };

    struct node {
        node_keys keys{};
        std::uint8_t quarantine = 0;
    };
    struct client {
        std::uint8_t wants = 0;  ///< the index of its set in the rules
        sets::phase phase = sets::phase::idle;
        std::uint8_t left = 0;     ///< ticks of validity; zero while asking: between two rounds
        std::uint8_t renewal = 0;  ///< ticks of validity that the renewal under way would give; 0: no renewal
        std::uint8_t kept = 0;     ///< the number of keys that it no longer asks for
        bool again = false;        ///< not its first round; used only with `trims_late`
        std::array<bool, node_count> consented{};
    };
    struct state {
        std::array<node, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { tick, crash, end, lose, ask, late, trim, renew, consent, touch } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
        std::uint8_t from = 0;  ///< of a trim: the first key that is given back
    };

    explicit sets(sets_rules r) : rules_(std::move(r)), wanted_(rules_.sets), clients_(wanted_.clients()) {}

    unsigned attempts() const { return clients_; }

    void begin(auto visit) const { visit(wanted_.begin<state>()); }

    void steps(state const& s, auto visit) const
    {
        using kind = step::kind;
        visit(step{.what = kind::tick});
        for (std::uint8_t c = 0; c < clients_; ++c) {
            visit(step{.what = kind::end, .client = c});
            visit(step{.what = kind::lose, .client = c});
        }
        for (std::uint8_t n = 0; n < node_count; ++n) {
            visit(step{.what = kind::crash, .node = n});
            for (std::uint8_t c = 0; c < clients_; ++c) {
                for (auto const what : {kind::ask, kind::late, kind::renew, kind::consent, kind::touch})
                    visit(step{.what = what, .client = c, .node = n});
                for (std::uint8_t from = 0; from < keys_of(s.clients[c]).size(); ++from)
                    visit(step{.what = kind::trim, .client = c, .node = n, .from = from});
            }
        }
    }

    bool carry_out(state& s, step const& how) const
    {
        if (!may(s, how))
            return false;
        using kind = step::kind;
        auto& me = s.clients[how.client];
        auto& node = s.nodes[how.node];
        switch (how.what) {
        case kind::tick:
            tick(s);
            break;
        case kind::crash:
            node = {.quarantine = static_cast<std::uint8_t>(rules_.quarantines ? rules_.ttl : 0)};
            break;
        case kind::end:
            end(s, how.client);
            break;
        case kind::lose:
            lose(me);
            break;
        case kind::ask:
            ask(s, how.client, how.node);
            break;
        case kind::late:
            node.keys.grow(keys_of(me), how.client + 1u, rules_.ttl);
            break;
        case kind::trim:
            node.keys.release(keys_of(me).subspan(how.from), how.client + 1u);
            break;
        case kind::renew:
            me.renewal = static_cast<std::uint8_t>(rules_.ttl);
            me.consented = {};
            [[fallthrough]];
        case kind::consent:
            consent(s, how.client, how.node);
            break;
        case kind::touch:
            extend(s, how.client, how.node);
            break;
        }
        return true;
    }

    // Tidies up after a step. Returns the property that the step broke, or null.
    char const* settle(state const&, state& s, step const&) const
    {
        tidy(s);
        std::array<bool, node_keys::most> held{};
        for (auto const& me : s.clients) {
            for (auto const k : me.phase == phase::holding ? keys_of(me) : key_numbers()) {
                if (std::exchange(held[k], true))
                    return "E: two clients hold the same lock";
            }
        }
        return nullptr;
    }

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        auto& me = s.clients[c];
        bits(me.again, 1);
        bits(me.kept, 2);
        bits(me.renewal, 2);
        bits(me.left, 2);
        bits(me.phase, 2);
        bits(me.wants, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        for (unsigned k = 0; k < wanted_.keys(); ++k) {
            bits.name(node.keys.all[k].owner, 2);
            bits(node.keys.all[k].left, 2);
        }
        bits(node.quarantine, 2);
        for (unsigned i = 0; i < clients_; ++i)
            bits(s.clients[bits.attempt(i)].consented[n], 1);
    }

    std::string tell(state const& s) const
    {
        return fmt::format("all is free; the ttl is {} ticks{}", rules_.ttl, wanted_.tell(s));
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        using kind = step::kind;
        static constexpr std::array doing{"a tick passes",
                                          "a node crashes",
                                          "gives up or releases",
                                          "has lost its round",
                                          "asks",
                                          "has asked in an earlier round",
                                          "gives keys back",
                                          "begins to renew",
                                          "renews",
                                          "has renewed before"};
        auto const& node = before.nodes[how.node];
        std::string text = doing[static_cast<std::size_t>(how.what)];
        if (how.what >= kind::end)
            text = fmt::format("{} {}", letter(how.client), text);
        if (how.what == kind::crash || how.what > kind::lose)
            text += fmt::format("; node {}{} has{}", how.node + 1, node.quarantine > 0 ? " (in quarantine)" : "",
                                after.nodes[how.node].keys.tell());
        for (unsigned c = 0; c < clients_; ++c) {
            auto const& was = before.clients[c];
            auto const& is = after.clients[c];
            if (is.phase == phase::holding && (was.phase != phase::holding || was.left != is.left))
                text += fmt::format("; {} holds {} for {} more", letter(c), rules_.sets[is.wants], is.left);
        }
        return text;
    }

private:
    bool may(state const& s, step const& how) const
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
            return rules_.grows && me.phase != phase::idle && how.from >= me.kept
                   && (me.again || (!holds && !me.consented[how.node]));
        case kind::renew:  // another renewal in the same tick gains nothing
            return rules_.renews && holds && me.left < rules_.ttl;
        case kind::consent:
            return holds && me.renewal > 0 && !me.consented[how.node];
        case kind::touch:
            return rules_.renews && holds;
        }
        return false;
    }

    void tidy(state& s) const
    {
        for (unsigned c = 0; c < clients_; ++c) {
            auto& me = s.clients[c];
            if (me.phase == phase::holding && me.renewal <= me.left) {  // the renewal cannot prolong anything
                me.renewal = 0;
                me.consented = {};
            }
            // A round that no node has granted yet begins with the next request. An acquisition that has no key begins
            // anew.
            if (me.phase == phase::asking && rules_.grows && std::ranges::count(me.consented, true) == 0) {
                me.left = 0;
                if (std::ranges::none_of(s.nodes, [&](auto& node) { return node.keys.has_ours(keys_of(me), c + 1); }))
                    end(s, c);
            }
        }
    }

    void tick(state& s) const
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

    void end(state& s, unsigned c) const
    {
        s.clients[c] = {.wants = s.clients[c].wants};
        for (auto& node : s.nodes)
            node.keys.release(keys_of(s.clients[c]), c + 1);
    }

    void lose(client& c) const
    {
        c.left = 0;
        if (!rules_.counts_earlier)
            c.consented = {};
    }

    // Carries out a request of the round under way, or of a new one.
    void ask(state& s, unsigned c, unsigned n) const
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

    void begin_round(state& s, unsigned c) const
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

    // Carries out a request of the renewal under way.
    void consent(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        me.consented[n] = extend(s, c, n) && s.nodes[n].quarantine == 0;
        if (std::ranges::count(me.consented, true) >= majority)
            me.left = std::max(me.left, me.renewal);
    }

    // Whether the node had the keys that a renewal needs.
    bool extend(state& s, unsigned c, unsigned n) const
    {
        auto& there = s.nodes[n].keys;
        auto const keys = keys_of(s.clients[c]);
        return rules_.extends_some ? there.extend_some(keys, c + 1, rules_.ttl) : there.extend(keys, c + 1, rules_.ttl);
    }

    key_numbers keys_of(client const& c) const { return wanted_[c.wants]; }

    sets_rules const rules_;
    wanted_sets const wanted_;
    unsigned const clients_;
};

}  // namespace

std::vector<world> sets_worlds()
{
    using asking = sets_rules::asking;
    worlds<sets, sets_rules> w;

    w.safe("sets_ab_bc", "{a,b} {b,c}, all or nothing", {});
    w.safe("sets_ab_ab", "{a,b} {a,b}, all or nothing", {.sets = {"ab", "ab"}});
    w.safe("sets_singles", "{a,b} {a} {b}, all or nothing, ttl 2", {.sets = {"ab", "a", "b"}, .ttl = 2});
    w.safe("sets_cycle", "{a,b} {b,c} {a,c}, all or nothing, ttl 2", {.sets = {"ab", "bc", "ac"}, .ttl = 2});
    w.safe("sets_heal", "{a,b} {b,c}, renewals that set missing keys again", {.renews = true});
    w.safe("sets_heal_singles", "{a,b} {a} {b}, healing renewals, ttl 2",
           {.sets = {"ab", "a", "b"}, .ttl = 2, .renews = true});
    w.safe("sets_grow", "{a,b} {b,c} grow, ttl 2", {.ttl = 2, .grows = true});
    w.safe("sets_grow_same", "{a,b} {a,b} grow", {.sets = {"ab", "ab"}, .grows = true});
    w.safe("sets_grow_last", "{a,c} {b,c} grow, ttl 2", {.sets = {"ac", "bc"}, .ttl = 2, .grows = true});
    w.safe("sets_grow_heal", "{a,b} {b,c} grow, healing renewals, ttl 2", {.ttl = 2, .grows = true, .renews = true});
    w.safe("sets_grow_heal_same", "{a,b} {a,b} grow, healing renewals",
           {.sets = {"ab", "ab"}, .grows = true, .renews = true});

    w.large("sets_cycle_3", "{a,b} {b,c} {a,c}, all or nothing", {.sets = {"ab", "bc", "ac"}});
    w.large("sets_heal_singles_3", "{a,b} {a} {b}, healing renewals", {.sets = {"ab", "a", "b"}, .renews = true});
    w.large("sets_grow_last_3", "{a,c} {b,c} grow", {.sets = {"ac", "bc"}, .grows = true});
    w.large("sets_grow_heal_3", "{a,b} {b,c} grow, healing renewals", {.grows = true, .renews = true});
    w.large("sets_grow_heal_singles", "{a,b} {a} {b} grow, healing renewals, ttl 2",
            {.sets = {"ab", "a", "b"}, .ttl = 2, .grows = true, .renews = true});
    w.large("sets_grow_singles_3", "{a,b} {a} {b} grow", {.sets = {"ab", "a", "b"}, .grows = true});
    w.large("sets_grow_cycle", "{a,b} {b,c} {a,c} grow, ttl 2", {.sets = {"ab", "bc", "ac"}, .ttl = 2, .grows = true});

    w.control("sets_some", "a node with some of the keys counts", {.forgets = false, .counts_some = true});
    w.control("sets_no_quarantine", "nodes forget, and vote at once", {.quarantines = false});
    w.control("sets_extend_some", "a renewal counts on a node with some of the keys",
              {.forgets = false, .renews = true, .extends_some = true});
    w.control("sets_grow_earlier", "votes of an earlier round count",
              {.forgets = false, .grows = true, .counts_earlier = true});
    w.control("sets_grow_rest", "rounds do not ask for keys that a quorum holds",
              {.forgets = false, .grows = true, .asks = asking::rest_of_quorum});
    w.control("sets_grow_no_quorum", "rounds do not ask for keys that one node holds",
              {.forgets = false, .grows = true, .asks = asking::rest_of_one});
    w.control("sets_trim_late", "keys are given back after a later round",
              {.forgets = false, .grows = true, .trims_late = true});
    return w.all;
}

}  // namespace redlock::model
