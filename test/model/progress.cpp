// Model of several locks at once, without clocks and faults: can every client still get what it wants?
#include "model/explorer.hpp"
#include "model/node_keys.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol.
struct progress_rules {
    std::vector<std::string_view> sets = {"ab", "ab"};  ///< each client's set: a letter for each lock, in key order

    /// The keys that a client keeps when it has lost a round.
    enum class keeping : std::uint8_t {
        nothing,     ///< it asks again for everything
        prefix,      ///< the first keys, as many as a quorum of nodes holds
        everything,  ///< a broken rule: everything it got, on any node
    } keeps = keeping::prefix;
};

/** The effects of *acquire-all* and *contend-all* on the keys of three nodes, with requests of different clients in any
    order. Nothing is lost, nothing expires, and no client gives up.

    A client asks all nodes, and holds its set when a quorum has granted all of it. It releases the set at any moment,
    and asks again. A round is lost when a quorum cannot be reached any more. The client gives back what it does not
    keep, on each node before it asks that node again.

    The model cannot see an endless wait. It sees a state that no client can leave:

    - W: from each state there is a way to a state in which one client, marked by `looked_at`, holds its set. Each
      client is marked in turn.
*/
class progress : public three_nodes {
public:
    static constexpr char const* stuck = "W: a client can never get what it wants";

    /// The state of a client at a node: it is to be asked; it has answered; it has keys to give back first.
    enum class at : std::uint8_t { open, answered, owing };

    struct client {
        std::uint8_t wants = 0;  ///< the index of its set in the rules
        bool looked_at = false;
        bool holds = false;
        std::uint8_t kept = 0;  ///< the number of keys that it keeps
        std::array<progress::at, node_count> nodes{};
    };
    struct state {
        std::array<node_keys, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { ask, give_back, lose, release } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit progress(progress_rules r) : rules_(std::move(r)), wanted_(rules_.sets), clients_(wanted_.clients()) {}

    unsigned attempts() const { return clients_; }

    void begin(auto visit) const { wanted_.look_at_each<state>(visit); }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        for (std::uint8_t c = 0; c < clients_; ++c) {
            visit(step{.what = kind::lose, .client = c});
            visit(step{.what = kind::release, .client = c});
            for (std::uint8_t n = 0; n < node_count; ++n) {
                visit(step{.what = kind::ask, .client = c, .node = n});
                visit(step{.what = kind::give_back, .client = c, .node = n});
            }
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

    char const* settle(state const&, state&, step const&) const { return nullptr; }

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        auto& me = s.clients[c];
        bits(me.kept, 2);
        bits(me.holds, 1);
        bits(me.looked_at, 1);
        bits(me.wants, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        for (unsigned k = 0; k < wanted_.keys(); ++k)
            bits.name(s.nodes[n].all[k].owner, 2);
        for (unsigned i = 0; i < clients_; ++i)
            bits(s.clients[bits.attempt(i)].nodes[n], 2);
    }

    std::string tell(state const& s) const { return "all is free" + wanted_.tell(s); }

    std::string tell(state const&, step const& how, state const& after) const
    {
        auto const name = letter(how.client);
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

private:
    void ask(state& s, unsigned c, unsigned n) const
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

    // Returns false if a quorum may still grant.
    bool lose(state& s, unsigned c) const
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
        auto const kept = rules_.keeps == keeping::nothing  ? 0
                          : rules_.keeps == keeping::prefix ? ours[majority - 1]
                                                            : all;
        me.kept = static_cast<std::uint8_t>(kept);
        part(s, c);
        return true;
    }

    // Marks the nodes that have keys which the client must give back.
    void part(state& s, unsigned c) const
    {
        auto& me = s.clients[c];
        for (unsigned n = 0; n < node_count; ++n) {
            bool const owes = s.nodes[n].has_ours(keys_of(me).subspan(me.kept), c + 1);
            me.nodes[n] = owes ? at::owing : at::open;
        }
    }

    key_numbers keys_of(client const& c) const { return wanted_[c.wants]; }

    progress_rules const rules_;
    wanted_sets const wanted_;
    unsigned const clients_;
};

}  // namespace

std::vector<world> progress_worlds()
{
    using keeping = progress_rules::keeping;
    worlds<progress, progress_rules> w;

    w.safe("progress_all_ab_ab", "{a,b} {a,b}, all or nothing", {.keeps = keeping::nothing});
    w.safe("progress_all_cycle", "{a,b} {b,c} {a,c}, all or nothing",
           {.sets = {"ab", "bc", "ac"}, .keeps = keeping::nothing});
    w.safe("progress_all_singles", "{a,b} {a} {b}, all or nothing",
           {.sets = {"ab", "a", "b"}, .keeps = keeping::nothing});
    w.safe("progress_ab_ab", "{a,b} {a,b} grow", {});
    w.safe("progress_ab_ab_ab", "{a,b} {a,b} {a,b} grow", {.sets = {"ab", "ab", "ab"}});
    w.safe("progress_cycle", "{a,b} {b,c} {a,c} grow", {.sets = {"ab", "bc", "ac"}});
    w.safe("progress_singles", "{a,b} {a} {b} grow", {.sets = {"ab", "a", "b"}});
    w.safe("progress_abc", "{a,b,c} {a,b,c} {b} grow", {.sets = {"abc", "abc", "b"}});

    w.control("progress_keep_all", "{a,b} {a,b} {a,b}: each keeps everything it got",
              {.sets = {"ab", "ab", "ab"}, .keeps = keeping::everything});
    w.control("progress_own_order", "{a,b} {b,a} {a}: each grows in an order of its own", {.sets = {"ab", "ba", "a"}});
    return w.all;
}

}  // namespace redlock::model
