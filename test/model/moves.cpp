// Model of fencing tokens while the set of nodes changes, without clocks and locks: are they unique, and do they grow?
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

/// When the operator reads the counters of the old set, and raises other counters to the highest of these.
enum class raising : std::uint8_t {
    late,   ///< after all clients have stopped naming the old set
    early,  ///< before a client names the new set
};

/// The explored procedure, and the rule that is broken.
struct moves_rules {
    /// The sets, one after the other; a bit for each node of a set.
    std::vector<unsigned> sets = {0b0111, 0b1111, 0b1110};
    unsigned attempts = 3;
    unsigned numbers = 3;  ///< the highest proposal or counter
    bool stops = false;    ///< all clients stop before the new set is named: no two sets are named at once

    raising when = raising::late;
    bool raises = true;          ///< false: no counter is raised
    bool raises_every = true;    ///< false: only those of nodes that are not in the old set
    bool reads_majority = true;  ///< false: one node of the old set is enough
};

/** The change of the set of nodes: attempts of clients name one set or the other, and an operator raises counters.

    An attempt names a set. It has completed with a number if a majority of that set took exactly this number for it. A
    node takes a number if its counter is lower. A node's answer in a second round is another number that it takes; @ref
    fencing explores both rounds.

    To change the set, clients name the new set one after the other, until no client names the old one. Attempts that
    have not completed by then are abandoned; their requests may still be carried out. While clients go on, the operator
    reads counters of the old set one at a time, and raises others one at a time.

    - M1: no two completed attempts have the same token, whichever sets they name.
    - M2: an attempt that begins after another has completed gets a higher token.
*/
class moves {
public:
    struct node {
        std::uint8_t sets = 0;  ///< a bit for each set that contains it
        std::uint8_t counter = 0;
        bool read = false, raised = false;  ///< by the operator, in this change
    };
    enum class phase : std::uint8_t { going_on, abandoned, completed };
    struct attempt {
        model::moves::phase phase{};
        std::uint8_t set = 0;     ///< the set that it names
        std::uint8_t number = 0;  ///< 0: it has not begun
        std::uint8_t floor = 0;   ///< the highest token that was complete when it began
        std::array<bool, nodes_max> taken{};
    };
    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
        std::uint8_t old_set = 0;  ///< the new set is the next one
        bool old_is_named = true;
        std::uint8_t highest = 0;  ///< the highest counter that the operator has read
    };
    struct step {
        enum class kind : std::uint8_t { take, leave, read, raise, next } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t set = 0;
        std::uint8_t number = 0;
    };

    explicit moves(moves_rules r)
        : rules_(std::move(r)), number_bits_(static_cast<unsigned>(std::bit_width(rules_.numbers)))
    {
        unsigned all = 0;
        for (auto const set : rules_.sets)
            all |= set;
        nodes_ = static_cast<unsigned>(std::bit_width(all));
    }

    unsigned nodes() const { return nodes_; }
    unsigned attempts() const { return rules_.attempts; }

    void begin(auto visit) const
    {
        state s;
        for (unsigned set = 0; set < rules_.sets.size(); ++set) {
            for (unsigned n = 0; n < nodes_; ++n)
                s.nodes[n].sets = static_cast<std::uint8_t>(s.nodes[n].sets | (rules_.sets[set] >> n & 1) << set);
        }
        visit(s);
    }

    void steps(state const& s, auto visit) const
    {
        using kind = step::kind;
        for (std::uint8_t n = 0; n < nodes_; ++n) {
            for (std::uint8_t a = 0; a < rules_.attempts; ++a) {
                auto const& me = s.attempts[a];
                for (std::uint8_t number = 1; number <= rules_.numbers; ++number) {
                    if (me.number == 0) {
                        for (auto set = s.old_set; set <= s.old_set + 1; ++set)
                            visit(step{kind::take, a, n, set, number});
                    } else if (me.number == number) {
                        visit(step{kind::take, a, n, me.set, number});
                    }
                }
            }
            visit(step{.what = kind::read, .node = n});
            visit(step{.what = kind::raise, .node = n});
        }
        visit(step{.what = kind::leave});
        visit(step{.what = kind::next});
    }

    bool carry_out(state& s, step const& how) const
    {
        switch (how.what) {
        case step::kind::take:
            return take(s, how);
        case step::kind::leave:
            return leave(s);
        case step::kind::read:
            return read(s, how.node);
        case step::kind::raise:
            return raise(s, how.node);
        case step::kind::next:
            return next(s);
        }
        return false;
    }

    // Completes the attempt if it has a token, and returns the property that this breaks. From then on, only its token
    // matters.
    char const* settle(state const&, state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        if (how.what != step::kind::take || me.phase != phase::going_on
            || std::ranges::count(me.taken, true) < majority(me.set))
            return nullptr;
        auto const has_mine = [&](attempt const& other) {
            return other.phase == phase::completed && other.number == me.number;
        };
        bool const unique = std::ranges::none_of(s.attempts, has_mine);
        bool const grows = me.number > me.floor;
        me = {.phase = phase::completed, .number = me.number};
        if (!unique)
            return "M1: two attempts have completed with the same token";
        return grows ? nullptr : "M2: an earlier attempt has completed with a token that is not lower";
    }

    void attempt_fields(auto& bits, auto& s, unsigned a) const
    {
        auto& me = s.attempts[a];
        bits(me.floor, number_bits_);
        bits(me.number, number_bits_);
        bits(me.set, set_bits);
        bits(me.phase, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        for (unsigned i = 0; i < rules_.attempts; ++i)
            bits(s.attempts[bits.attempt(i)].taken[n], 1);
        bits(node.raised, 1);
        bits(node.read, 1);
        bits(node.counter, number_bits_);
        bits(node.sets, static_cast<unsigned>(rules_.sets.size()));
    }

    void other_fields(auto& bits, auto& s) const
    {
        bits(s.old_is_named, 1);
        bits(s.old_set, set_bits);
        bits(s.highest, number_bits_);
    }

    std::string tell(state const& s) const
    {
        std::string text = "all counters are 0";
        for (unsigned set = 0; set < rules_.sets.size(); ++set) {
            text += fmt::format("; set {}:", set + 1);
            for (unsigned n = 0; n < nodes_; ++n) {
                if (is_in(s.nodes[n], set))
                    text += fmt::format(" {}", n + 1);
            }
        }
        return text;
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        unsigned const where = how.node + 1u, was = before.nodes[how.node].counter, is = after.nodes[how.node].counter;
        unsigned const old_set = before.old_set + 1u, highest = after.highest;
        switch (how.what) {
        case step::kind::leave:
            return fmt::format("nobody names set {} any more", old_set);
        case step::kind::read:
            return fmt::format("the operator reads node {}: {}; the highest is {}", where, is, highest);
        case step::kind::raise:
            return fmt::format("the operator raises node {} to {}: it had {} and has {}", where, highest, was, is);
        case step::kind::next:
            return fmt::format("set {} is to be named instead of set {}", old_set + 2, old_set + 1);
        case step::kind::take:
            break;
        }
        auto const name = letter(how.attempt);
        auto const& me = after.attempts[how.attempt];
        std::string text;
        if (before.attempts[how.attempt].number == 0)
            text = fmt::format("{} begins, and names set {}; ", name, how.set + 1);
        text += fmt::format("node {} takes {} for {}: it had {}", where, how.number, name, was);
        if (me.phase == phase::completed)
            text += fmt::format("; {} has completed with {}", name, me.number);
        return text;
    }

private:
    static constexpr unsigned set_bits = 2;

    static bool is_in(node const& n, unsigned set) { return (n.sets >> set & 1) != 0; }

    // Returns false if the attempt does not ask this node, or if the node does not take the number.
    bool take(state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        auto& node = s.nodes[how.node];
        if (me.phase == phase::completed || !is_in(node, how.set) || node.counter >= how.number)
            return false;
        if (me.number == 0) {
            if (!is_named(s, how.set))
                return false;
            me.set = how.set;
            me.number = how.number;
            for (auto const& other : s.attempts) {
                if (other.phase == phase::completed)
                    me.floor = std::max(me.floor, other.number);
            }
        }
        me.taken[how.node] = me.phase == phase::going_on;
        node.counter = how.number;
        return true;
    }

    bool leave(state& s) const
    {
        if (!s.old_is_named)
            return false;
        s.old_is_named = false;
        for (auto& a : s.attempts) {
            if (a.phase == phase::going_on && a.number != 0 && a.set == s.old_set)
                a = {.phase = phase::abandoned, .set = a.set, .number = a.number};
        }
        return true;
    }

    bool read(state& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bool const is_time = rules_.when == raising::early ? s.old_is_named : !s.old_is_named;
        bool const has_begun_to_raise = std::ranges::any_of(s.nodes, &node::raised);
        if (!rules_.raises || !is_time || !is_in(node, s.old_set) || node.read || has_begun_to_raise)
            return false;
        node.read = true;
        s.highest = std::max(s.highest, node.counter);
        return true;
    }

    bool raise(state& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        auto const needed = rules_.reads_majority ? majority(s.old_set) : 1;
        auto const has_read = std::ranges::count(s.nodes, true, &node::read);
        if (!is_to_be_raised(s, node) || node.raised || has_read < needed)
            return false;
        node.raised = true;
        node.counter = std::max(node.counter, s.highest);
        return true;
    }

    // Clients begin to change to the next set.
    bool next(state& s) const
    {
        if (s.old_is_named || !has_raised(s) || s.old_set + 2u >= rules_.sets.size())
            return false;
        ++s.old_set;
        s.old_is_named = true;
        s.highest = 0;
        for (auto& n : s.nodes)
            n.read = n.raised = false;
        return true;
    }

    unsigned majority(unsigned set) const { return static_cast<unsigned>(std::popcount(rules_.sets[set])) / 2 + 1; }

    bool is_named(state const& s, unsigned set) const
    {
        if (set == s.old_set)
            return s.old_is_named;
        bool const waits_for_raising = rules_.stops || rules_.when == raising::early;
        return !(rules_.stops && s.old_is_named) && !(waits_for_raising && !has_raised(s));
    }

    bool is_to_be_raised(state const& s, node const& n) const
    {
        return rules_.raises && is_in(n, s.old_set + 1u) && (rules_.raises_every || !is_in(n, s.old_set));
    }

    bool has_raised(state const& s) const
    {
        return std::ranges::all_of(s.nodes, [&](auto const& n) { return n.raised || !is_to_be_raised(s, n); });
    }

    moves_rules const rules_;
    unsigned const number_bits_;
    unsigned nodes_ = 0;
};

}  // namespace

