#include "model/reader_tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace redlock::model {

namespace {

unsigned count(reader_tokens::attempt const& a, unsigned which)
{
    return static_cast<unsigned>(std::ranges::count_if(a.at, [&](auto at) { return (at & which) != 0; }));
}

// Of a reader: somebody has answered its number. Where there is no counter, 1 is the highest.
bool knows_highest(reader_tokens::attempt const& a)
{
    return count(a, reader_tokens::reached) > 0 || a.number == 1;
}

bool has_begun(reader_tokens::attempt const& a)
{
    return a.number != 0 || a.value != 0;
}

}  // namespace

reader_tokens::reader_tokens(reader_tokens_rules r)
    : rules_(r), attempts_(static_cast<unsigned>(r.attempts.size())), number_bits_(static_cast<unsigned>(std::bit_width(r.numbers))),
      shape_{.nodes = node_count,
             .attempts = attempts_,
             .node_bits = number_bits_ + 1 + 2 * attempts_,
             .attempt_bits = 2 + 3 * number_bits_}
{
    if (attempts_ > attempts_max || shape_.nodes * shape_.node_bits + shape_.attempts * shape_.attempt_bits > 128)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void reader_tokens::begin(Visit visit) const
{
    state s;
    for (unsigned a = 0; a < attempts_; ++a)
        s.attempts[a].writes = rules_.attempts[a] == 'w';
    visit(s);
}

template <class Visit>
void reader_tokens::steps(state const& s, Visit visit) const
{
    using kind = step::kind;
    auto const go = [&](step how) {
        for (how.forgets = false;; how.forgets = true) {
            auto next = s;
            if (carry_out(next, how)) {
                auto const* const wrong = settle(next, how);
                visit(how, next, wrong);
            }
            if (how.forgets)
                return;
        }
    };
    for (std::uint8_t a = 0; a < attempts_; ++a) {
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

// False if it cannot be sent, or if what comes of it does not matter.
bool reader_tokens::carry_out(state& s, step const& how) const
{
    if (how.forgets && !forget(s, how.node))
        return false;
    switch (how.what) {
    case step::kind::take:
        return take(s, how);
    case step::kind::increment:
        return increment(s, how);
    case step::kind::read:
    case step::kind::read_other:
        return read(s, how);
    case step::kind::write_back:
        return write_back(s, how);
    }
    return false;
}

// False if it cannot forget any more.
bool reader_tokens::forget(state& s, unsigned n) const
{
    auto& node = s.nodes[n];
    auto const others = static_cast<unsigned>(std::ranges::count(s.nodes, true, &node::forgot));
    if (node.counter == 0 || (!node.forgot && others >= rules_.forgetful))
        return false;
    node = {.forgot = true};
    return true;
}

bool reader_tokens::take(state& s, step const& how) const
{
    auto& me = s.attempts[how.attempt];
    auto& counter = s.nodes[how.node].counter;
    auto& at = me.at[how.node];
    if (counter >= how.number || at & taken || (me.number != 0 && me.number != how.number))
        return false;
    note_floor(s, how.attempt);
    me.number = counter = how.number;
    at |= taken;
    return true;
}

// The node was raised to the number just below.
bool reader_tokens::increment(state& s, step const& how) const
{
    auto& me = s.attempts[how.attempt];
    auto& counter = s.nodes[how.node].counter;
    auto& at = me.at[how.node];
    if (counter >= how.number || at & counted || (me.value != 0 && me.value != how.number))
        return false;
    note_floor(s, how.attempt);
    me.value = counter = how.number;
    at |= counted;
    return true;
}

// The node was raised to the reader's number, and answers it; or it answers what it has, which is another.
bool reader_tokens::read(state& s, step const& how) const
{
    auto& me = s.attempts[how.attempt];
    auto& counter = s.nodes[how.node].counter;
    auto& at = me.at[how.node];
    bool const is_it = how.what == step::kind::read;
    bool const fits = is_it ? counter <= how.number : rules_.reading == reading::lowest ? counter > how.number : counter < how.number;
    if (how.number == 0 || !fits || at & answered || (me.number != 0 && me.number != how.number))
        return false;
    note_floor(s, how.attempt);
    me.number = how.number;
    at |= answered;
    if (is_it) {
        counter = how.number;
        at |= reached;
    }
    if (rules_.reading == reading::exact && count(me, answered) >= rules_.quorum && knows_highest(me)) {
        for (auto& each : me.at)
            each |= answered;  // what else is answered does no more than what is written back
    }
    return true;
}

// The highest of a quorum of answers.
bool reader_tokens::write_back(state& s, step const& how) const
{
    auto& me = s.attempts[how.attempt];
    auto& counter = s.nodes[how.node].counter;
    bool const writes = rules_.reading == reading::exact || rules_.reading == reading::one_write;
    bool const is_there = (me.at[how.node] & reached) != 0 && rules_.reading == reading::exact;
    if (!writes || how.number != me.number || count(me, answered) < rules_.quorum || !knows_highest(me) || is_there)
        return false;
    counter = rules_.compares ? std::max(counter, me.number) : me.number;
    me.at[how.node] |= reached;
    return true;
}

void reader_tokens::note_floor(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    if (has_begun(me))
        return;
    for (auto const& other : s.attempts) {
        if (other.completed)
            me.floor = std::max(me.floor, other.number);
    }
}

// What the client believes to have after this step; 0: nothing yet.
std::uint8_t reader_tokens::number_of(attempt const& a, step const& how) const
{
    if (!a.writes) {
        bool const has_answers = count(a, answered) >= rules_.quorum && count(a, reached) > 0;
        bool const has_written = how.what == step::kind::write_back;
        bool const believes = rules_.reading == reading::exact       ? count(a, reached) >= rules_.quorum
                              : rules_.reading == reading::one_write ? has_answers && has_written
                                                                     : has_answers;
        return believes ? a.number : 0;
    }
    for (auto const number : {a.number, a.value}) {
        auto const which = (a.number == number ? taken : 0u) | (a.value == number ? counted : 0u);
        if (number != 0 && count(a, which) >= rules_.quorum)
            return number;
    }
    return 0;
}

// Completes the attempt if it has a number, and names the property that this breaks. Then only its number matters any more.
char const* reader_tokens::settle(state& s, step const& how) const
{
    auto& me = s.attempts[how.attempt];
    auto const mine = number_of(me, how);
    if (mine == 0)
        return nullptr;
    bool const writes = me.writes;
    auto const floor = me.floor;
    bool const unique = std::ranges::none_of(s.attempts, [&](auto& other) { return other.completed && other.writes && other.number == mine; });
    me = {.writes = writes, .completed = true, .number = mine};
    if (!writes)
        return mine >= floor ? nullptr : "F3: a reader's number is lower than one that was complete before it began";
    if (!unique)
        return "F1: two writers have completed with the same token";
    return mine > floor ? nullptr : "F2: a writer's token is not higher than what was complete before it began";
}

packed reader_tokens::pack(state const& s) const
{
    auto const own = [&](unsigned a) {
        auto const& me = s.attempts[a];
        auto const bits = (static_cast<std::uint64_t>(me.writes) << 1 | static_cast<unsigned>(me.completed)) << number_bits_ | me.number;
        return (bits << number_bits_ | me.value) << number_bits_ | me.floor;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        std::uint64_t bits = s.nodes[n].forgot;
        for (unsigned i = attempts_; i-- > 0;)
            bits = bits << 2 | s.attempts[order[i]].at[n];
        return bits << number_bits_ | s.nodes[n].counter;
    };
    return canonical(shape_, own, column);
}

reader_tokens::state reader_tokens::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned a = 0; a < attempts_; ++a) {
        auto& me = s.attempts[a];
        me.floor = pop(number_bits_);
        me.value = pop(number_bits_);
        me.number = pop(number_bits_);
        me.completed = pop(1) != 0;
        me.writes = pop(1) != 0;
    }
    for (unsigned n = 0; n < node_count; ++n) {
        s.nodes[n].counter = pop(number_bits_);
        for (unsigned a = 0; a < attempts_; ++a)
            s.attempts[a].at[n] = pop(2);
        s.nodes[n].forgot = pop(1) != 0;
    }
    return s;
}

std::string reader_tokens::tell(state const& s) const
{
    auto text = fmt::format("all counters are 0; a quorum is {} of {}", rules_.quorum, node_count);
    for (unsigned a = 0; a < attempts_; ++a)
        text += fmt::format("; {} {}", static_cast<char>('A' + a), s.attempts[a].writes ? "writes" : "reads");
    return text;
}

std::string reader_tokens::tell(state const& before, step const& how, state const& after) const
{
    auto const name = static_cast<char>('A' + how.attempt);
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
        text += fmt::format("{} writes {} back to node {}: it had {} and has {}", name, number, where, was_at, is_at);
        break;
    }
    if (is.completed)
        text += fmt::format("; {} has completed with {}", name, is.number);
    return text;
}

