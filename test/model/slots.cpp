#include "model/slots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace redlock::model {

slots::slots(slots_rules r)
    : rules_(std::move(r)), wanted_(rules_.sets), clients_(wanted_.clients()), nobody_(static_cast<std::uint8_t>(clients_ + 1)),
      shape_{.nodes = node_count, .attempts = clients_, .node_bits = 3 * wanted_.keys() + clients_, .attempt_bits = 6}
{
    if (clients_ > attempts_max || wanted_.keys() > node_keys::most)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void slots::begin(Visit visit) const
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
void slots::steps(state const& s, Visit visit) const
{
    using kind = step::kind;
    auto const go = [&](step how) {
        auto next = s;
        if (carry_out(next, how))
            visit(how, next, wrong_in(next));
    };
    for (std::uint8_t n = 0; n < node_count; ++n) {
        for (std::uint8_t c = 0; c < clients_; ++c) {
            go({.what = kind::ask, .client = c, .node = n});
            go({.what = kind::ask_late, .client = c, .node = n});
        }
        for (std::uint8_t k = 0; k < wanted_.keys(); ++k)
            go({.what = kind::give_back, .node = n, .lock = k});
    }
    for (std::uint8_t c = 0; c < clients_; ++c) {
        go({.what = kind::lose, .client = c});
        go({.what = kind::release, .client = c});
    }
}

bool slots::is_goal(state const& s) const
{
    return std::ranges::any_of(s.clients, [](auto& c) { return c.looked_at && c.holds; });
}

// False if it is not the time for it.
bool slots::carry_out(state& s, step const& how) const
{
    auto& me = s.clients[how.client];
    auto& key = s.nodes[how.node].all[how.lock];
    switch (how.what) {
    case step::kind::ask:
        if (std::exchange(me.asked[how.node], true))
            return false;
        ask(s, how.client, how.node);
        return true;
    case step::kind::ask_late:
        return ask_late(s, how.client, how.node);
    case step::kind::lose:
        return !me.holds && lose(s, how.client);
    case step::kind::release:
        if (!std::exchange(me.holds, false))
            return false;
        for (auto& node : s.nodes)
            node.release(wanted_[me.wants], how.client + 1u);
        me.asked = {};
        me.has = 0;
        return true;
    case step::kind::give_back:
        if (!rules_.gives_back || key.owner != nobody_)
            return false;
        key.owner = 0;
        return true;
    }
    return false;
}

// The first that is free; null if none is.
node_keys::key* slots::choose(node_keys& node, client const& me) const
{
    auto const keys = wanted_[me.wants];
    auto const first = std::ranges::find_if(keys, [&](auto k) { return node.all[k].owner == 0; });
    return first == keys.end() ? nullptr : &node.all[*first];
}

void slots::ask(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    auto* const chosen = choose(s.nodes[n], me);
    if (!chosen)
        return;
    chosen->owner = static_cast<std::uint8_t>(c + 1);
    auto const lock = static_cast<std::uint8_t>(chosen - s.nodes[n].all.data());
    if (!me.holds && votes(s, c, lock) >= majority) {
        me.holds = true;
        me.has = lock;
    }
    if (me.holds && !rules_.counts_permits)
        free_all_but(s, c, me.has);
}

bool slots::ask_late(state& s, unsigned c, unsigned n) const
{
    auto* const chosen = choose(s.nodes[n], s.clients[c]);
    if (chosen)
        chosen->owner = nobody_;
    return chosen != nullptr;
}

// False if a quorum may choose the same yet.
bool slots::lose(state& s, unsigned c) const
{
    auto& me = s.clients[c];
    auto const open = static_cast<unsigned>(std::ranges::count(me.asked, false));
    if (std::ranges::any_of(wanted_[me.wants], [&](auto k) { return votes(s, c, k) + open >= majority; }))
        return false;
    free_all_but(s, c, std::nullopt);
    me.asked = {};
    return true;
}

void slots::free_all_but(state& s, unsigned c, std::optional<std::uint8_t> lock) const
{
    for (auto& node : s.nodes) {
        for (unsigned k = 0; k < wanted_.keys(); ++k) {
            if (node.all[k].owner == c + 1 && k != lock)
                node.all[k].owner = nobody_;
        }
    }
}

unsigned slots::votes(state const& s, unsigned c, std::uint8_t lock) const
{
    return static_cast<unsigned>(std::ranges::count_if(s.nodes, [&](auto& node) {
        return rules_.counts_permits ? node.has_ours(wanted_[s.clients[c].wants], c + 1) : node.all[lock].owner == c + 1;
    }));
}

char const* slots::wrong_in(state const& s) const
{
    unsigned holders = 0;
    std::array<bool, node_keys::most> held{};
    for (auto const& me : s.clients) {
        if (!me.holds)
            continue;
        ++holders;
        if (!rules_.counts_permits && std::exchange(held[me.has], true))
            return "E: two clients hold the same lock";
    }
    return holders > wanted_.keys() ? "C: more clients hold than there are locks" : nullptr;
}

packed slots::pack(state const& s) const
{
    auto const own = [&](unsigned c) {
        auto const& me = s.clients[c];
        auto const bits = (me.wants << 1 | static_cast<unsigned>(me.looked_at)) << 1 | static_cast<unsigned>(me.holds);
        return static_cast<std::uint64_t>(bits << 2 | me.has);
    };
    auto const column = [&](unsigned n, numbering const& order) {
        std::uint64_t bits = 0;
        for (unsigned i = clients_; i-- > 0;)
            bits = bits << 1 | s.clients[order[i]].asked[n];
        for (unsigned k = wanted_.keys(); k-- > 0;) {
            auto const owner = s.nodes[n].all[k].owner;
            bits = bits << 3 | (owner == nobody_ ? nobody_ : renumbered(owner, order));
        }
        return bits;
    };
    return canonical(shape_, own, column);
}

slots::state slots::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        me.has = pop(2);
        me.holds = pop(1) != 0;
        me.looked_at = pop(1) != 0;
        me.wants = pop(2);
    }
    for (unsigned n = 0; n < node_count; ++n) {
        for (unsigned k = 0; k < wanted_.keys(); ++k)
            s.nodes[n].all[k].owner = pop(3);
        for (unsigned c = 0; c < clients_; ++c)
            s.clients[c].asked[n] = pop(1) != 0;
    }
    return s;
}

