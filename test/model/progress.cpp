#include "model/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <utility>

namespace redlock::model {

progress::progress(progress_rules r)
    : rules_(std::move(r)), wanted_(rules_.sets), clients_(wanted_.clients()),
      shape_{.nodes = node_count, .attempts = clients_, .node_bits = 2 * wanted_.keys() + 2 * clients_, .attempt_bits = 6}
{
    if (clients_ > 3 || wanted_.keys() > node_keys::most)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void progress::begin(Visit visit) const
{
    state s;
    for (unsigned c = 0; c < clients_; ++c)
        s.clients[c].wants = wanted_.first_like(c);
    for (unsigned c = 0; c < clients_; ++c) {
        auto one = s;
        one.clients[c].looked_at = true;
        visit(one);
    }
}

template <class Visit>
void progress::steps(state const& s, Visit visit) const
{
    using kind = step::kind;
    auto const go = [&](step how) {
        auto next = s;
        if (carry_out(next, how))
            visit(how, next, nullptr);
    };
    for (std::uint8_t c = 0; c < clients_; ++c) {
        go({.what = kind::lose, .client = c});
        go({.what = kind::release, .client = c});
        for (std::uint8_t n = 0; n < node_count; ++n) {
            go({.what = kind::ask, .client = c, .node = n});
            go({.what = kind::give_back, .client = c, .node = n});
        }
    }
}

bool progress::is_goal(state const& s) const
{
    return std::ranges::any_of(s.clients, [](auto& c) { return c.looked_at && c.holds; });
}

// False if it is not the time for it.
bool progress::carry_out(state& s, step const& how) const
{
    auto& me = s.clients[how.client];
    auto& there = me.nodes[how.node];
    switch (how.what) {
    case step::kind::ask:
        if (there != at::open || me.holds)
            return false;
        ask(s, how.client, how.node);
        return true;
    case step::kind::give_back:
        if (there != at::owing)
            return false;
        s.nodes[how.node].release(keys_of(me).subspan(me.kept), how.client + 1u);
        there = at::open;
        return true;
    case step::kind::lose:
        return !me.holds && lose(s, how.client);
    case step::kind::release:
        if (!std::exchange(me.holds, false))
            return false;
        me.kept = 0;
        part(s, how.client);
        return true;
    }
    return false;
}

void progress::ask(state& s, unsigned c, unsigned n) const
{
    using keeping = progress_rules::keeping;
    auto& me = s.clients[c];
    auto& node = s.nodes[n];
    switch (rules_.keeps) {
    case keeping::nothing:
        node.acquire(keys_of(me), c + 1, 0);
        break;
    case keeping::prefix:
        node.grow(keys_of(me), c + 1, 0);
        break;
    case keeping::everything:
        node.set_what_is_free(keys_of(me), c + 1, 0);
        break;
    }
    me.nodes[n] = at::answered;
    unsigned granted = 0;
    for (unsigned i = 0; i < node_count; ++i)
        granted += me.nodes[i] == at::answered && s.nodes[i].are_ours(keys_of(me), c + 1);
    me.holds = granted >= majority;
}

// False if a quorum may grant yet.
bool progress::lose(state& s, unsigned c) const
{
    using keeping = progress_rules::keeping;
    auto& me = s.clients[c];
    std::array<unsigned, node_count> ours{};
    unsigned denied = 0;
    for (unsigned n = 0; n < node_count; ++n) {
        ours[n] = s.nodes[n].ours(keys_of(me), c + 1);
        denied += me.nodes[n] == at::answered && ours[n] < keys_of(me).size();
    }
    if (denied <= node_count - majority)
        return false;
    std::ranges::sort(ours, std::greater<>());
    auto const all = static_cast<unsigned>(keys_of(me).size());
    auto const kept = rules_.keeps == keeping::nothing ? 0 : rules_.keeps == keeping::prefix ? ours[majority - 1] : all;
    me.kept = static_cast<std::uint8_t>(kept);
    part(s, c);
    return true;
}

// What is not kept is to be given back, where there is something.
void progress::part(state& s, unsigned c) const
{
    auto& me = s.clients[c];
    for (unsigned n = 0; n < node_count; ++n) {
        bool const owes = s.nodes[n].has_ours(keys_of(me).subspan(me.kept), c + 1);
        me.nodes[n] = owes ? at::owing : at::open;
    }
}

packed progress::pack(state const& s) const
{
    auto const own = [&](unsigned c) {
        auto const& me = s.clients[c];
        auto const bits = (me.wants << 1 | static_cast<unsigned>(me.looked_at)) << 1 | static_cast<unsigned>(me.holds);
        return static_cast<std::uint64_t>(bits << 2 | me.kept);
    };
    auto const column = [&](unsigned n, numbering const& order) {
        std::uint64_t bits = 0;
        for (unsigned i = clients_; i-- > 0;)
            bits = bits << 2 | static_cast<std::uint64_t>(s.clients[order[i]].nodes[n]);
        for (unsigned k = wanted_.keys(); k-- > 0;)
            bits = bits << 2 | renumbered(s.nodes[n].all[k].owner, order);
        return bits;
    };
    return canonical(shape_, own, column);
}

progress::state progress::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        me.kept = pop(2);
        me.holds = pop(1) != 0;
        me.looked_at = pop(1) != 0;
        me.wants = pop(2);
    }
    for (unsigned n = 0; n < node_count; ++n) {
        for (unsigned k = 0; k < wanted_.keys(); ++k)
            s.nodes[n].all[k].owner = pop(2);
        for (unsigned c = 0; c < clients_; ++c)
            s.clients[c].nodes[n] = static_cast<at>(pop(2));
    }
    return s;
}

