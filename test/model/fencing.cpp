#include "model/fencing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

namespace redlock::model {

char const* judge(fencing_rules const& r, std::uint8_t token, std::uint8_t floor, std::vector<std::uint8_t> const& others)
{
    if (r.collect) {
        r.collect->insert({token, floor, others.empty() ? std::uint8_t(0) : others.front()});
        return nullptr;
    }
    if (std::find(others.begin(), others.end(), token) != others.end())
        return "F1: two attempts have completed with the same token";
    return token <= floor ? "F2: an earlier attempt has completed with a token that is not lower" : nullptr;
}

fencing::fencing(fencing_rules r)
    : rules_(r), owner_bits_(std::bit_width(r.attempts)), at_bits_(r.resends ? 5 : 4),
      shape_{.nodes = r.nodes,
             .attempts = r.attempts,
             .node_bits = owner_bits_ + 4 + (r.forgetful > 0 ? 1 : 0) + at_bits_ * r.attempts,
             .attempt_bits = 2u + 4 + 4 + (r.hint_max > 0 ? 2 : 0)}
{
    auto const bits = shape_.nodes * shape_.node_bits + shape_.attempts * shape_.attempt_bits;
    auto const highest = std::max(r.counter_max, r.hint_max) + r.attempts * (r.resends ? 2 : 1);
    if (r.nodes > nodes_max || r.attempts > attempts_max || r.hint_max > 3 || bits > 128 || highest > 15)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void fencing::begin(Visit visit) const
{
    state s;
    // Counts through all counters and hints like an odometer.
    for (;;) {
        visit(s);
        unsigned i = 0;
        for (; i < rules_.nodes + rules_.attempts; ++i) {
            auto& wheel = i < rules_.nodes ? s.nodes[i].counter : s.attempts[i - rules_.nodes].hint;
            if (wheel < (i < rules_.nodes ? rules_.counter_max : rules_.hint_max)) {
                ++wheel;
                break;
            }
            wheel = 0;
        }
        if (i == rules_.nodes + rules_.attempts)
            return;
    }
}

template <class Visit>
void fencing::steps(state const& s, Visit visit) const
{
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            carry_out(s, a, n, visit);
            if (rules_.resends)
                carry_out_again(s, a, n, visit);
            raise(s, a, n, visit);
        }
        if (s.attempts[a].phase == phase::asking)
            decide(s, a, visit);
    }
}

bool fencing::begun(attempt const& a) const
{
    return a.phase != phase::asking || std::any_of(a.at.begin(), a.at.end(), [](auto at) { return at != 0; });
}

// What a node does with an ACQ when its key is free. False if it cannot forget any more.
bool fencing::acquire(state& s, unsigned a, unsigned n, bool forgets) const
{
    auto& node = s.nodes[n];
    if (forgets) {
        auto const others = std::count_if(s.nodes.begin(), s.nodes.end(), [](auto const& other) { return other.forgot != 0; });
        if (!node.forgot && others >= static_cast<int>(rules_.forgetful))
            return false;
        node.forgot = 1;
        node.counter = 0;
    }
    node.owner = static_cast<std::uint8_t>(a + 1);
    node.counter = std::max(static_cast<std::uint8_t>(node.counter + 1), s.attempts[a].hint);
    return true;
}

template <class Visit>
void fencing::carry_out(state const& s, unsigned a, unsigned n, Visit visit) const
{
    if (s.attempts[a].at[n] != 0)
        return;
    for (bool forgets : {false, true}) {
        if (forgets && rules_.forgetful == 0)
            return;
        auto next = s;
        auto& me = next.attempts[a];
        if (!begun(me)) {
            for (auto const& other : s.attempts) {
                if (other.phase == phase::completed)
                    me.floor = std::max(me.floor, other.token);
            }
        }
        if (!acquire(next, a, n, forgets))
            continue;
        me.at[n] = me.phase == phase::asking ? next.nodes[n].counter : outside;
        visit(step{.what = step::kind::acquire, .attempt = static_cast<std::uint8_t>(a), .node = static_cast<std::uint8_t>(n),
                   .forgets = forgets},
              next, nullptr);
    }
}

