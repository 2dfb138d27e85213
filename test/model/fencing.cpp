#include "model/fencing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace redlock::model {

fencing::fencing(fencing_rules r)
    : rules_(r), number_bits_(static_cast<unsigned>(std::bit_width(r.numbers))),
      shape_{.nodes = r.nodes,
             .attempts = r.attempts,
             .node_bits = number_bits_ + 1 + 3 * r.attempts,
             .attempt_bits = 1 + 3 * number_bits_}
{
    if (r.nodes > nodes_max || r.attempts > attempts_max || shape_.nodes * shape_.node_bits + shape_.attempts * shape_.attempt_bits > 128)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void fencing::begin(Visit visit) const
{
    visit(state{});
}

template <class Visit>
void fencing::steps(state const& s, Visit visit) const
{
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            for (auto what : {step::kind::take, step::kind::increment}) {
                step how{.what = what, .attempt = static_cast<std::uint8_t>(a), .node = static_cast<std::uint8_t>(n)};
                for (how.number = 1; how.number <= rules_.numbers; ++how.number) {
                    for (bool forgets : {false, true}) {
                        how.forgets = forgets;
                        auto next = s;
                        if (!carry_out(next, how))
                            continue;
                        auto const* const wrong = settle(next, a);
                        visit(how, next, wrong);
                    }
                }
            }
        }
    }
}

bool fencing::carry_out(state& s, step const& how) const
{
    if (how.forgets && !forget(s, how.node))
        return false;
    return how.what == step::kind::take ? take(s, how.attempt, how.node, how.number)
                                        : increment(s, how.attempt, how.node, how.number);
}

// False if it cannot forget any more.
bool fencing::forget(state& s, unsigned n) const
{
    auto& node = s.nodes[n];
    auto const others = std::count_if(s.nodes.begin(), s.nodes.end(), [](auto const& other) { return other.forgot != 0; });
    if (node.counter == 0 || (!node.forgot && others >= static_cast<int>(rules_.forgetful)))
        return false;
    node = {.forgot = 1};
    return true;
}

// False if the attempt cannot send it, or if it does nothing.
bool fencing::take(state& s, unsigned a, unsigned n, std::uint8_t number) const
{
    auto& me = s.attempts[a];
    auto& counter = s.nodes[n].counter;
    auto const mine = me.at[n];
    bool const may = me.number == 0 || number == me.number || (rules_.reproposes && number > me.number);
    if (me.completed || !may || (mine & (granted | taken) && !rules_.resends))
        return false;
    bool const takes = (rules_.compares ? counter < number : counter != number) || (rules_.equal_is_taken && counter == number);
    bool const grant_counts = rules_.counting == counting::granted || rules_.counting == counting::majority_of_granted;
    auto const answer = static_cast<std::uint8_t>((grant_counts ? granted : 0) | (takes ? taken : 0));
    if (answer == 0 && !(mine & taken))
        return false;
    note_floor(s, a);
    me.number = number;
    me.at[n] = static_cast<std::uint8_t>((mine & answered) | answer);
    if (takes)
        counter = number;
    return true;
}

// The node was raised to the number just below. False if the number cannot be the answer, or if this answer does not count.
bool fencing::increment(state& s, unsigned a, unsigned n, std::uint8_t number) const
{
    auto& me = s.attempts[a];
    auto& counter = s.nodes[n].counter;
    auto const mine = me.at[n];
    bool const stays = !rules_.increments || (rules_.ends && number == rules_.numbers);
    if (me.completed || number < counter || (number == counter && !stays) || (mine & answered && !rules_.resends))
        return false;
    auto value = me.value == 0 ? number : me.value;
    if (rules_.counting == counting::highest)
        value = std::max(value, number);
    else if (rules_.counting == counting::lowest)
        value = std::min(value, number);
    bool const counts = rules_.counting != counting::exact || number == value;
    if (!counts && !(mine & answered))
        return false;
    note_floor(s, a);
    me.value = value;
    me.at[n] = static_cast<std::uint8_t>((mine & ~answered) | (counts ? answered : 0));
    counter = number;
    return true;
}

bool fencing::begun(attempt const& a) const { return a.number != 0 || a.value != 0; }

