#include "model/plain_fencing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace redlock::model {

plain_fencing::plain_fencing(fencing_rules r, bool to_the_end)
    : rules_(r), to_the_end_(to_the_end),
      shape_{.nodes = r.nodes, .attempts = r.attempts, .node_bits = 7 + 9 * r.attempts, .attempt_bits = 14}
{
    if (r.attempts > 3 || r.counter_max + r.attempts > 7 || r.nodes * shape_.node_bits + r.attempts * shape_.attempt_bits > 128)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void plain_fencing::begin(Visit visit) const
{
    state s;
    for (;;) {
        visit(s);
        unsigned n = 0;
        for (; n < rules_.nodes; s.nodes[n++].counter = 0) {
            if (s.nodes[n].counter < rules_.counter_max) {
                ++s.nodes[n].counter;
                break;
            }
        }
        if (n == rules_.nodes)
            return;
    }
}

template <class Visit>
void plain_fencing::steps(state const& s, Visit visit) const
{
    auto const go = [&](step how, auto change) {
        auto next = s;
        char const* const wrong = change(next);
        visit(how, next, wrong);
    };
    auto const forgetful = std::count_if(s.nodes.begin(), s.nodes.end(), [](auto const& n) { return n.forgot != 0; });
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto const node = static_cast<std::uint8_t>(n);
        if (s.nodes[n].owner != 0)
            go({.what = "the key vanishes", .attempt = attempts_max, .node = node}, [&](state& next) -> char const* {
                next.nodes[n].owner = 0;
                return nullptr;
            });
        if (s.nodes[n].forgot || forgetful < static_cast<int>(rules_.forgetful))
            go({.what = "forgets everything", .attempt = attempts_max, .node = node}, [&](state& next) -> char const* {
                next.nodes[n] = {.forgot = 1};
                return nullptr;
            });
    }
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        client_steps(s, a, go);
        for (unsigned n = 0; n < rules_.nodes && s.attempts[a].phase != phase::waiting; ++n)
            node_steps(s, a, n, go);
    }
}

// What a client does, or learns.
template <class Go>
void plain_fencing::client_steps(state const& s, unsigned a, Go go) const
{
    auto const& now = s.attempts[a];
    auto const step_of = [&](char const* what) { return step{.what = what, .attempt = static_cast<std::uint8_t>(a)}; };
    if (now.phase == phase::waiting)
        go(step_of("begins"), [&](state& next) -> char const* {
            auto& me = next.attempts[a];
            me.phase = phase::asking;
            for (auto const& other : s.attempts) {
                if (other.phase == phase::completed)
                    me.floor = std::max(me.floor, other.token);
            }
            return nullptr;
        });
    unsigned wins = 0, equal = 0, acknowledgements = 0;
    std::uint8_t highest = 0;
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        if (now.acq[n] >= in_hand && now.acq[n] != denied)
            highest = std::max<std::uint8_t>(highest, now.acq[n] - in_hand);
        acknowledgements += now.raise[n] == 2 && (now.in_s[n] || rules_.strangers_acknowledge);
    }
    for (auto const answer : now.acq) {
        wins += answer >= in_hand && answer != denied;
        equal += highest > 0 && answer == highest + in_hand;
    }
    if (now.phase == phase::asking && wins >= rules_.quorum)
        go(step_of("decides"), [&](state& next) -> char const* {
            auto& me = next.attempts[a];
            me.token = highest;
            for (unsigned n = 0; n < rules_.nodes; ++n)
                me.in_s[n] = me.acq[n] >= in_hand && me.acq[n] != denied;
            if (!rules_.writes_back || equal >= (rules_.majority_of_wins ? wins / 2 + 1 : rules_.quorum))
                return complete(next, a);
            me.phase = phase::raising;
            me.sent |= raising;
            return nullptr;
        });
    auto const in_s = static_cast<unsigned>(std::count(now.in_s.begin(), now.in_s.end(), 1));
    if (now.phase == phase::raising && acknowledgements >= (rules_.majority_of_wins ? in_s / 2 + 1 : rules_.quorum))
        go(step_of("has enough acknowledgements"), [&](state& next) { return complete(next, a); });
    if (to_the_end_ && (now.phase == phase::asking || now.phase == phase::raising))
        go(step_of("gives up"), [&](state& next) -> char const* {
            auto& me = next.attempts[a];
            if (me.phase == phase::asking)
                me.token = highest;
            me.phase = phase::given_up;
            return nullptr;
        });
    for (auto const message : {release, extend}) {
        bool const may = message == extend ? now.phase == phase::completed
                                           : to_the_end_ && (now.phase == phase::completed || now.phase == phase::given_up);
        if (may && !(now.sent & message))
            go(step_of(message == release ? "sends RELEASE" : "sends an extension"), [&](state& next) -> char const* {
                next.attempts[a].sent |= message;
                return nullptr;
            });
    }
}