// The second ACQ either finds the key that the first has set, or sets it once more; and the client sees either answer.
template <class Visit>
void fencing::carry_out_again(state const& s, unsigned a, unsigned n, Visit visit) const
{
    auto const& before = s.attempts[a];
    if (before.at[n] == 0 || before.resent >> n & 1)
        return;
    for (bool vanished : {false, true}) {
        if (!vanished && s.nodes[n].owner != a + 1)
            continue;
        for (bool used : {false, true}) {
            if (used ? before.phase != phase::asking : !vanished)
                continue;
            auto next = s;
            auto& me = next.attempts[a];
            if (vanished)
                acquire(next, a, n, false);
            if (used)
                me.at[n] = next.nodes[n].counter;
            me.resent = static_cast<std::uint8_t>(me.resent | 1u << n);
            visit(step{.what = step::kind::resend, .attempt = static_cast<std::uint8_t>(a), .node = static_cast<std::uint8_t>(n),
                       .answer_used = used},
                  next, nullptr);
        }
    }
}

template <class Visit>
void fencing::decide(state const& s, unsigned a, Visit visit) const
{
    auto const& at = s.attempts[a].at;
    unsigned wins = 0;
    for (unsigned n = 0; n < rules_.nodes; ++n)
        wins |= static_cast<unsigned>(at[n] != 0) << n;
    for (unsigned in_hand = wins; in_hand != 0; in_hand = (in_hand - 1) & wins) {
        auto next = s;
        auto& me = next.attempts[a];
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            if (in_hand >> n & 1)
                me.token = std::max(me.token, at[n]);
        }
        auto const size = static_cast<unsigned>(std::popcount(in_hand));
        step how{.what = step::kind::decide, .attempt = static_cast<std::uint8_t>(a)};
        if (size < rules_.quorum) {
            me.phase = phase::given_up;
            for (auto& each : me.at)
                each = each != 0 ? outside : 0;
            how.what = step::kind::give_up;
            visit(how, next, nullptr);
            continue;
        }
        unsigned equal = 0;
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            if (in_hand >> n & 1)
                equal += at[n] == me.token;
            me.at[n] = in_hand >> n & 1 ? in_s : at[n] != 0 ? outside : 0;
        }
        me.phase = phase::raising;
        auto const enough = rules_.majority_of_wins ? size / 2 + 1 : rules_.quorum;
        char const* const wrong = equal >= enough || !rules_.writes_back ? complete(next, a) : nullptr;
        visit(how, next, wrong);
    }
}

template <class Visit>
void fencing::raise(state const& s, unsigned a, unsigned n, Visit visit) const
{
    auto const& before = s.attempts[a];
    auto const owned = s.nodes[n].owner == a + 1;
    auto const at = before.at[n];
    auto const acknowledges = before.phase == phase::raising && (at == in_s || (at == outside && rules_.strangers_acknowledge)) &&
                              (owned || !rules_.raise_compares_owner);
    auto const raises = before.phase != phase::asking && s.nodes[n].counter < before.token &&
                        (owned || !rules_.raise_compares_owner);
    auto const heals = before.phase == phase::completed && rules_.heals && !owned;
    if (!acknowledges && !raises && !heals)
        return;
    for (bool forgets : {false, true}) {
        if (forgets && (!heals || rules_.forgetful == 0))
            return;
        auto next = s;
        auto& me = next.attempts[a];
        auto& node = next.nodes[n];
        if (heals) {
            auto const counter = node.counter;
            if (!acquire(next, a, n, forgets))
                continue;
            if (!forgets)
                node.counter = counter;  // a renewal takes no number
        }
        node.counter = std::max(forgets ? std::uint8_t(0) : node.counter, me.token);
        char const* wrong = nullptr;
        if (acknowledges) {
            me.at[n] = acknowledged;
            auto const count = [&](auto what) { return static_cast<unsigned>(std::count(me.at.begin(), me.at.end(), what)); };
            auto const enough = rules_.majority_of_wins ? (count(in_s) + count(acknowledged)) / 2 + 1 : rules_.quorum;
            if (count(acknowledged) >= enough)
                wrong = complete(next, a);
        }
        visit(step{.what = step::kind::raise, .attempt = static_cast<std::uint8_t>(a), .node = static_cast<std::uint8_t>(n),
                   .forgets = forgets},
              next, wrong);
    }
}

// From now on it does not matter any more who won where.
char const* fencing::complete(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    std::vector<std::uint8_t> others;
    for (auto const& other : s.attempts) {
        if (other.phase == phase::completed)
            others.push_back(other.token);
    }
    auto const* const wrong = judge(rules_, me.token, me.floor, others);
    me.phase = phase::completed;
    me.floor = 0;
    for (auto& at : me.at)
        at = at != 0 ? outside : 0;
    return wrong;
}