void fencing::note_floor(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    if (begun(me))
        return;
    for (auto const& other : s.attempts) {
        if (other.completed)
            me.floor = std::max(me.floor, other.number);
    }
}

// What the client believes to be its token; 0: it has none yet.
std::uint8_t fencing::token(attempt const& a) const
{
    auto const count = [&](int which) {
        return static_cast<unsigned>(std::count_if(a.at.begin(), a.at.end(), [&](auto at) { return (at & which) != 0; }));
    };
    switch (rules_.counting) {
    case counting::exact:
        for (auto number : {a.number, a.value}) {
            auto const which = (a.number == number ? taken : 0) | (a.value == number ? answered : 0);
            if (number != 0 && count(which) >= rules_.quorum)
                return number;
        }
        return 0;
    case counting::granted:
        return count(granted) >= rules_.quorum ? a.number : 0;
    case counting::majority_of_granted:
        return count(granted) >= rules_.quorum && count(taken) > count(granted) / 2 ? a.number : 0;
    case counting::highest:
    case counting::lowest:
        return count(answered) >= rules_.quorum ? a.value : 0;
    }
    return 0;
}

// Completes the attempt if it has a token, and names the property that this breaks. Then only its token matters any more.
char const* fencing::settle(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    auto const mine = token(me);
    if (mine == 0)
        return nullptr;
    bool const unique = std::none_of(s.attempts.begin(), s.attempts.end(),
                                     [&](auto const& other) { return other.completed && other.number == mine; });
    bool const grows = mine > me.floor;
    me = {.completed = 1, .number = mine};
    if (!unique)
        return "F1: two attempts have completed with the same token";
    return grows ? nullptr : "F2: an earlier attempt has completed with a token that is not lower";
}

packed fencing::pack(state const& s) const
{
    auto const own = [&](unsigned a) {
        auto const& me = s.attempts[a];
        auto const bits = static_cast<std::uint64_t>(me.completed) << number_bits_ | me.number;
        return (bits << number_bits_ | me.value) << number_bits_ | me.floor;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        std::uint64_t bits = s.nodes[n].forgot;
        for (unsigned i = rules_.attempts; i-- > 0;)
            bits = bits << 3 | s.attempts[order[i]].at[n];
        return bits << number_bits_ | s.nodes[n].counter;
    };
    return canonical(shape_, own, column);
}

fencing::state fencing::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        auto& me = s.attempts[a];
        me.floor = pop(number_bits_);
        me.value = pop(number_bits_);
        me.number = pop(number_bits_);
        me.completed = pop(1);
    }
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto& node = s.nodes[n];
        node.counter = pop(number_bits_);
        for (unsigned a = 0; a < rules_.attempts; ++a)
            s.attempts[a].at[n] = pop(3);
        node.forgot = pop(1);
    }
    return s;
}

std::string fencing::tell(state const&) const
{
    return fmt::format("all counters are 0; a quorum is {} of {}", rules_.quorum, rules_.nodes);
}

std::string fencing::tell(state const& before, step const& how, state const& after) const
{
    auto const name = static_cast<char>('A' + how.attempt);
    auto const where = how.node + 1;
    auto const& is = after.attempts[how.attempt];
    unsigned const number = how.number, is_at = after.nodes[how.node].counter;
    unsigned was_at = before.nodes[how.node].counter;
    std::string text;
    if (!begun(before.attempts[how.attempt]))
        text += fmt::format("{} begins; ", name);
    if (how.forgets) {
        text += fmt::format("node {} forgets its counter, {}; ", where, was_at);
        was_at = 0;
    }
    if (how.what == step::kind::take) {
        text += fmt::format("node {} carries out {}'s TAKE of {}: it had {} and has {}", where, name, number, was_at, is_at);
    } else {
        auto const raised = number - (rules_.increments ? 1 : 0);
        if (raised > was_at)
            text += fmt::format("node {} is raised from {} to {}; ", where, was_at, raised);
        text += fmt::format("node {} carries out {}'s INCR: {}", where, name, is_at);
    }
    if (is.completed)
        text += fmt::format("; {} has completed with {}", name, is.number);
    return text;
}

