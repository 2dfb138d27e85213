// Model of exclusion, with time, crashes that forget, quarantine and renewals: are there ever two holders?
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol, and the rule that is left out.
struct exclusion_rules {
    unsigned nodes = 3;
    unsigned clients = 2;
    unsigned ttl = 3;         ///< in ticks
    bool forgets = true;      ///< nodes crash, forget, and come back
    unsigned quarantine = 3;  ///< in ticks; a node has no vote for this time after a restart

    /// When nodes in quarantine ("young" nodes) vote all the same, because the clients take the set for newly started.
    /// All clients are newcomers: no client has seen a node crash.
    enum class newness { never, majority_is_young, all_are_young } taken_for_new = newness::never;
    bool spares_an_old_node = false;  ///< no crash leaves only young nodes

    bool renews = false;
    bool heals = false;  ///< a renewal sets missing keys again; such a node does not count for this renewal

    /// So many nodes keep a key only for @ref session, whatever the ttl, and promise no more.
    unsigned session_nodes = 0;
    unsigned session = 2;  ///< in ticks, less than the ttl

    /// Which promise of the consenting nodes limits a client's validity.
    enum class promise { least_of_a_majority, longest, ignored } heeds = promise::least_of_a_majority;

    bool validity_from_send = true;      ///< false: it counts from the moment of the majority
    bool quarantine_in_renewals = true;  ///< false: a node in quarantine has a vote on renewals
    bool healed_counts_at_once = false;
    bool accepts_late = false;     ///< accepts a renewal whose majority comes after the old validity
    bool checks_holes = true;      ///< checks P2
    bool checks_survival = false;  ///< checks S
};

/** Locks by majority, with time in ticks, any delays, and clocks that agree.

    A client acquires again and again, each time with a new value. The number of acquisitions, renewals, crashes and
    ticks has no limit. Validity counts from before the first send. An acquisition completes when a majority has granted
    it and its validity is not over.

    A crash removes all keys of a node and begins its quarantine. A node in quarantine sets keys, but its vote does not
    count, unless the set of nodes is taken for newly started.

    A renewal prolongs the validity, counted from the sending of the renewal. It needs the consent of a majority before
    the old validity is over, and each of these nodes must have had the key. Quarantine applies to acquisitions and
    renewals. Nodes may promise different times. The majority with the longest promises counts, and the validity ends
    with the least of these promises.

    - P1: no two clients are within their validity at the same tick.
    - P2: no value becomes valid again after another client was valid in between.
    - S: no hold is prolonged by a renewal that began after every node had crashed during this hold. Healing is there to
      break this property.

    Some behaviour need not be explored. Each step that it adds has a twin in the model that breaks the same property:

    - *Lost messages* and refusals: nothing waits for them. A commit whose answer is lost is such a message. Its key is
      set, its client does not count it, and gives it up with the attempt.
    - *The begin of an acquisition or a renewal* is its first message that is carried out, so its validity ends as late
      as possible.
    - *Slow answers*: answers arrive at once, because a hold that begins earlier overlaps more.
    - *Leftovers of an attempt* that has given up, expired or been released (keys, messages under way) only keep others
      out. So its keys are removed at once, and its client begins anew.
    - *Failed renewals of a holder* may still be carried out at any moment, any number of times: this is
      `step::kind::touch`. It does the same as a late ACQ of the holder, if keys are set again at all.
*/
class exclusion {
public:
    enum class phase : std::uint8_t { idle, asking, holding };

    struct node {
        std::uint8_t owner = 0;  ///< 0: none, otherwise the client plus one
        std::uint8_t left = 0;   ///< ticks until the key expires
        std::uint8_t quarantine = 0;
        std::uint8_t session = 0;  ///< whether it keeps keys for a session only
    };
    struct client {
        exclusion::phase phase = exclusion::phase::idle;
        std::uint8_t left = 0;      ///< ticks of validity; 0 while holding: it is over, but a late renewal may come
        std::uint8_t renewal = 0;   ///< ticks of validity that the renewal under way would give; 0: no renewal
        std::uint8_t intruded = 0;  ///< another client was valid after this one
        std::uint8_t outlived = 0;  ///< the renewal under way began after every node had crashed
        /// For each node, flags of the current round (ACQ, then renewals). Further flags: the node has carried out ACQ;
        /// it has crashed since the client holds the lock.
        std::array<std::uint8_t, nodes_max> at{};
    };
    static constexpr std::uint8_t consented = 1, in_vain = 2, round = 3, acquired = 4, crashed = 8;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { tick, crash, acquire, end, renew, consent, touch } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit exclusion(exclusion_rules r) : rules_(r) {}