packed fencing::pack(state const& s) const
{
    auto const own = [&](unsigned a) {
        auto const& me = s.attempts[a];
        auto bits = static_cast<std::uint64_t>(me.phase) << 8 | me.token << 4u | me.floor;
        return rules_.hint_max > 0 ? bits << 2 | me.hint : bits;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        std::uint64_t bits = 0;
        if (rules_.forgetful > 0)
            bits = node.forgot;
        std::uint64_t owner = 0;
        for (unsigned i = rules_.attempts; i-- > 0;) {
            auto const& a = s.attempts[order[i]];
            if (rules_.resends)
                bits = bits << 1 | (a.resent >> n & 1);
            bits = bits << 4 | a.at[n];
            if (node.owner == order[i] + 1)
                owner = i + 1;
        }
        return (bits << 4 | node.counter) << owner_bits_ | owner;
    };
    return canonical(shape_, own, column);
}

fencing::state fencing::unpack(packed p) const
{
    state s;
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        auto& me = s.attempts[a];
        if (rules_.hint_max > 0)
            me.hint = static_cast<std::uint8_t>(p.pop(2));
        me.floor = static_cast<std::uint8_t>(p.pop(4));
        me.token = static_cast<std::uint8_t>(p.pop(4));
        me.phase = static_cast<phase>(p.pop(2));
    }
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto& node = s.nodes[n];
        node.owner = static_cast<std::uint8_t>(p.pop(owner_bits_));
        node.counter = static_cast<std::uint8_t>(p.pop(4));
        for (unsigned a = 0; a < rules_.attempts; ++a) {
            auto& me = s.attempts[a];
            me.at[n] = static_cast<std::uint8_t>(p.pop(4));
            if (rules_.resends)
                me.resent = static_cast<std::uint8_t>(me.resent | p.pop(1) << n);
        }
        if (rules_.forgetful > 0)
            node.forgot = static_cast<std::uint8_t>(p.pop(1));
    }
    return s;
}

std::string fencing::tell(state const& s) const
{
    std::vector<unsigned> counters, hints;
    for (unsigned n = 0; n < rules_.nodes; ++n)
        counters.push_back(s.nodes[n].counter);
    for (unsigned a = 0; a < rules_.attempts; ++a)
        hints.push_back(s.attempts[a].hint);
    auto text = fmt::format("the counters of the nodes are {}", fmt::join(counters, ", "));
    return rules_.hint_max > 0 ? fmt::format("{}; the hints of the attempts are {}", text, fmt::join(hints, ", ")) : text;
}

std::string fencing::tell(state const& before, step const& how, state const& after) const
{
    auto const& was = before.attempts[how.attempt];
    auto const& is = after.attempts[how.attempt];
    auto const name = static_cast<char>('A' + how.attempt);
    auto const owner = before.nodes[how.node].owner;
    unsigned const counter = after.nodes[how.node].counter;
    std::string text;
    if (!begun(was))
        text += fmt::format("{} begins; ", name);
    if (how.forgets)
        text += fmt::format("node {} forgets everything; ", how.node + 1);
    auto const vanishes = how.what == step::kind::acquire ||
                          (how.what == step::kind::resend && counter != before.nodes[how.node].counter);
    if (vanishes && owner != 0 && !how.forgets)
        text += fmt::format("the key of {} vanishes from node {}; ", static_cast<char>('A' + owner - 1), how.node + 1);
    switch (how.what) {
    case step::kind::acquire:
        text += fmt::format("node {} carries out {}'s ACQ: {}", how.node + 1, name, counter);
        break;
    case step::kind::resend:
        text += fmt::format("node {} carries out {}'s ACQ a second time{}: {}, and this answer is {}", how.node + 1, name,
                            vanishes ? "" : " and finds the key that is there", counter,
                            how.answer_used ? "used" : "lost");
        break;
    case step::kind::give_up:
        text += fmt::format("{} gives up and releases with {}", name, is.token);
        break;
    case step::kind::decide: {
        std::vector<unsigned> s;
        for (unsigned n = 0; n < rules_.nodes; ++n) {
            if (is.at[n] == in_s)
                s.push_back(n + 1);
        }
        text += fmt::format("{} decides for {}", name, is.token);
        if (!s.empty())
            text += fmt::format(" with the wins of nodes {} and sends RAISE", fmt::join(s, ", "));
        break;
    }
    case step::kind::raise:
        text += fmt::format("node {} carries out {}'s RAISE: {}", how.node + 1, name, counter);
        if (owner != how.attempt + 1)
            text += owner == 0 ? ", and there is no key" : fmt::format(", and the key is {}'s", static_cast<char>('A' + owner - 1));
        else if (is.at[how.node] == acknowledged && was.at[how.node] == outside)
            text += fmt::format(", though its win is not among those that {} decided with", name);
        break;
    }
    if (is.phase == phase::completed && was.phase != phase::completed)
        text += fmt::format("; {} has completed with {}", name, is.token);
    return text;
}

