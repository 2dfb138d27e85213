#include "model/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

namespace redlock::model {

namespace {

constexpr unsigned set_bits = 2;

bool is_in(moves::node const& n, unsigned set)
{
    return (n.sets >> set & 1) != 0;
}

unsigned nodes_of(moves_rules const& r)
{
    unsigned all = 0;
    for (auto const set : r.sets)
        all |= set;
    return static_cast<unsigned>(std::bit_width(all));
}

}  // namespace

moves::moves(moves_rules r)
    : rules_(std::move(r)),
      number_bits_(static_cast<unsigned>(std::bit_width(rules_.numbers))),
      shape_{.nodes = nodes_of(rules_),
             .attempts = rules_.attempts,
             .node_bits = static_cast<unsigned>(rules_.sets.size()) + number_bits_ + 2 + rules_.attempts,
             .attempt_bits = 2 + set_bits + 2 * number_bits_}
{
    auto const bits = shape_.nodes * shape_.node_bits + shape_.attempts * shape_.attempt_bits;
    if (shape_.nodes > nodes_max || shape_.attempts > attempts_max || bits + set_bits + 1 + number_bits_ > 128)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void moves::begin(Visit visit) const
{
    state s;
    for (unsigned set = 0; set < rules_.sets.size(); ++set) {
        for (unsigned n = 0; n < shape_.nodes; ++n)
            s.nodes[n].sets = static_cast<std::uint8_t>(s.nodes[n].sets | (rules_.sets[set] >> n & 1) << set);
    }
    visit(s);
}

template <class Visit>
void moves::steps(state const& s, Visit visit) const
{
    auto const attempt = [&](step const& how) {
        auto after = s;
        if (!carry_out(after, how))
            return;
        auto const* const wrong = how.what == step::kind::take ? settle(after, how.attempt) : nullptr;
        visit(how, after, wrong);
    };
    for (std::uint8_t n = 0; n < shape_.nodes; ++n) {
        for (std::uint8_t a = 0; a < rules_.attempts; ++a) {
            auto const& me = s.attempts[a];
            for (std::uint8_t number = 1; number <= rules_.numbers; ++number) {
                if (me.number == 0) {
                    for (auto set = s.old_set; set <= s.old_set + 1; ++set)
                        attempt({step::kind::take, a, n, set, number});
                } else if (me.number == number) {
                    attempt({step::kind::take, a, n, me.set, number});
                }
            }
        }
        attempt({.what = step::kind::read, .node = n});
        attempt({.what = step::kind::raise, .node = n});
    }
    attempt({.what = step::kind::leave});
    attempt({.what = step::kind::next});
}

bool moves::carry_out(state& s, step const& how) const
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

// False if the attempt does not ask this node, or if the node does not take the number.
bool moves::take(state& s, step const& how) const
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

bool moves::leave(state& s) const
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

bool moves::read(state& s, unsigned n) const
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

bool moves::raise(state& s, unsigned n) const
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

// The set behind the new one is to be named.
bool moves::next(state& s) const
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

unsigned moves::majority(unsigned set) const
{
    return static_cast<unsigned>(std::popcount(rules_.sets[set])) / 2 + 1;
}

bool moves::is_named(state const& s, unsigned set) const
{
    if (set == s.old_set)
        return s.old_is_named;
    bool const waits_for_raising = rules_.stops || rules_.when == raising::early;
    return !(rules_.stops && s.old_is_named) && !(waits_for_raising && !has_raised(s));
}

bool moves::is_to_be_raised(state const& s, node const& n) const
{
    return rules_.raises && is_in(n, s.old_set + 1u) && (rules_.raises_every || !is_in(n, s.old_set));
}

bool moves::has_raised(state const& s) const
{
    return std::ranges::all_of(s.nodes, [&](auto const& n) { return n.raised || !is_to_be_raised(s, n); });
}

// Completes the attempt if it has a token, and names the property that this breaks. Only its token matters from then on.
char const* moves::settle(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    if (me.phase != phase::going_on || std::ranges::count(me.taken, true) < majority(me.set))
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

packed moves::pack(state const& s) const
{
    auto const own = [&](unsigned a) {
        auto const& me = s.attempts[a];
        auto bits = static_cast<std::uint64_t>(me.phase) << set_bits | me.set;
        bits = bits << number_bits_ | me.number;
        return bits << number_bits_ | me.floor;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        auto bits = static_cast<std::uint64_t>(node.sets) << number_bits_ | node.counter;
        bits = bits << 2 | static_cast<std::uint64_t>(node.read) << 1 | static_cast<std::uint64_t>(node.raised);
        for (unsigned i = rules_.attempts; i-- > 0;)
            bits = bits << 1 | static_cast<std::uint64_t>(s.attempts[order[i]].taken[n]);
        return bits;
    };
    auto p = canonical(shape_, own, column);
    p.push(number_bits_, s.highest);
    p.push(set_bits, s.old_set);
    p.push(1, s.old_is_named);
    return p;
}

moves::state moves::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    s.old_is_named = pop(1) != 0;
    s.old_set = pop(set_bits);
    s.highest = pop(number_bits_);
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        auto& me = s.attempts[a];
        me.floor = pop(number_bits_);
        me.number = pop(number_bits_);
        me.set = pop(set_bits);
        me.phase = static_cast<phase>(pop(2));
    }
    for (unsigned n = 0; n < shape_.nodes; ++n) {
        auto& node = s.nodes[n];
        for (unsigned a = 0; a < rules_.attempts; ++a)
            s.attempts[a].taken[n] = pop(1) != 0;
        node.raised = pop(1) != 0;
        node.read = pop(1) != 0;
        node.counter = pop(number_bits_);
        node.sets = pop(static_cast<unsigned>(rules_.sets.size()));
    }
    return s;
}

std::string moves::tell(state const& s) const
{
    std::string text = "all counters are 0";
    for (unsigned set = 0; set < rules_.sets.size(); ++set) {
        text += fmt::format("; set {}:", set + 1);
        for (unsigned n = 0; n < shape_.nodes; ++n) {
            if (is_in(s.nodes[n], set))
                text += fmt::format(" {}", n + 1);
        }
    }
    return text;
}

std::string moves::tell(state const& before, step const& how, state const& after) const
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
    auto const name = static_cast<char>('A' + how.attempt);
    auto const& me = after.attempts[how.attempt];
    std::string text;
    if (before.attempts[how.attempt].number == 0)
        text = fmt::format("{} begins, and names set {}; ", name, how.set + 1);
    text += fmt::format("node {} takes {} for {}: it had {}", where, how.number, name, was);
    if (me.phase == phase::completed)
        text += fmt::format("; {} has completed with {}", name, me.number);
    return text;
}

std::vector<world> moves_worlds()
{
    worlds<moves, moves_rules> w;

    w.safe("move_3_4_3", "a node is added, then one is taken away", {});
    w.safe("move_4_3_4", "a node is taken away, then one is added",
           {.sets = {0b01111, 0b01110, 0b11110}, .attempts = 2});
    w.safe("move_stopped_5_3", "all clients stop, 5 nodes become 3 of these",
           {.sets = {0b11111, 0b00111}, .stops = true});
    w.safe("move_stopped_3_3", "all clients stop, 3 nodes become 3 others but for one",
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
