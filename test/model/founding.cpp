// Model of a set of new nodes that clients found, with time and restarts: are there ever two holders?
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol, and the rule that is left out.
struct founding_rules {
    unsigned clients = 2;
    unsigned ttl = 1;                ///< in ticks; it is max_ttl, too
    bool looks_again = true;         ///< a founder asks all nodes again
    bool looks_after_all = true;     ///< it asks again only when it has read the records of all nodes
    bool all_look_again = true;      ///< all nodes must say again that they are new, not only a majority
    bool compares_words = true;      ///< "founded" is only for the record that the founder has read
    bool spares_an_old_node = true;  ///< no restart leaves only nodes with fresh records
};

/** A node that has lost its keys looks new. If a client has read the records of all nodes as new, it founds the set. It
    tells each node that it is founded, and the node votes at once. Other nodes vote when their record is max_ttl old.

    A client reads the records one after the other. Between two of its steps anything may happen: other clients found
    the set and hold the lock, and nodes restart without their memory. A client that knows a record of a node does not
    take a later record of this node for new. But at any moment a client may begin anew, as another process does.

    Requests of an acquisition and the command that founds are carried out at any moment, or never. Any client may note
    on a fresh node that another node is not new.

    - E: no two clients are within their validity at the same tick.

    As in @ref exclusion, lost messages, slow answers and the leftovers of an acquisition need not be explored. Renewals
    need not be explored either: what matters is whether a node votes that has forgotten a valid lock.
*/
class founding : public three_nodes {
public:
    enum class record : std::uint8_t { fresh, of_old_set, votes };
    /// How often a client has read the record of a node, always as new. The last two: the node has another record
    /// since.
    enum class reading : std::uint8_t { none, once, twice, gone_after_once, gone_after_twice };
    enum class phase : std::uint8_t { idle, asking, holding };

    struct node {
        founding::record record = founding::record::fresh;
        std::uint8_t age = 0;    ///< of the record, in ticks, while it does not vote
        std::uint8_t owner = 0;  ///< 0: none, otherwise the client plus one
        std::uint8_t left = 0;   ///< ticks until the key expires
        bool verdict = false;    ///< "founded" is under way to this record
    };
    struct client {
        founding::phase phase = founding::phase::idle;
        std::uint8_t left = 0;  ///< ticks of validity
        std::array<bool, node_count> consented{};
        std::array<reading, node_count> knows{};
    };
    struct state {
        std::array<node, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t {
            tick,
            restart,
            note,
            receive,
            read,
            read_again,
            found,
            renounce,
            acquire,
            end
        };
        kind what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit founding(founding_rules r) : rules_(r) {}

    unsigned attempts() const { return rules_.clients; }

    void begin(auto visit) const
    {
        state s;
        visit(s);
        for (auto& n : s.nodes)
            n.record = record::votes;
        visit(s);
    }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        visit(step{.what = kind::tick});
        for (std::uint8_t n = 0; n < node_count; ++n) {
            for (auto const what : {kind::restart, kind::note, kind::receive})
                visit(step{.what = what, .node = n});
        }
        for (std::uint8_t c = 0; c < rules_.clients; ++c) {
            for (std::uint8_t n = 0; n < node_count; ++n) {
                for (auto const what : {kind::read, kind::read_again, kind::acquire})
                    visit(step{.what = what, .client = c, .node = n});
            }
            for (auto const what : {kind::found, kind::renounce, kind::end})
                visit(step{.what = what, .client = c});
        }
    }

    bool carry_out(state& s, step const& how) const
    {
        using kind = step::kind;
        auto& me = s.clients[how.client];
        auto& knows = me.knows[how.node];
        auto& node = s.nodes[how.node];
        bool const is_new = node.record == record::fresh;
        switch (how.what) {
        case kind::tick:
            tick(s);
            return true;
        case kind::restart:
            return restart(s, how.node);
        case kind::note:
            if (!is_new || count_fresh(s) == node_count)
                return false;
            node.record = record::of_old_set;
            return true;
        case kind::receive:
            if (!is_new || !node.verdict)
                return false;
            node.record = record::votes;
            return true;
        case kind::read:
            if (!is_new || knows != reading::none)
                return false;
            knows = reading::once;
            return true;
        case kind::read_again: {
            bool const knows_all = std::ranges::find(me.knows, reading::none) == me.knows.end();
            if (!rules_.looks_again || !is_new || knows != reading::once || (rules_.looks_after_all && !knows_all))
                return false;
            knows = reading::twice;
            return true;
        }
        case kind::found:
            return found(s, me);
        case kind::renounce:
            return may_renounce(s, me) && forget_all(me);
        case kind::acquire:
            return acquire(s, how.client, how.node);
        case kind::end:
            if (me.phase == phase::idle)
                return false;
            end(s, how.client);
            return true;
        }
        return false;
    }

