// Model of any one of several locks, without clocks and faults: how many clients hold one, and can every client get
// one?
#include "model/explorer.hpp"
#include "model/node_keys.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol, and the rule that is left out.
struct slots_rules {
    /// For each client, the locks of which it wants one: a letter for each, in the order of its preference.
    std::vector<std::string_view> sets = {"ab", "ab", "ab"};
    /// Nodes count together even if they have chosen different locks. So they count holders, up to the number of locks.
    bool counts_permits = false;
    bool gives_back = true;  ///< false: choices in vain stay
};

/** The effects of *acquire-any* on the keys of three nodes, with requests of different clients in any order. Nothing
    expires, and no client gives up. A client asks all nodes, and holds a lock when a quorum has chosen the same one. It
    releases the lock at any moment, and asks again. A round is lost when no lock can get a quorum any more.

    A choice in vain belongs to nobody from then on, and is given back at any moment. A choice is in vain if its
    round is lost, if another lock was won, or if its request is carried out after the round.

    @ref exclusion explores each lock by itself, with time, crashes and renewals. This model is about the choice:

    - E: no two clients hold the same lock.
    - C: no more clients hold a lock than there are locks.
    - W: from each state there is a way to a state in which one client, marked by `looked_at`, holds a lock. Each client
      is marked in turn.
*/
class slots : public three_nodes {
public:
    static constexpr char const* stuck = "W: a client can never get one of the locks";

    struct client {
        std::uint8_t wants = 0;  ///< the index of its set in the rules
        bool looked_at = false;
        bool holds = false;
        std::uint8_t has = 0;  ///< which lock, if it holds one
        std::array<bool, node_count> asked{};
    };
    struct state {
        std::array<node_keys, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { ask, ask_late, lose, release, give_back } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
        std::uint8_t lock = 0;  ///< the lock that is given back
    };

    explicit slots(slots_rules r) : rules_(std::move(r)) {}

    unsigned attempts() const { return clients_; }

    void begin(auto visit) const { wanted_.look_at_each<state>(visit); }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        for (std::uint8_t n = 0; n < node_count; ++n) {
            for (std::uint8_t c = 0; c < clients_; ++c) {
                visit(step{.what = kind::ask, .client = c, .node = n});
                visit(step{.what = kind::ask_late, .client = c, .node = n});
            }
            for (std::uint8_t k = 0; k < wanted_.keys(); ++k)
                visit(step{.what = kind::give_back, .node = n, .lock = k});
        }
        for (std::uint8_t c = 0; c < clients_; ++c) {
            visit(step{.what = kind::lose, .client = c});
            visit(step{.what = kind::release, .client = c});
        }
    }

    bool is_goal(state const& s) const
    {
        return std::ranges::any_of(s.clients, [](auto& c) { return c.looked_at && c.holds; });
    }

    // Returns false if the step is not possible now.
    bool carry_out(state& s, step const& how) const
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

    char const* settle(state const&, state& s, step const&) const
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

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        auto& me = s.clients[c];
        bits(me.has, 2);
        bits(me.holds, 1);
        bits(me.looked_at, 1);
        bits(me.wants, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        for (unsigned k = 0; k < wanted_.keys(); ++k)
            bits.name(s.nodes[n].all[k].owner, 3);  // the last number means nobody, in each order
        for (unsigned i = 0; i < clients_; ++i)
            bits(s.clients[bits.attempt(i)].asked[n], 1);
    }

    std::string tell(state const& s) const { return "all is free" + wanted_.tell(s); }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        auto const name = letter(how.client);
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
            return fmt::format("a choice in vain is given back; {}", there);
        }
        return {};
    }

private:
    // Returns the first free lock that the client wants; null if there is none.
    node_keys::key* choose(node_keys& node, client const& me) const
    {
        auto const keys = wanted_[me.wants];
        auto const first = std::ranges::find_if(keys, [&](auto k) { return node.all[k].owner == 0; });
        return first == keys.end() ? nullptr : &node.all[*first];
    }

    void ask(state& s, unsigned c, unsigned n) const
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

    bool ask_late(state& s, unsigned c, unsigned n) const
    {
        auto* const chosen = choose(s.nodes[n], s.clients[c]);
        if (chosen)
            chosen->owner = nobody_;
        return chosen != nullptr;
    }

    // Returns false if a quorum may still choose the same lock.
    bool lose(state& s, unsigned c) const
    {
        auto& me = s.clients[c];
        auto const open = static_cast<unsigned>(std::ranges::count(me.asked, false));
        if (std::ranges::any_of(wanted_[me.wants], [&](auto k) { return votes(s, c, k) + open >= majority; }))
            return false;
        free_all_but(s, c, std::nullopt);
        me.asked = {};
        return true;
    }

    void free_all_but(state& s, unsigned c, std::optional<std::uint8_t> lock) const
    {
        for (auto& node : s.nodes) {
            for (unsigned k = 0; k < wanted_.keys(); ++k) {
                if (node.all[k].owner == c + 1 && k != lock)
                    node.all[k].owner = nobody_;
            }
        }
    }

    unsigned votes(state const& s, unsigned c, std::uint8_t lock) const
    {
        return static_cast<unsigned>(std::ranges::count_if(s.nodes, [&](auto& node) {
            return rules_.counts_permits ? node.has_ours(wanted_[s.clients[c].wants], c + 1)
                                         : node.all[lock].owner == c + 1;
        }));
    }

    slots_rules const rules_;
    wanted_sets const wanted_{rules_.sets};
    unsigned const clients_ = wanted_.clients();
    std::uint8_t const nobody_ = static_cast<std::uint8_t>(clients_ + 1);  ///< the owner of choices in vain
};

}  // namespace

std::vector<world> slots_worlds()
{
    worlds<slots, slots_rules> w;

    w.safe("slots_same_order", "any of {a,b}, three clients with one order", {});
    w.safe("slots_own_order", "any of {a,b}, three clients, one with its own order", {.sets = {"ab", "ab", "ba"}});
    w.safe("slots_by_name", "any of {a,b}, two clients; one wants only b", {.sets = {"ab", "ba", "b"}});
    w.safe("slots_of_three", "any of {a,b,c}, two clients, each with its own order", {.sets = {"abc", "cab"}});

    w.large("slots_of_three_or_two", "any of {a,b,c}, twice; any of {a,b}", {.sets = {"abc", "cba", "ab"}});
    w.large("slots_crowded", "any of {a,b}, four clients", {.sets = {"ab", "ab", "ba", "ba"}});

    w.control("slots_counted", "nodes count to two, whichever lock they have chosen", {.counts_permits = true});
    w.control("slots_not_given_back", "choices in vain stay", {.gives_back = false});
    return w.all;
}

}  // namespace redlock::model