namespace {

world make(std::string name, std::string about, bool safe, bool large, fencing_rules rules)
{
    return {.name = std::move(name),
            .about = std::move(about),
            .safe = safe,
            .large = large,
            .run = [rules](std::uint64_t states_max) { return explore_fencing(rules, states_max); }};
}

}  // namespace

report explore_fencing(fencing_rules const& rules, std::uint64_t states_max) { return explore(fencing(rules), states_max); }

std::vector<world> fencing_worlds()
{
    std::vector<world> all;
    auto const safe = [&](auto name, auto about, fencing_rules r) { all.push_back(make(name, about, true, false, r)); };
    auto const large = [&](auto name, auto about, fencing_rules r) { all.push_back(make(name, about, true, true, r)); };
    auto const control = [&](auto name, auto about, fencing_rules r) { all.push_back(make(name, about, false, false, r)); };

    safe("fence_3x2", "3 nodes, 2 attempts, any counters", {.counter_max = 3});
    safe("fence_3x2_hints", "3 nodes, 2 attempts, any hints", {.counter_max = 2, .hint_max = 3});
    safe("fence_3x2_heal", "renewals set missing keys again", {.counter_max = 3, .heals = true});
    safe("fence_3x3", "3 nodes, 3 attempts", {.attempts = 3});
    safe("fence_4x2", "4 nodes, 2 attempts", {.nodes = 4, .quorum = 3});
    safe("fence_5x2", "5 nodes, 2 attempts", {.nodes = 5, .quorum = 3});
    safe("forget_3q3_1", "quorum 3 of 3, 1 node forgets", {.quorum = 3, .forgetful = 1});
    safe("forget_3q3_2", "quorum 3 of 3, 2 nodes forget", {.quorum = 3, .forgetful = 2});

    safe("fence_3x3_any", "3 nodes, 3 attempts, any counters", {.attempts = 3, .counter_max = 2});
    safe("fence_3x3_heal", "3 nodes, 3 attempts, renewals set missing keys again", {.attempts = 3, .heals = true});
    large("fence_3x4", "3 nodes, 4 attempts", {.attempts = 4});
    safe("fence_5x2_any", "5 nodes, 2 attempts, any counters", {.nodes = 5, .quorum = 3, .counter_max = 2});
    large("fence_5x3", "5 nodes, 3 attempts", {.nodes = 5, .attempts = 3, .quorum = 3});
    safe("forget_3q3_2_x3", "quorum 3 of 3, 2 nodes forget, 3 attempts", {.attempts = 3, .quorum = 3, .forgetful = 2});
    safe("forget_5q4_2", "quorum 4 of 5, 2 nodes forget", {.nodes = 5, .quorum = 4, .forgetful = 2});

    control("no_write_back", "completes with the highest counter at once", {.writes_back = false});
    control("raise_any_owner", "RAISE does not compare the owner", {.raise_compares_owner = false});
    control("strangers_acknowledge", "acknowledgements count from nodes outside S", {.strangers_acknowledge = true});
    control("blind_resend", "an ACQ is sent again with the same value", {.resends = true});
    control("forget_3q2_1", "majority of 3, 1 node forgets", {.forgetful = 1});
    control("forget_3q3_3", "quorum 3 of 3, 3 nodes forget", {.quorum = 3, .forgetful = 3});
    control("forget_5q4_3", "quorum 4 of 5, 3 nodes forget", {.nodes = 5, .quorum = 4, .forgetful = 3});
    control("majority_of_wins_5", "5 nodes, a majority of S is enough", {.nodes = 5, .quorum = 3, .majority_of_wins = true});
    return all;
}

}  // namespace redlock::model