    // Tidies up after a step. Returns the property that the step broke, or null.
    char const* settle(state const&, state& s, step const&) const
    {
        for (auto& n : s.nodes) {
            if (n.record == record::votes)
                n.age = 0;
            if (n.record != record::fresh && rules_.compares_words)
                n.verdict = false;
        }
        for (auto& c : s.clients) {
            if (rules_.looks_again && rules_.all_look_again && has_read_in_vain(s, c))
                c.knows = {};
        }
        auto const holds = [](client const& c) { return c.phase == phase::holding; };
        return std::ranges::count_if(s.clients, holds) > 1 ? "E: two clients hold the lock" : nullptr;
    }

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        bits(s.clients[c].phase, 2);
        bits(s.clients[c].left, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bits(node.record, 2);
        bits(node.age, 2);
        bits.name(node.owner, 2);
        bits(node.left, 2);
        bits(node.verdict, 1);
        for (unsigned i = 0; i < rules_.clients; ++i) {
            auto& c = s.clients[bits.attempt(i)];
            bits(c.consented[n], 1);
            bits(c.knows[n], 3);
        }
    }

    std::string tell(state const& s) const
    {
        return fmt::format("all is free, and the set {}; max_ttl is {} ticks",
                           s.nodes[0].record == record::fresh ? "is new" : "votes", rules_.ttl);
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        using kind = step::kind;
        auto const name = letter(how.client);
        auto const where = how.node + 1;
        auto const& node = before.nodes[how.node];
        switch (how.what) {
        case kind::tick:
            return "a tick passes";
        case kind::restart:
            return fmt::format("node {} restarts and has forgotten {}", where,
                               node.owner != 0 ? fmt::format("the key of {}", letter(node.owner - 1u)) : "everything");
        case kind::note:
            return fmt::format("a client tells node {} that its set is not new", where);
        case kind::receive:
            return fmt::format("node {} is founded", where);
        case kind::read:
            return fmt::format("{} reads the record of node {}: new", name, where);
        case kind::read_again:
            return fmt::format("{} reads the record of node {} again: still new", name, where);
        case kind::found:
            return fmt::format("{} founds the nodes", name);
        case kind::renounce:
            return fmt::format("{} begins anew, and forgets what it has read", name);
        case kind::acquire:
            return fmt::format("node {}{} carries out {}'s ACQ{}", where,
                               node.record == record::votes ? "" : " (without a vote)", name,
                               after.clients[how.client].phase == phase::holding
                                   ? fmt::format("; {} holds the lock", name)
                                   : std::string());
        case kind::end:
            return fmt::format("{} {}", name,
                               before.clients[how.client].phase == phase::asking ? "gives up" : "releases");
        }
        return {};
    }

private:
    static unsigned count_fresh(state const& s)
    {
        return static_cast<unsigned>(std::ranges::count_if(s.nodes, [](auto& n) { return n.record == record::fresh; }));
    }

    bool restart(state& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bool const others_are_fresh = count_fresh(s) == node_count - (node.record == record::fresh ? 0 : 1);
        if (rules_.spares_an_old_node && others_are_fresh)
            return false;
        bool const is_for_any = node.verdict && !rules_.compares_words;
        node = {.verdict = is_for_any};
        for (auto& c : s.clients) {
            auto& knows = c.knows[n];
            if (knows == reading::once)
                knows = reading::gone_after_once;
            else if (knows == reading::twice)
                knows = reading::gone_after_twice;
        }
        return true;
    }