std::vector<world> moves_worlds()
{
    worlds<moves, moves_rules> w;

    w.safe("move_3_4_3", "a node is added, then one is removed", {});
    w.safe("move_4_3_4", "a node is removed, then one is added", {.sets = {0b01111, 0b01110, 0b11110}, .attempts = 2});
    w.safe("move_stopped_5_3", "all clients stop, 5 nodes become 3 of these",
           {.sets = {0b11111, 0b00111}, .stops = true});
    w.safe("move_stopped_3_3", "all clients stop, 2 of 3 nodes are replaced",
           {.sets = {0b00111, 0b11100}, .stops = true});

    w.control("move_raised_early", "only the new node is raised, before it is named",
              {.attempts = 2, .when = raising::early, .raises_every = false});
    w.control("move_not_raised", "no counter is raised", {.attempts = 2, .raises = false});
    w.control("move_one_read", "one node of the old set is read", {.attempts = 2, .reads_majority = false});
    w.control("move_two", "two nodes at a time, clients go on", {.sets = {0b0111, 0b1110}, .attempts = 2});
    w.control("move_stopped_new_raised", "all clients stop, only new nodes are raised",
              {.sets = {0b11111, 0b00111}, .attempts = 2, .stops = true, .raises_every = false});
    w.control("move_stopped_early", "counters are raised, then all clients stop",
              {.sets = {0b11111, 0b00111}, .attempts = 2, .stops = true, .when = raising::early});
    return w.all;
}

}  // namespace redlock::model