// What happens to the messages between a client and a node.
template <class Go>
void plain_fencing::node_steps(state const& s, unsigned a, unsigned n, Go go) const
{
    auto const& now = s.attempts[a];
    auto const step_of = [&](char const* what) {
        return step{.what = what, .attempt = static_cast<std::uint8_t>(a), .node = static_cast<std::uint8_t>(n)};
    };
    bool const owned = s.nodes[n].owner == a + 1;
    if (now.acq[n] == 0)
        go(step_of("ACQ is carried out"), [&](state& next) -> char const* {
            auto& node = next.nodes[n];
            next.attempts[a].acq[n] = denied;
            if (node.owner == 0) {
                node.owner = static_cast<std::uint8_t>(a + 1);
                next.attempts[a].acq[n] = ++node.counter;
            }
            return nullptr;
        });
    else if (now.acq[n] < in_hand)
        go(step_of("the answer arrives"), [&](state& next) -> char const* {
            next.attempts[a].acq[n] |= in_hand;
            return nullptr;
        });
    auto const raise_to_token = [&](state& next) { next.nodes[n].counter = std::max(next.nodes[n].counter, now.token); };
    if (now.sent & raising && now.raise[n] == 0)
        go(step_of("RAISE is carried out"), [&](state& next) -> char const* {
            bool const obeys = owned || !rules_.raise_compares_owner;
            next.attempts[a].raise[n] = obeys ? 1 : 3;
            if (obeys)
                raise_to_token(next);
            return nullptr;
        });
    if (now.raise[n] == 1)
        go(step_of("the acknowledgement arrives"), [&](state& next) -> char const* {
            next.attempts[a].raise[n] = 2;
            return nullptr;
        });
    for (auto const message : {release, extend}) {
        if (!(now.sent & message) || now.done[n] & message)
            continue;
        auto const* const what = message == release ? "RELEASE is carried out" : "the extension is carried out";
        go(step_of(what), [&](state& next) -> char const* {
            next.attempts[a].done[n] |= message;
            if (owned || (message == extend && !rules_.raise_compares_owner))
                raise_to_token(next);
            if (owned && message == release)
                next.nodes[n].owner = 0;
            return nullptr;
        });
    }
}

char const* plain_fencing::complete(state& s, unsigned a) const
{
    auto& me = s.attempts[a];
    std::vector<std::uint8_t> others;
    for (auto const& other : s.attempts) {
        if (other.phase == phase::completed)
            others.push_back(other.token);
    }
    auto const* const wrong = judge(rules_, me.token, me.floor, others);
    me.phase = phase::completed;
    return wrong;
}

packed plain_fencing::pack(state const& s) const
{
    auto const own = [&](unsigned a) {
        auto const& me = s.attempts[a];
        return ((static_cast<std::uint64_t>(me.phase) << 4 | me.token) << 4 | me.floor) << 3 | me.sent;
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        std::uint64_t bits = 0, owner = 0;
        for (unsigned i = rules_.attempts; i-- > 0;) {
            auto const& a = s.attempts[order[i]];
            bits = (((bits << 4 | a.acq[n]) << 1 | a.in_s[n]) << 2 | a.raise[n]) << 2 | a.done[n];
            if (node.owner == order[i] + 1)
                owner = i + 1;
        }
        return ((bits << 2 | owner) << 4 | node.counter) << 1 | node.forgot;
    };
    return canonical(shape_, own, column);
}

