// Model of the fencing protocol, without clocks and locks: are the tokens unique, and do they grow?
#include "model/counters.hpp"
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

/// When a client believes that it has a token.
enum class counting : std::uint8_t {
    exact,                ///< correct: a quorum took exactly this number for it
    granted,              ///< a quorum has carried out its TAKE, even if it did not take the number
    majority_of_granted,  ///< like `granted`, and a majority of these nodes took the number
    highest,              ///< a quorum has answered its INCR: the highest answer is the token
    lowest,               ///< like `highest`, with the lowest answer: the other nodes have passed it
};

/// The explored protocol, and the rule that is broken.
struct fencing_rules {
    unsigned nodes = 3;
    unsigned attempts = 2;
    unsigned quorum = 2;
    unsigned numbers = 4;    ///< the highest proposal, hint or counter
    unsigned forgetful = 0;  ///< so many nodes may forget their counters, any number of times
    bool resends = false;    ///< commands may be carried out several times; the last answer of a node counts

    bool compares = true;  ///< false: TAKE also overwrites a higher counter, and each change is answered with "taken"
    bool equal_is_taken = false;  ///< a TAKE that finds just this number counts, as if it had come before
    bool increments = true;       ///< false: the second trip raises the counters and reads them, without adding one
    bool ends = false;            ///< a counter that has reached `numbers` stays there, and INCR answers it again
    bool reproposes = false;      ///< a client goes on to a higher number, and counts nodes that took the lower one
    model::counting counting = counting::exact;
};

