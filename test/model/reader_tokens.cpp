// Model of readers' numbers between writers' tokens, without clocks and locks: do they keep the order?
#include "model/counters.hpp"
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

namespace {

/// When a reader believes that it has a number.
enum class reading : std::uint8_t {
    exact,      ///< correct: a quorum has answered this number, or was raised to it
    highest,    ///< the highest answer of a quorum is the number, and is not written back
    lowest,     ///< like `highest`, with the lowest answer
    one_write,  ///< the highest answer, written back to one node
};

/// The explored protocol, and the rule that is broken.
struct reader_tokens_rules {
    std::string_view attempts = "wwrr";  ///< writers and readers
    unsigned numbers = 4;                ///< the highest token or counter
    unsigned forgetful = 0;              ///< so many nodes may forget their counters, any number of times

    model::reading reading = model::reading::exact;
    bool compares = true;  ///< false: a number that is written back also overwrites a higher counter
};

/** Readers draw no tokens, because two readers would refuse each other at the resource. A reader's number is the value
    that a quorum of the writers' counters has.

    Writers do what @ref fencing describes: TAKE, and INCR if needed. A reader asks all nodes for their counters
    (`ZSCORE`). If a quorum answered the same number, that is its number. If not, the reader writes the highest answer
    of a quorum, at least 1, back to the nodes (`ZADD GT`). That is its number when a quorum has answered it, or has
    carried out the write.

    - F1: no two writers have the same token.
    - F2: a writer that begins after another writer or a reader has completed gets a higher token.
    - F3: a reader that begins after another reader or a writer has completed has no lower number.

    @ref fencing describes what the model allows beyond the protocol, and what need not be explored. For a reader this
    means:

    - *A reader begins* with the first answer that counts. It knows then which number it will have: an answer that does
      not fit is lost.
    - *Just before a node answers this number*, commands of failed attempts may have raised the node to it. If the node
      answers another number, it need not be raised before.
*/
class reader_tokens {
public:
    static constexpr unsigned node_count = 3, majority = 2;

    struct node {
        std::uint8_t counter = 0;
        bool forgot = false;
    };
    struct attempt {
        bool writes = false;
        bool completed = false;
        std::uint8_t number = 0;  ///< of a writer's TAKE, or of a reader; after completion, the result
        std::uint8_t value = 0;   ///< the answer to a writer's INCR
        std::uint8_t floor = 0;   ///< the highest number that was complete when it began
        std::array<std::uint8_t, node_count> at{};  ///< for each node, the answers that the client has
    };
    /// For a writer: the node has taken its number, or has answered its value. For a reader: the node has answered, and
    /// has reached its number.
    static constexpr std::uint8_t taken = 1, counted = 2, answered = 1, reached = 2;

    struct state {
        std::array<node, node_count> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        enum class kind : std::uint8_t { take, increment, read, read_other, write_back } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t number = 0;  ///< what a writer's node takes or answers; or the reader's number
        bool forgets = false;     ///< the node has just forgotten its counter
    };

    explicit reader_tokens(reader_tokens_rules r)
        : rules_(r), number_bits_(static_cast<unsigned>(std::bit_width(r.numbers)))
    {
    }

    unsigned nodes() const { return node_count; }
    unsigned attempts() const { return static_cast<unsigned>(rules_.attempts.size()); }

    void begin(auto visit) const
    {
        state s;
        for (unsigned a = 0; a < attempts(); ++a)
            s.attempts[a].writes = rules_.attempts[a] == 'w';
        visit(s);
    }

    void steps(state const& s, auto visit) const
    {
        using kind = step::kind;
        auto const go = [&](step how) {
            visit(how);
            how.forgets = true;
            visit(how);
        };
        for (std::uint8_t a = 0; a < attempts(); ++a) {
            auto const& me = s.attempts[a];
            for (std::uint8_t n = 0; n < node_count && !me.completed; ++n) {
                for (std::uint8_t number = 0; number <= rules_.numbers; ++number) {
                    if (me.writes) {
                        go({.what = kind::take, .attempt = a, .node = n, .number = number});
                        go({.what = kind::increment, .attempt = a, .node = n, .number = number});
                        continue;
                    }
                    go({.what = kind::read, .attempt = a, .node = n, .number = number});
                    go({.what = kind::read_other, .attempt = a, .node = n, .number = number});
                    go({.what = kind::write_back, .attempt = a, .node = n, .number = number});
                }
            }
        }
    }