    unsigned nodes() const { return rules_.nodes; }
    unsigned attempts() const { return rules_.clients; }

    void begin(auto visit) const
    {
        state s;
        for (unsigned n = 0; n < rules_.session_nodes; ++n)
            s.nodes[n].session = 1;
        visit(s);
    }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        visit(step{.what = kind::tick});
        for (std::uint8_t n = 0; n < rules_.nodes; ++n) {
            visit(step{.what = kind::crash, .node = n});
            for (std::uint8_t c = 0; c < rules_.clients; ++c) {
                for (auto const what : {kind::acquire, kind::touch, kind::consent, kind::renew})
                    visit(step{.what = what, .client = c, .node = n});
            }
        }
        for (std::uint8_t c = 0; c < rules_.clients; ++c)
            visit(step{.what = kind::end, .client = c});
    }

    bool carry_out(state& s, step const& how) const
    {
        using kind = step::kind;
        auto const c = how.client, n = how.node;
        auto& me = s.clients[c];
        bool const renews = me.phase == phase::holding && rules_.renews;
        switch (how.what) {
        case kind::tick:
            tick(s);
            return true;
        case kind::crash:
            return crash(s, n);
        case kind::acquire:
            return acquire(s, c, n);
        case kind::touch:
            return renews && touch(s, c, n);
        case kind::consent:
            return renews && me.renewal > 0 && consent(s, c, n);
        case kind::renew:  // another renewal in the same tick gains nothing
            return renews && me.left > 0 && me.left < rules_.ttl && renew(s, c, n);
        case kind::end:
            if (me.phase == phase::idle)
                return false;
            end(s, c);
            return true;
        }
        return false;
    }

    // Tidies up after a step. Returns the property that the step broke, or null.
    char const* settle(state const& before, state& s, step const&) const
    {
        char const* wrong = nullptr;
        unsigned valid = 0;
        for (unsigned c = 0; c < rules_.clients; ++c) {
            auto& me = s.clients[c];
            if (me.renewal <= me.left) {  // the renewal cannot prolong anything
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

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        auto& me = s.clients[c];
        if (rules_.checks_survival)
            bits(me.outlived, 1);
        bits(me.intruded, 1);
        bits(me.renewal, 3);
        bits(me.left, 3);
        bits(me.phase, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bits.name(node.owner, owner_bits_);
        bits(node.left, 3);
        bits(node.quarantine, 3);
        bits(node.session, 1);
        for (unsigned i = 0; i < rules_.clients; ++i)
            bits(s.clients[bits.attempt(i)].at[n], at_bits_);
    }

    std::string tell(state const&) const
    {
        auto text = fmt::format("all is free; the ttl is {} ticks, the quarantine {}", rules_.ttl, rules_.quarantine);
        return rules_.session_nodes == 0
                   ? text
                   : text + fmt::format("; {} nodes keep a key for {} ticks", rules_.session_nodes, rules_.session);
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        auto const name = letter(how.client);
        auto const& was = before.clients[how.client];
        auto const& is = after.clients[how.client];
        auto const& node = before.nodes[how.node];
        auto const where = how.node + 1;
        auto const quarantined = node.quarantine > 0 ? fmt::format(" (in quarantine for {} more)", node.quarantine)
                                                     : std::string();
        std::string text;
        switch (how.what) {
        case step::kind::tick:
            text = "a tick passes";
            for (unsigned c = 0; c < rules_.clients; ++c) {
                if (before.clients[c].phase == phase::holding && before.clients[c].left > 0)
                    text += after.clients[c].left > 0
                                ? fmt::format("; {} holds the lock for {} more", letter(c), after.clients[c].left)
                                : fmt::format("; the validity of {} is over", letter(c));
            }
            for (unsigned n = 0; n < rules_.nodes; ++n) {
                auto const owner = before.nodes[n].owner;
                if (owner != 0 && after.nodes[n].owner == 0 && after.clients[owner - 1].phase != phase::idle)
                    text += fmt::format("; its key at node {} expires", n + 1);
            }
            return text;
        case step::kind::crash:
            return fmt::format("node {} crashes and has forgotten {}", where,
                               node.owner != 0 ? fmt::format("the key of {}", letter(node.owner - 1u)) : "everything");
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

private:
    void end(state& s, unsigned c) const
    {
        s.clients[c] = {};
        for (auto& node : s.nodes) {
            if (node.owner == c + 1)
                node.owner = node.left = 0;
        }
    }

    void tick(state& s) const
    {
        for (auto& node : s.nodes) {
            node.left -= node.left > 0;
            node.quarantine -= node.quarantine > 0;
            if (node.left == 0)
                node.owner = 0;
        }
        for (unsigned c = 0; c < rules_.clients; ++c) {
            auto& me = s.clients[c];
            me.left -= me.left > 0;
            me.renewal -= me.renewal > 0;
            if (me.phase != phase::idle && me.left == 0 && !(rules_.accepts_late && me.renewal > 0))
                end(s, c);
        }
    }

    bool crash(state& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bool const is_last_old_one = node.quarantine == 0 && young(s) == rules_.nodes - 1;
        if (!rules_.forgets || (rules_.spares_an_old_node && is_last_old_one))
            return false;
        node = {.quarantine = static_cast<std::uint8_t>(rules_.quarantine), .session = node.session};
        for (auto& client : s.clients)
            client.at[n] |= rules_.checks_survival && client.phase == phase::holding ? crashed : 0;
        return true;
    }

    unsigned young(state const& s) const
    {
        return static_cast<unsigned>(
            std::count_if(s.nodes.begin(), s.nodes.begin() + rules_.nodes, [](auto& n) { return n.quarantine > 0; }));
    }

    bool votes(state const& s, unsigned n) const
    {
        using newness = exclusion_rules::newness;
        if (s.nodes[n].quarantine == 0)
            return true;
        if (rules_.taken_for_new == newness::never)
            return false;
        return young(s) >= (rules_.taken_for_new == newness::all_are_young ? rules_.nodes : majority_);
    }

    unsigned consents(client const& c) const
    {
        return static_cast<unsigned>(
            std::count_if(c.at.begin(), c.at.end(), [](auto at) { return (at & round) == consented; }));
    }

    // How many ticks less than the ttl the best majority of the consenting nodes promises.
    unsigned unpromised(state const& s, client const& c) const
    {
        unsigned full = 0;
        for (unsigned n = 0; n < rules_.nodes; ++n)
            full += (c.at[n] & round) == consented && !s.nodes[n].session;
        using promise = exclusion_rules::promise;
        bool const for_the_ttl = rules_.heeds == promise::ignored
                                 || full >= (rules_.heeds == promise::longest ? 1 : majority_);
        return for_the_ttl ? 0 : rules_.ttl - rules_.session;
    }

    // A node with a foreign key refuses, which changes nothing. Returns true if the node sets the key.
    bool acquire(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        auto& node = s.nodes[n];
        if (me.at[n] & acquired || node.owner != 0)
            return false;
        if (me.phase == phase::holding && (!rules_.renews || rules_.heals))
            return false;  // such a request only keeps others out, or does the same as a touch
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

    // Carries out a request of an earlier renewal. Nobody waits for its answer.
    bool touch(state& s, unsigned c, unsigned n) const
    {
        auto& node = s.nodes[n];
        if (node.owner == 0 ? !rules_.heals : node.owner != c + 1)
            return false;
        node.owner = static_cast<std::uint8_t>(c + 1);
        node.left = static_cast<std::uint8_t>(life_on(node));
        return true;
    }

    // Carries out the first request of a new renewal.
    bool renew(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        me.renewal = static_cast<std::uint8_t>(rules_.ttl);
        me.outlived = outlives(me);
        for (auto& at : me.at)
            at &= acquired | crashed;
        return consent(s, c, n);
    }

    // Carries out a request of the renewal under way.
    bool consent(state& s, unsigned c, unsigned n) const
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

    bool outlives(client const& c) const
    {
        return rules_.checks_survival
               && std::all_of(c.at.begin(), c.at.begin() + rules_.nodes, [](auto at) { return (at & crashed) != 0; });
    }

    unsigned life_on(node const& n) const { return n.session ? rules_.session : rules_.ttl; }

    exclusion_rules const rules_;
    unsigned const majority_ = rules_.nodes / 2 + 1;
    unsigned const owner_bits_ = static_cast<unsigned>(std::bit_width(rules_.clients));
    unsigned const at_bits_ = rules_.checks_survival ? 4 : 3;
};

}  // namespace

std::vector<world> exclusion_worlds()
{
    worlds<exclusion, exclusion_rules> w;

    w.safe("hold", "nobody forgets", {.forgets = false});
    w.safe("hold_renew", "nobody forgets, renewals", {.forgets = false, .renews = true});
    w.safe("quarantine", "nodes forget, quarantine of one ttl", {});
    w.safe("quarantine_renew", "nodes forget, quarantine of one ttl, renewals", {.renews = true});
    w.safe("quarantine_heal", "quarantine, renewals that set missing keys again", {.renews = true, .heals = true});
    w.safe("quarantine_heal_ttl4", "quarantine, healing renewals, ttl 4",
           {.ttl = 4, .quarantine = 4, .renews = true, .heals = true});
    w.safe("quarantine_heal_at_once", "a healed node outside quarantine may count at once",
           {.renews = true, .heals = true, .healed_counts_at_once = true});
    w.safe("late_renewal_p1", "late renewals alone do not make two holders",
           {.renews = true, .heals = true, .accepts_late = true, .checks_holes = false});
    w.safe("session_1_of_3", "a node promises less than the ttl", {.renews = true, .session_nodes = 1});
    w.safe("session_2_of_3", "two nodes promise less than the ttl", {.renews = true, .session_nodes = 2});
    w.safe("session_3_of_3", "all nodes promise less than the ttl", {.renews = true, .session_nodes = 3});
    w.safe("session_heal", "two nodes promise less, renewals set missing keys again",
           {.renews = true, .heals = true, .session_nodes = 2});
    w.safe("rolling_restart", "newcomers; nodes restart, one old node stays",
           {.taken_for_new = exclusion_rules::newness::all_are_young, .spares_an_old_node = true});
    w.safe("rolling_restart_heal", "newcomers, one old node stays, healing renewals",
           {.taken_for_new = exclusion_rules::newness::all_are_young,
            .spares_an_old_node = true,
            .renews = true,
            .heals = true});
    w.safe("survival_without_heal", "no hold survives a crash of every node",
           {.renews = true, .checks_survival = true});

    w.large("quarantine_3_clients", "3 clients", {.clients = 3});
    w.large("heal_3_clients", "3 clients, renewals that set missing keys again",
            {.clients = 3, .renews = true, .heals = true});
    w.large("quarantine_5_nodes", "5 nodes", {.nodes = 5});
    w.large("renew_5_nodes", "5 nodes, renewals", {.nodes = 5, .renews = true});
    w.large("heal_5_nodes", "5 nodes, ttl 2, renewals that set missing keys again",
            {.nodes = 5, .ttl = 2, .quarantine = 2, .renews = true, .heals = true});
    w.large("heal_ttl6", "ttl 6, renewals that set missing keys again",
            {.ttl = 6, .quarantine = 6, .renews = true, .heals = true});

    w.control("no_quarantine", "nodes forget, and vote at once", {.quarantine = 0});
    w.control("quarantine_short", "quarantine of one ttl less a tick", {.quarantine = 2});
    w.control("rolling_majority", "clients take a set with a young majority for new",
              {.taken_for_new = exclusion_rules::newness::majority_is_young, .spares_an_old_node = true});
    w.control("power_cut", "newcomers take a set of only young nodes for new",
              {.taken_for_new = exclusion_rules::newness::all_are_young});
    w.control("validity_from_majority", "validity counts from the majority",
              {.forgets = false, .validity_from_send = false});
    w.control("renewal_in_quarantine", "nodes in quarantine vote on renewals",
              {.renews = true, .quarantine_in_renewals = false});
    w.control("heal_in_quarantine", "healed nodes in quarantine vote on later renewals",
              {.renews = true, .heals = true, .quarantine_in_renewals = false});
    w.control("heal_at_once", "healed nodes in quarantine vote at once",
              {.renews = true, .heals = true, .quarantine_in_renewals = false, .healed_counts_at_once = true});
    w.control("session_ignored", "what the nodes promise is ignored",
              {.forgets = false, .session_nodes = 2, .heeds = exclusion_rules::promise::ignored});
    w.control("session_longest", "the longest promise counts",
              {.forgets = false, .session_nodes = 1, .heeds = exclusion_rules::promise::longest});
    w.control("session_ignored_renew", "what the nodes promise is ignored, renewals",
              {.forgets = false, .renews = true, .session_nodes = 3, .heeds = exclusion_rules::promise::ignored});
    w.control("late_renewal", "a renewal counts when the old validity is over",
              {.renews = true, .heals = true, .accepts_late = true});
    w.control("survival_with_heal", "with healing, a hold survives a crash of every node",
              {.renews = true, .heals = true, .checks_survival = true});
    return w.all;
}

}  // namespace redlock::model