std::string progress::tell(state const& s) const
{
    std::string text = "all is free";
    for (unsigned c = 0; c < clients_; ++c)
        text += wanted_.tell(c, s.clients[c].wants) + (s.clients[c].looked_at ? ", and is looked at" : "");
    return text;
}

std::string progress::tell(state const&, step const& how, state const& after) const
{
    auto const name = static_cast<char>('A' + how.client);
    auto const& is = after.clients[how.client];
    auto const there = fmt::format("node {} has{}", how.node + 1, after.nodes[how.node].tell());
    switch (how.what) {
    case step::kind::ask:
        return fmt::format("{} asks; {}{}", name, there, is.holds ? "; it holds its set" : "");
    case step::kind::give_back:
        return fmt::format("{} gives back; {}", name, there);
    case step::kind::lose:
        return fmt::format("{} has lost the round, and keeps {}", name, is.kept);
    case step::kind::release:
        return fmt::format("{} releases", name);
    }
    return {};
}

std::vector<world> progress_worlds()
{
    using keeping = progress_rules::keeping;
    worlds<progress, progress_rules> w;

    w.safe("progress_all_ab_ab", "{a,b} {a,b}, all or nothing", {.keeps = keeping::nothing});
    w.safe("progress_all_cycle", "{a,b} {b,c} {a,c}, all or nothing", {.sets = {"ab", "bc", "ac"}, .keeps = keeping::nothing});
    w.safe("progress_all_singles", "{a,b} {a} {b}, all or nothing", {.sets = {"ab", "a", "b"}, .keeps = keeping::nothing});
    w.safe("progress_ab_ab", "{a,b} {a,b} grow", {});
    w.safe("progress_ab_ab_ab", "{a,b} {a,b} {a,b} grow", {.sets = {"ab", "ab", "ab"}});
    w.safe("progress_cycle", "{a,b} {b,c} {a,c} grow", {.sets = {"ab", "bc", "ac"}});
    w.safe("progress_singles", "{a,b} {a} {b} grow", {.sets = {"ab", "a", "b"}});
    w.safe("progress_abc", "{a,b,c} {a,b,c} {b} grow", {.sets = {"abc", "abc", "b"}});

    w.control("progress_keep_all", "{a,b} {a,b} {a,b}: what was got is kept", {.sets = {"ab", "ab", "ab"}, .keeps = keeping::everything});
    w.control("progress_own_order", "{a,b} {b,a} {a}: each grows in an order of its own", {.sets = {"ab", "ba", "a"}});
    return w.all;
}

}  // namespace redlock::model