    // Returns false if the command cannot be sent, or if its effect does not matter.
    bool carry_out(state& s, step const& how) const
    {
        if (how.forgets && !forget(s.nodes, how.node, rules_.forgetful))
            return false;
        switch (how.what) {
        case step::kind::take:
        case step::kind::increment:
            return draw(s, how);
        case step::kind::read:
        case step::kind::read_other:
            return read(s, how);
        case step::kind::write_back:
            return write_back(s, how);
        }
        return false;
    }

    // Completes the attempt if it has a number, and returns the property that this breaks. From then on, only its
    // number matters.
    char const* settle(state const&, state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        auto const mine = number_of(me, how);
        if (mine == 0)
            return nullptr;
        bool const writes = me.writes;
        auto const floor = me.floor;
        bool const unique = std::ranges::none_of(
            s.attempts, [&](auto& other) { return other.completed && other.writes && other.number == mine; });
        me = {.writes = writes, .completed = true, .number = mine};
        if (!writes)
            return mine >= floor ? nullptr
                                 : "F3: a reader's number is lower than one that was complete before it began";
        if (!unique)
            return "F1: two writers have completed with the same token";
        return mine > floor ? nullptr : "F2: a writer's token is not higher than what was complete before it began";
    }

    void attempt_fields(auto& bits, auto& s, unsigned a) const
    {
        auto& me = s.attempts[a];
        bits(me.floor, number_bits_);
        bits(me.value, number_bits_);
        bits(me.number, number_bits_);
        bits(me.completed, 1);
        bits(me.writes, 1);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        bits(s.nodes[n].counter, number_bits_);
        for (unsigned i = 0; i < attempts(); ++i)
            bits(s.attempts[bits.attempt(i)].at[n], 2);
        bits(s.nodes[n].forgot, 1);
    }

    std::string tell(state const& s) const
    {
        auto text = fmt::format("all counters are 0; a quorum is {} of {}", majority, node_count);
        for (unsigned a = 0; a < attempts(); ++a)
            text += fmt::format("; {} {}", letter(a), s.attempts[a].writes ? "writes" : "reads");
        return text;
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        auto const name = letter(how.attempt);
        auto const where = how.node + 1;
        auto const& was = before.attempts[how.attempt];
        auto const& is = after.attempts[how.attempt];
        unsigned was_at = before.nodes[how.node].counter;
        unsigned const is_at = after.nodes[how.node].counter, number = how.number;
        auto text = has_begun(was) ? std::string() : fmt::format("{} begins; ", name);
        if (how.forgets) {
            text += fmt::format("node {} forgets its counter, {}; ", where, was_at);
            was_at = 0;
        }
        auto const raised = number - (how.what == step::kind::increment ? 1 : 0);
        if ((how.what == step::kind::increment || how.what == step::kind::read) && raised > was_at)
            text += fmt::format("node {} is raised from {} to {}; ", where, was_at, raised);
        switch (how.what) {
        case step::kind::take:
            text += fmt::format("node {} takes {}'s {}: it had {}", where, name, number, was_at);
            break;
        case step::kind::increment:
            text += fmt::format("node {} counts on for {}: {}", where, name, is_at);
            break;
        case step::kind::read:
        case step::kind::read_other:
            text += fmt::format("node {} answers {}: {}", where, name, is_at);
            break;
        case step::kind::write_back:
            text +=
                fmt::format("{} writes {} back to node {}: it had {} and has {}", name, number, where, was_at, is_at);
            break;
        }
        if (is.completed)
            text += fmt::format("; {} has completed with {}", name, is.number);
        return text;
    }

private:
    // Carries out a writer's TAKE or INCR. Before an INCR, the node was raised to the number minus one.
    bool draw(state& s, step const& how) const
    {
        bool const takes = how.what == step::kind::take;
        auto& me = s.attempts[how.attempt];
        auto& mine = takes ? me.number : me.value;
        auto& counter = s.nodes[how.node].counter;
        auto& at = me.at[how.node];
        auto const done = takes ? taken : counted;
        if (counter >= how.number || at & done || (mine != 0 && mine != how.number))
            return false;
        note_floor(s.attempts, me);
        mine = counter = how.number;
        at |= done;
        return true;
    }