plain_fencing::state plain_fencing::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned a = 0; a < rules_.attempts; ++a) {
        auto& me = s.attempts[a];
        me.sent = pop(3);
        me.floor = pop(4);
        me.token = pop(4);
        me.phase = static_cast<phase>(pop(3));
    }
    for (unsigned n = 0; n < rules_.nodes; ++n) {
        auto& node = s.nodes[n];
        node.forgot = pop(1);
        node.counter = pop(4);
        node.owner = pop(2);
        for (unsigned a = 0; a < rules_.attempts; ++a) {
            auto& me = s.attempts[a];
            me.done[n] = pop(2);
            me.raise[n] = pop(2);
            me.in_s[n] = pop(1);
            me.acq[n] = pop(4);
        }
    }
    return s;
}

std::string plain_fencing::tell(state const& s) const
{
    std::string text = "the counters of the nodes are";
    for (unsigned n = 0; n < rules_.nodes; ++n)
        text += fmt::format(" {}", s.nodes[n].counter);
    return text;
}

std::string plain_fencing::tell(state const&, step const& how, state const& after) const
{
    if (how.attempt == attempts_max)
        return fmt::format("node {}: {}", how.node + 1, how.what);
    auto const name = static_cast<char>('A' + how.attempt);
    auto const& me = after.attempts[how.attempt];
    if (how.node == nodes_max)
        return fmt::format("{} {}{}", name, how.what, me.phase == phase::completed ? fmt::format(": {}", me.token) : "");
    return fmt::format("node {}, {}: {}; the counter is {}", how.node + 1, name, how.what, after.nodes[how.node].counter);
}

namespace {

// Who waits longer before it begins, or completes sooner, is bound by more: with a floor, the same is possible without.
outcomes with_weaker(outcomes const& all)
{
    auto weaker = all;
    for (auto const& [token, floor, other] : all)
        weaker.insert({token, 0, other});
    return weaker;
}

report compare(fencing_rules rules, bool to_the_end, std::uint64_t states_max)
{
    outcomes of_all, of_few;
    rules.collect = &of_few;
    auto const few = explore_fencing(rules, states_max);
    rules.collect = &of_all;
    auto all = explore(plain_fencing(rules, to_the_end), states_max);
    all.complete = all.complete && few.complete;
    all.seconds += few.seconds;
    auto const ours = with_weaker(of_few), theirs = with_weaker(of_all);
    if (all.complete && ours != theirs)
        all.wrong = fmt::format("{} outcomes instead of {}", ours.size(), theirs.size());
    return all;
}

}  // namespace

std::vector<world> plain_fencing_worlds()
{
    std::vector<world> all;
    auto const same = [&](std::string name, std::string about, bool to_the_end, bool large, fencing_rules rules) {
        all.push_back({.name = "plain_" + name, .about = "all steps, same outcomes: " + about, .large = large,
                       .run = [=](std::uint64_t states_max) { return compare(rules, to_the_end, states_max); }});
    };
    same("2x2", "2 nodes, any counters", true, false, {.nodes = 2, .counter_max = 3});
    same("2x2_forget", "2 nodes, 1 forgets", true, false, {.nodes = 2, .forgetful = 1});
    same("3x2", "3 nodes, nobody releases", false, false, {});
    same("3x2_strangers", "nor compares S", false, false, {.strangers_acknowledge = true});
    same("3x2_any_owner", "nor compares the owner", false, true, {.raise_compares_owner = false});
    same("3x2_no_write_back", "3 nodes, nobody writes back", true, true, {.writes_back = false});
    return all;
}

}  // namespace redlock::model