std::string slots::tell(state const& s) const
{
    std::string text = "all is free";
    for (unsigned c = 0; c < clients_; ++c)
        text += wanted_.tell(c, s.clients[c].wants) + (s.clients[c].looked_at ? ", and is looked at" : "");
    return text;
}

std::string slots::tell(state const& before, step const& how, state const& after) const
{
    auto const name = static_cast<char>('A' + how.client);
    auto const there = fmt::format("node {} has{}", how.node + 1, after.nodes[how.node].tell());
    bool const wins = after.clients[how.client].holds && !before.clients[how.client].holds;
    switch (how.what) {
    case step::kind::ask:
        return fmt::format("{} asks; {}{}", name, there, wins ? fmt::format("; {} holds one", name) : "");
    case step::kind::ask_late:
        return fmt::format("a request of an earlier round of {} is carried out; {}", name, there);
    case step::kind::lose:
        return fmt::format("{} has lost the round", name);
    case step::kind::release:
        return fmt::format("{} releases", name);
    case step::kind::give_back:
        return fmt::format("what was chosen in vain goes; {}", there);
    }
    return {};
}

std::vector<world> slots_worlds()
{
    worlds<slots, slots_rules> w;

    w.safe("slots_same_order", "any of {a,b}, three clients with one order", {});
    w.safe("slots_own_order", "any of {a,b}, three clients, one with its own order", {.sets = {"ab", "ab", "ba"}});
    w.safe("slots_by_name", "any of {a,b}, two clients; one wants b alone", {.sets = {"ab", "ba", "b"}});
    w.safe("slots_of_three", "any of {a,b,c}, two clients, each with its own order", {.sets = {"abc", "cab"}});

    w.large("slots_of_three_or_two", "any of {a,b,c}, twice; any of {a,b}", {.sets = {"abc", "cba", "ab"}});
    w.large("slots_crowded", "any of {a,b}, four clients", {.sets = {"ab", "ab", "ba", "ba"}});

    w.control("slots_counted", "nodes count to two, whatever they have chosen", {.counts_permits = true});
    w.control("slots_not_given_back", "what was chosen in vain stays", {.gives_back = false});
    return w.all;
}

}  // namespace redlock::model