    // The node answers a reader: with the reader's number, to which it was raised before, or with another number.
    bool read(state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        auto& counter = s.nodes[how.node].counter;
        auto& at = me.at[how.node];
        bool const is_it = how.what == step::kind::read;
        bool const fits = is_it                               ? counter <= how.number
                          : rules_.reading == reading::lowest ? counter > how.number
                                                              : counter < how.number;
        if (how.number == 0 || !fits || at & answered || (me.number != 0 && me.number != how.number))
            return false;
        note_floor(s.attempts, me);
        me.number = how.number;
        at |= answered;
        if (is_it) {
            counter = how.number;
            at |= reached;
        }
        if (rules_.reading == reading::exact && count_answers(me, answered) >= majority && knows_highest(me)) {
            for (auto& each : me.at)
                each |= answered;  // further answers do no more than a write
        }
        return true;
    }

    // Writes back the highest answer of a quorum.
    bool write_back(state& s, step const& how) const
    {
        auto& me = s.attempts[how.attempt];
        auto& counter = s.nodes[how.node].counter;
        bool const writes = rules_.reading == reading::exact || rules_.reading == reading::one_write;
        bool const is_there = (me.at[how.node] & reached) != 0 && rules_.reading == reading::exact;
        if (!writes || how.number != me.number || count_answers(me, answered) < majority || !knows_highest(me)
            || is_there)
            return false;
        counter = rules_.compares ? std::max(counter, me.number) : me.number;
        me.at[how.node] |= reached;
        return true;
    }

    // For a reader: whether a node has answered its number. Without any counter, 1 is the highest number.
    static bool knows_highest(attempt const& a) { return count_answers(a, reached) > 0 || a.number == 1; }

    // The number that the client believes to have after this step; 0: none yet.
    std::uint8_t number_of(attempt const& a, step const& how) const
    {
        if (!a.writes) {
            bool const has_answers = count_answers(a, answered) >= majority && count_answers(a, reached) > 0;
            bool const has_written = how.what == step::kind::write_back;
            bool const believes = rules_.reading == reading::exact       ? count_answers(a, reached) >= majority
                                  : rules_.reading == reading::one_write ? has_answers && has_written
                                                                         : has_answers;
            return believes ? a.number : 0;
        }
        return decided(a, majority, taken, counted);
    }

    reader_tokens_rules const rules_;
    unsigned const number_bits_;
};

}  // namespace

std::vector<world> reader_tokens_worlds()
{
    worlds<reader_tokens, reader_tokens_rules> w;

    w.safe("reader_tokens", "2 writers, 2 readers, 3 numbers", {.numbers = 3});
    w.safe("reader_tokens_7", "writer, reader, 7 numbers", {.attempts = "wr", .numbers = 7});
    w.safe("reader_tokens_wwr", "2 writers, reader", {.attempts = "wwr"});
    w.safe("reader_tokens_wrr", "writer, 2 readers", {.attempts = "wrr"});

    w.large("reader_tokens_4", "2 writers, 2 readers", {});

    w.control("reader_tokens_highest", "the highest answer is not written back", {.reading = reading::highest});
    w.control("reader_tokens_lowest", "the lowest answer is the number", {.reading = reading::lowest});
    w.control("reader_tokens_one", "the highest answer is written to one node", {.reading = reading::one_write});
    w.control("reader_tokens_set", "what is written back overwrites higher counters",
              {.attempts = "wrr", .compares = false});
    w.control("reader_tokens_forgotten", "majority of 3, 1 node forgets", {.forgetful = 1});
    return w.all;
}

}  // namespace redlock::model