std::vector<world> fencing_worlds()
{
    worlds<fencing, fencing_rules> w;

    w.safe("fence_3x2", "3 nodes, 2 attempts, 15 numbers", {.numbers = 15});
    w.safe("fence_3x3", "3 nodes, 3 attempts, 6 numbers", {.attempts = 3, .numbers = 6});
    w.safe("fence_3x4", "3 nodes, 4 attempts", {.attempts = 4});
    w.safe("fence_4x2", "4 nodes, 2 attempts, 7 numbers", {.nodes = 4, .quorum = 3, .numbers = 7});
    w.safe("fence_4x3", "4 nodes, 3 attempts, 3 numbers", {.nodes = 4, .attempts = 3, .quorum = 3, .numbers = 3});
    w.safe("fence_5x2", "5 nodes, 2 attempts, 7 numbers", {.nodes = 5, .quorum = 3, .numbers = 7});
    w.safe("fence_5x3", "5 nodes, 3 attempts, 3 numbers", {.nodes = 5, .attempts = 3, .quorum = 3, .numbers = 3});
    w.safe("resent", "any command is carried out again", {.numbers = 7, .resends = true});
    w.safe("resent_3", "3 attempts, any command is carried out again", {.attempts = 3, .numbers = 3, .resends = true});
    w.safe("resent_forget", "so it is, quorum 3 of 3, 1 node forgets",
         {.quorum = 3, .numbers = 3, .forgetful = 1, .resends = true});
    w.safe("forget_3q3_1", "quorum 3 of 3, 1 node forgets", {.quorum = 3, .forgetful = 1});
    w.safe("forget_3q3_2", "quorum 3 of 3, 2 nodes forget", {.quorum = 3, .forgetful = 2});
    w.safe("forget_4q3_1", "quorum 3 of 4, 1 node forgets", {.nodes = 4, .quorum = 3, .forgetful = 1});
    w.safe("forget_5q4_2", "quorum 4 of 5, 2 nodes forget, 3 numbers",
         {.nodes = 5, .quorum = 4, .numbers = 3, .forgetful = 2});

    w.large("fence_3x4_5", "3 nodes, 4 attempts, 5 numbers", {.attempts = 4, .numbers = 5});
    w.large("fence_5x3_4", "5 nodes, 3 attempts", {.nodes = 5, .attempts = 3, .quorum = 3});
    w.large("fence_5x4", "5 nodes, 4 attempts, 3 numbers", {.nodes = 5, .attempts = 4, .quorum = 3, .numbers = 3});
    w.large("forget_3q3_2_x3", "quorum 3 of 3, 2 nodes forget, 3 attempts", {.attempts = 3, .quorum = 3, .forgetful = 2});
    w.large("forget_5q4_2_4", "quorum 4 of 5, 2 nodes forget", {.nodes = 5, .quorum = 4, .forgetful = 2});

    w.control("no_quorum_of_takes", "who has granted counts, even if it did not take", {.counting = counting::granted});
    w.control("equal_is_taken", "a node that has just this number counts as taken", {.equal_is_taken = true});
    w.control("counter_overwritten", "TAKE overwrites higher counters", {.compares = false});
    w.control("no_increment", "the second trip raises, and adds nothing", {.increments = false});
    w.control("highest_of_second", "the highest answer of the second trip is the token", {.counting = counting::highest});
    w.control("lowest_of_second", "the lowest answer of the second trip is the token", {.counting = counting::lowest});
    w.control("majority_of_granted_4", "4 nodes, a majority of those that granted suffices",
            {.nodes = 4, .quorum = 3, .counting = counting::majority_of_granted});
    w.control("majority_of_granted_5", "5 nodes, a majority of those that granted suffices",
            {.nodes = 5, .quorum = 3, .counting = counting::majority_of_granted});
    w.control("earlier_round_counts", "who took one number counts for the next one", {.reproposes = true});
    w.control("counter_ends", "counters come to their end, and INCR adds nothing", {.ends = true});
    w.control("forget_3q2_1", "majority of 3, 1 node forgets", {.forgetful = 1});
    w.control("forget_3q3_3", "quorum 3 of 3, 3 nodes forget", {.quorum = 3, .forgetful = 3});
    w.control("forget_5q4_3", "quorum 4 of 5, 3 nodes forget", {.nodes = 5, .quorum = 4, .forgetful = 3});
    return w.all;
}

}  // namespace redlock::model