    // Whether the client can only begin anew: a node that it has read once is not new any more.
    static bool has_read_in_vain(state const& s, client const& me)
    {
        for (unsigned n = 0; n < node_count; ++n) {
            bool const is_new = s.nodes[n].record == record::fresh;
            if (me.knows[n] == reading::gone_after_once || (me.knows[n] == reading::once && !is_new))
                return true;
        }
        return false;
    }

    // As long as all records that the client has read are there and new, it gains nothing if it begins anew.
    static bool may_renounce(state const& s, client const& me)
    {
        for (unsigned n = 0; n < node_count; ++n) {
            bool const is_new = s.nodes[n].record == record::fresh;
            bool const is_there = me.knows[n] == reading::once || me.knows[n] == reading::twice;
            if (me.knows[n] != reading::none && !(is_there && is_new))
                return true;
        }
        return false;
    }

    // The verdict is for the records that the client has read. It has no effect on a later record.
    bool found(state& s, client& me) const
    {
        auto const is_known = [&](reading r) {
            return rules_.looks_again ? r == reading::twice || r == reading::gone_after_twice : r != reading::none;
        };
        auto const known = static_cast<unsigned>(std::ranges::count_if(me.knows, is_known));
        if (known < (rules_.all_look_again ? node_count : majority))
            return false;
        for (unsigned n = 0; n < node_count; ++n) {
            bool const is_present = me.knows[n] == reading::once || me.knows[n] == reading::twice;
            if (is_known(me.knows[n]) && (is_present || !rules_.compares_words))
                s.nodes[n].verdict = true;
        }
        return forget_all(me);
    }

    static bool forget_all(client& me)
    {
        bool const has_read = std::ranges::any_of(me.knows, [](auto r) { return r != reading::none; });
        me.knows = {};
        return has_read;
    }

    bool acquire(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        auto& node = s.nodes[n];
        if (me.phase == phase::holding || node.owner != 0)
            return false;
        if (me.phase == phase::idle) {
            me.phase = phase::asking;
            me.left = static_cast<std::uint8_t>(rules_.ttl);
        }
        node.owner = static_cast<std::uint8_t>(c + 1);
        node.left = static_cast<std::uint8_t>(rules_.ttl);
        me.consented[n] = node.record == record::votes;
        if (std::ranges::count(me.consented, true) >= majority) {
            me.phase = phase::holding;
            me.consented = {};
        }
        return true;
    }

    static void end(state& s, unsigned c)
    {
        auto& me = s.clients[c];
        me.phase = phase::idle;
        me.left = 0;
        me.consented = {};
        for (auto& node : s.nodes) {
            if (node.owner == c + 1)
                node.owner = node.left = 0;
        }
    }

    void tick(state& s) const
    {
        for (auto& node : s.nodes) {
            node.left -= node.left > 0;
            if (node.left == 0)
                node.owner = 0;
        }
        for (unsigned n = 0; n < node_count; ++n) {
            auto& node = s.nodes[n];
            if (node.record == record::votes || ++node.age < rules_.ttl)
                continue;
            node.record = record::votes;
            for (auto& c : s.clients) {  // a client knows the age of a record that it has read
                if (c.knows[n] == reading::once)
                    c.knows = {};
            }
        }
        for (unsigned c = 0; c < rules_.clients; ++c) {
            auto& me = s.clients[c];
            me.left -= me.left > 0;
            if (me.phase != phase::idle && me.left == 0)
                end(s, c);
        }
    }

    founding_rules const rules_;
};

}  // namespace

std::vector<world> founding_worlds()
{
    worlds<founding, founding_rules> w;

    w.safe("founding", "clients found new nodes, which restart", {});
    w.safe("founding_ttl2", "ttl 2", {.ttl = 2});
    w.safe("founding_3_clients", "3 clients", {.clients = 3});

    w.control("founding_read_once", "a founder reads each record once", {.looks_again = false});
    w.control("founding_read_twice", "it reads a record twice before it has read all", {.looks_after_all = false});
    w.control("founding_majority", "a majority says again that it is new", {.all_look_again = false});
    w.control("founding_any_word", "\"founded\" counts for a later memory", {.compares_words = false});
    w.control("founding_power_cut", "all nodes lose their keys", {.spares_an_old_node = false});
    return w.all;
}

}  // namespace redlock::model