std::vector<world> reader_tokens_worlds()
{
    worlds<reader_tokens, reader_tokens_rules> w;

    w.safe("reader_tokens", "2 writers, 2 readers, 3 numbers", {.numbers = 3});
    w.safe("reader_tokens_7", "writer, reader, 7 numbers", {.attempts = "wr", .numbers = 7});
    w.safe("reader_tokens_wwr", "2 writers, reader", {.attempts = "wwr"});
    w.safe("reader_tokens_wrr", "writer, 2 readers", {.attempts = "wrr"});
    w.safe("reader_tokens_forget", "writer, reader, quorum 3 of 3, 2 nodes forget", {.attempts = "wr", .quorum = 3, .forgetful = 2});

    w.large("reader_tokens_4", "2 writers, 2 readers", {});
    w.large("reader_tokens_forget_3", "2 writers, reader, 3 numbers, quorum 3, 2 nodes forget",
            {.attempts = "wwr", .quorum = 3, .numbers = 3, .forgetful = 2});

    w.control("reader_tokens_highest", "the highest answer is not written back", {.reading = reading::highest});
    w.control("reader_tokens_lowest", "the lowest answer is the number", {.reading = reading::lowest});
    w.control("reader_tokens_one", "the highest answer is written to one node", {.reading = reading::one_write});
    w.control("reader_tokens_set", "what is written back overwrites higher counters", {.attempts = "wrr", .compares = false});
    w.control("reader_tokens_forgotten", "majority of 3, 1 node forgets", {.forgetful = 1});
    return w.all;
}

}  // namespace redlock::model