/** The protocol of the fencing tokens. Anything may happen to the counters, in any order.

    Each node has a counter. An attempt sends TAKE with a number of its own to all nodes. A node whose counter is lower
    sets it to this number and answers "taken" (`ZADD GT CH`). If a quorum took the number, it is the token.

    If not, the attempt sends RAISE with another number, to which a node raises its counter if that is lower
    (`ZADD GT`). It also sends INCR: the node adds one and answers its counter (`ZINCRBY`). If a quorum answered the
    same number, that is the token.

    - F1: no two completed attempts have the same token.
    - F2: an attempt that begins after another has completed gets a higher token.

    Both can break only when an attempt completes, so they are checked then.

    The model allows more than the protocol:

    - *There are no locks.* Nodes may grant anything at any time, so the answers of any nodes may count.
    - *Any command at any moment*: a node may carry out INCR before TAKE, or although the first trip succeeded. RAISE
      comes with any number, even one that nobody has sent.
    - *A quorum may be mixed*: some nodes took a number by TAKE, others answered it to INCR.

    Some behaviour need not be explored. Each step that it adds has a twin in the model that breaks the same property:

    - *A lost command* is never carried out: nothing waits for it. A TAKE that is not taken is the same.
    - *A command whose answer does not count* does no more to a counter than a RAISE. Such an answer is lost, late, or
      not the token in the end. Commands of attempts that give up, that have completed, or that came before all others,
      do no more either. Therefore counters begin at zero. If a command is sent again, at most one answer counts;
      `resends` explores this nevertheless.
    - *RAISE* is carried out only just before an INCR at the same node. Before a TAKE, it would change nothing: either
      the TAKE sets a higher number anyway, or it is not taken.
    - *A node forgets* just before its next command. Going back to an older counter is forgetting, then a RAISE.
    - *An attempt begins* with the first command whose answer counts: the later it begins, the more tokens must be lower
      than its own. It chooses its number when it needs the number.
    - *Answers arrive* at once: an attempt that completes earlier restricts more attempts.
*/
class fencing {
public:
    struct node {
        std::uint8_t counter = 0;
        bool forgot = false;
    };
    struct attempt {
        bool completed = false;
        std::uint8_t number = 0;  ///< the number of its TAKE, 0 before one was carried out; after completion, its token
        std::uint8_t value = 0;   ///< the answer to its INCR that counts; 0: none yet
        std::uint8_t floor = 0;   ///< the highest token that was complete when it began
        std::array<std::uint8_t, nodes_max> at{};  ///< for each node, the answers that the client has
    };
    static constexpr std::uint8_t granted = 1, taken = 2, answered = 4;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        enum class kind : std::uint8_t { take, increment } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t number = 0;
        bool forgets = false;  ///< the node has just forgotten its counter
    };

    explicit fencing(fencing_rules r) : rules_(r), number_bits_(static_cast<unsigned>(std::bit_width(r.numbers))) {}

    unsigned nodes() const { return rules_.nodes; }
    unsigned attempts() const { return rules_.attempts; }

    void begin(auto visit) const { visit(state{}); }

    void steps(state const&, auto visit) const
    {
        for (std::uint8_t a = 0; a < rules_.attempts; ++a) {
            for (std::uint8_t n = 0; n < rules_.nodes; ++n) {
                for (auto const what : {step::kind::take, step::kind::increment}) {
                    for (std::uint8_t number = 1; number <= rules_.numbers; ++number) {
                        for (bool const forgets : {false, true})
                            visit(step{what, a, n, number, forgets});
                    }
                }
            }
        }
    }

    bool carry_out(state& s, step const& how) const
    {
        if (how.forgets && !forget(s.nodes, how.node, rules_.forgetful))
            return false;
        return how.what == step::kind::take ? take(s, how.attempt, how.node, how.number)
                                            : increment(s, how.attempt, how.node, how.number);
    }

    // Completes the attempt if it has a token, and returns the property that this breaks. From then on, only its token
    // matters.
    char const* settle(state const&, state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        auto const mine = token(me);
        if (mine == 0)
            return nullptr;
        bool const unique = std::none_of(s.attempts.begin(), s.attempts.end(),
                                         [&](auto const& other) { return other.completed && other.number == mine; });
        bool const grows = mine > me.floor;
        me = {.completed = true, .number = mine};
        if (!unique)
            return "F1: two attempts have completed with the same token";
        return grows ? nullptr : "F2: an earlier attempt has completed with a token that is not lower";
    }

    void attempt_fields(auto& bits, auto& s, unsigned a) const
    {
        auto& me = s.attempts[a];
        bits(me.floor, number_bits_);
        bits(me.value, number_bits_);
        bits(me.number, number_bits_);
        bits(me.completed, 1);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        bits(s.nodes[n].counter, number_bits_);
        for (unsigned i = 0; i < rules_.attempts; ++i)
            bits(s.attempts[bits.attempt(i)].at[n], 3);
        bits(s.nodes[n].forgot, 1);
    }

    std::string tell(state const&) const
    {
        return fmt::format("all counters are 0; a quorum is {} of {}", rules_.quorum, rules_.nodes);
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        auto const name = letter(how.attempt);
        auto const where = how.node + 1;
        auto const& is = after.attempts[how.attempt];
        unsigned const number = how.number, is_at = after.nodes[how.node].counter;
        unsigned was_at = before.nodes[how.node].counter;
        std::string text;
        if (!has_begun(before.attempts[how.attempt]))
            text += fmt::format("{} begins; ", name);
        if (how.forgets) {
            text += fmt::format("node {} forgets its counter, {}; ", where, was_at);
            was_at = 0;
        }
        if (how.what == step::kind::take) {
            text += fmt::format("node {} carries out {}'s TAKE of {}: it had {} and has {}", where, name, number,
                                was_at, is_at);
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

private:
    // Returns false if the attempt cannot send the command, or if the command does nothing.
    bool take(state& s, unsigned a, unsigned n, std::uint8_t number) const
    {
        auto& me = s.attempts[a];
        auto& counter = s.nodes[n].counter;
        auto const mine = me.at[n];
        bool const may = me.number == 0 || number == me.number || (rules_.reproposes && number > me.number);
        if (me.completed || !may || (mine & (granted | taken) && !rules_.resends))
            return false;
        bool const takes = (rules_.compares ? counter < number : counter != number)
                           || (rules_.equal_is_taken && counter == number);
        bool const grant_counts = rules_.counting == counting::granted
                                  || rules_.counting == counting::majority_of_granted;
        auto const answer = static_cast<std::uint8_t>((grant_counts ? granted : 0) | (takes ? taken : 0));
        if (answer == 0 && !(mine & taken))
            return false;
        note_floor(s.attempts, me);
        me.number = number;
        me.at[n] = static_cast<std::uint8_t>((mine & answered) | answer);
        if (takes)
            counter = number;
        return true;
    }

    // The node was raised to the number minus one. Returns false if the number cannot be the answer, or if the answer
    // does not count.
    bool increment(state& s, unsigned a, unsigned n, std::uint8_t number) const
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
        note_floor(s.attempts, me);
        me.value = value;
        me.at[n] = static_cast<std::uint8_t>((mine & ~answered) | (counts ? answered : 0));
        counter = number;
        return true;
    }

    // The number that the client believes to be its token; 0: none yet.
    std::uint8_t token(attempt const& a) const
    {
        switch (rules_.counting) {
        case counting::exact:
            return decided(a, rules_.quorum, taken, answered);
        case counting::granted:
            return count_answers(a, granted) >= rules_.quorum ? a.number : 0;
        case counting::majority_of_granted:
            return count_answers(a, granted) >= rules_.quorum && count_answers(a, taken) > count_answers(a, granted) / 2
                       ? a.number
                       : 0;
        case counting::highest:
        case counting::lowest:
            return count_answers(a, answered) >= rules_.quorum ? a.value : 0;
        }
        return 0;
    }

    fencing_rules const rules_;
    unsigned const number_bits_;
};

}  // namespace

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
    w.safe("resent", "any command may be carried out again", {.numbers = 7, .resends = true});
    w.safe("resent_3", "3 attempts, any command again", {.attempts = 3, .numbers = 3, .resends = true});
    w.safe("resent_forget", "any command again, majority of 4, 1 node forgets",
           {.nodes = 4, .quorum = 3, .numbers = 3, .forgetful = 1, .resends = true});
    w.safe("forget_4q3_1", "majority of 4, 1 node forgets", {.nodes = 4, .quorum = 3, .forgetful = 1});

    w.large("fence_3x4_5", "3 nodes, 4 attempts, 5 numbers", {.attempts = 4, .numbers = 5});
    w.large("fence_5x3_4", "5 nodes, 3 attempts", {.nodes = 5, .attempts = 3, .quorum = 3});
    w.large("fence_5x4", "5 nodes, 4 attempts, 3 numbers", {.nodes = 5, .attempts = 4, .quorum = 3, .numbers = 3});

    w.control("no_quorum_of_takes", "a node that granted counts, even if it did not take",
              {.counting = counting::granted});
    w.control("equal_is_taken", "a node that has just this number counts as taken", {.equal_is_taken = true});
    w.control("counter_overwritten", "TAKE overwrites higher counters", {.compares = false});
    w.control("no_increment", "the second trip raises, and adds nothing", {.increments = false});
    w.control("highest_of_second", "the highest answer of the second trip is the token",
              {.counting = counting::highest});
    w.control("lowest_of_second", "the lowest answer of the second trip is the token", {.counting = counting::lowest});
    w.control("majority_of_granted_4", "4 nodes, a majority of those that granted suffices",
              {.nodes = 4, .quorum = 3, .counting = counting::majority_of_granted});
    w.control("majority_of_granted_5", "5 nodes, a majority of those that granted suffices",
              {.nodes = 5, .quorum = 3, .counting = counting::majority_of_granted});
    w.control("earlier_round_counts", "a node that took one number counts for the next", {.reproposes = true});
    w.control("counter_ends", "counters reach their end, and INCR adds nothing", {.ends = true});
    w.control("forget_3q2_1", "majority of 3, 1 node forgets", {.forgetful = 1});
    w.control("forget_4q3_2", "majority of 4, 2 nodes forget", {.nodes = 4, .quorum = 3, .forgetful = 2});
    return w.all;
}

}  // namespace redlock::model
