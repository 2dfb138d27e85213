// Model of a lock that another process takes over under a new token, with time: are there ever two holders?
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

/// The explored protocol, and the rule that is left out.
struct takeover_rules {
    unsigned ttl = 3;                   ///< in ticks
    bool makes_new_token = true;        ///< false: the lock keeps the token of the process that acquired it
    bool compares = true;               ///< false: a replacement takes any value for the former one
    bool keeps_after_a_failure = true;  ///< false: a process deletes what it has replaced when it gives up
};

/** A client has a lock, which one process has acquired for it. Or the client has not got the answer of that process.
    The client asks two other processes to take the lock over, each with a new token (`node_command::kind::replace`). It
    uses the lock until the validity is over that it was told last. A stranger acquires the lock whenever it can.

    The first process does not know about this. At any moment, its late renewals prolong keys with the old token. It
    deletes such keys when its own validity is over, or when the client has another token.

    A process that takes over repeats its rounds with the same token. Requests are carried out at any moment, any number
    of times. Validity counts from the first request of the round that was won. A process that gives up deletes nothing,
    also if a majority has denied. The client may still rely on the old token, which the other process has replaced on
    some nodes.

    - P1: the client and the stranger are never within their validity at the same tick.

    As in @ref exclusion, lost messages, slow answers and the leftovers of the stranger need not be explored. Crashes
    that forget are explored there: a replacement counts in quarantine as a renewal does.
*/
class takeover : public three_nodes {
public:
    static constexpr std::uint8_t nobody = 0, old_token = 1, stranger = 2, first_token = 3;
    static constexpr std::uint8_t granted = 1, denied = 2;

    struct node {
        std::uint8_t owner = nobody;
        std::uint8_t left = 0;                           ///< ticks until the key expires
        bool grants_stranger = false;                    ///< in the stranger's round
        std::array<std::uint8_t, attempts_max> votes{};  ///< for each process, in its present round
    };
    /// A process that takes the lock over.
    struct process {
        bool has_begun = false;
        bool is_used = false;   ///< the client has its token
        std::uint8_t left = 0;  ///< ticks of validity that its round would give
    };
    struct state {
        std::array<node, node_count> nodes{};
        std::array<process, attempts_max> processes{};
        bool uses_old = true;  ///< the client has the old token
        std::uint8_t client_left = 0, first_left = 0, stranger_left = 0;
        bool stranger_holds = false;
    };
    struct step {
        enum class kind : std::uint8_t {
            tick,
            renew_late,
            delete_old,
            replace,
            replace_late,
            win,
            give_up,
            release,
            ask,
            end
        } what;
        std::uint8_t process = 0;
        std::uint8_t node = 0;
    };

    explicit takeover(takeover_rules r) : rules_(r) {}

    static unsigned attempts() { return 2; }

    void begin(auto visit) const
    {
        state s;
        s.client_left = s.first_left = static_cast<std::uint8_t>(rules_.ttl);
        for (auto& n : s.nodes)
            set(n, old_token);
        visit(s);
        s.nodes[0] = {};
        visit(s);
        s.uses_old = false;
        s.client_left = 0;
        visit(s);
    }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        for (auto const what : {kind::tick, kind::release, kind::end})
            visit(step{.what = what});
        for (std::uint8_t n = 0; n < node_count; ++n) {
            for (auto const what : {kind::renew_late, kind::delete_old, kind::ask})
                visit(step{.what = what, .node = n});
            for (std::uint8_t p = 0; p < attempts(); ++p) {
                visit(step{.what = kind::replace, .process = p, .node = n});
                visit(step{.what = kind::replace_late, .process = p, .node = n});
            }
        }
        for (std::uint8_t p = 0; p < attempts(); ++p) {
            visit(step{.what = kind::win, .process = p});
            visit(step{.what = kind::give_up, .process = p});
        }
    }

    bool carry_out(state& s, step const& how) const
    {
        using kind = step::kind;
        auto& n = s.nodes[how.node];
        auto& p = s.processes[how.process];
        switch (how.what) {
        case kind::tick:
            tick(s);
            return true;
        case kind::renew_late:
            return n.owner == old_token && std::exchange(n.left, rules_.ttl) != rules_.ttl;
        case kind::delete_old:
            return n.owner == old_token && (s.first_left == 0 || !s.uses_old) && clear(n);
        case kind::replace:
            return replace(s, how);
        case kind::replace_late:
            return p.has_begun && put(n, token_of(how.process));
        case kind::win:
            if (p.left == 0 || p.is_used || count(s, how.process, granted) < majority)
                return false;
            for (auto& each : s.processes)
                each.is_used = false;
            p.is_used = true;
            s.uses_old = false;
            s.client_left = p.left;
            return true;
        case kind::give_up:
            return give_up(s, how.process);
        case kind::release:
            return release(s);
        case kind::ask:
            return ask(s, n);
        case kind::end:
            return end(s);
        }
        return false;
    }

    char const* settle(state const&, state const& s, step const&) const
    {
        return s.client_left > 0 && s.stranger_holds ? "P1: the client and the stranger hold the lock" : nullptr;
    }

    void attempt_fields(auto& bits, auto& s, unsigned a) const
    {
        auto& p = s.processes[a];
        bits(p.has_begun, 1);
        bits(p.is_used, 1);
        bits(p.left, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& it = s.nodes[n];
        bits.name(it.owner, 3, first_token);
        bits(it.left, 2);
        bits(it.grants_stranger, 1);
        for (unsigned i = 0; i < attempts(); ++i)
            bits(it.votes[bits.attempt(i)], 2);
    }

    void other_fields(auto& bits, auto& s) const
    {
        bits(s.uses_old, 1);
        bits(s.client_left, 2);
        bits(s.first_left, 2);
        bits(s.stranger_left, 2);
        bits(s.stranger_holds, 1);
    }

    std::string tell(state const& s) const
    {
        auto const with_key = std::ranges::count(s.nodes, old_token, &node::owner);
        return fmt::format("the client has a lock for {} ticks; {} of {} nodes have its key", s.client_left, with_key,
                           node_count);
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        using kind = step::kind;
        auto const where = how.node + 1;
        auto const who = how.process + 1;
        auto const vote = after.nodes[how.node].votes[how.process] == granted ? "grants" : "denies";
        switch (how.what) {
        case kind::tick:
            return fmt::format("a tick; the client has {} left, the stranger {}", after.client_left,
                               after.stranger_left);
        case kind::renew_late:
            return fmt::format("node {} carries out a late renewal of the old token", where);
        case kind::delete_old:
            return fmt::format("the first process deletes the old token on node {}", where);
        case kind::replace:
            return fmt::format("node {} {} the replacement of process {}", where, vote, who);
        case kind::replace_late:
            return fmt::format("node {} carries out a late replacement of process {}", where, who);
        case kind::win:
            return fmt::format("process {} has taken the lock over; the client has it for {} ticks", who,
                               after.client_left);
        case kind::give_up:
            return fmt::format("process {} gives up its round", who);
        case kind::release:
            return "the client releases its lock";
        case kind::ask:
            return fmt::format("node {} grants the stranger{}", where,
                               after.stranger_holds && !before.stranger_holds ? ", which holds the lock" : "");
        case kind::end:
            return "the stranger gives up or releases the lock";
        }
        return {};
    }

private:
    std::uint8_t token_of(unsigned number) const
    {
        return rules_.makes_new_token ? static_cast<std::uint8_t>(first_token + number) : old_token;
    }

    void set(node& n, std::uint8_t owner) const
    {
        n.owner = owner;
        n.left = static_cast<std::uint8_t>(rules_.ttl);
    }

    // A deleted key: only the votes stay.
    static bool clear(node& n)
    {
        n.owner = nobody;
        n.left = 0;
        n.grants_stranger = false;
        return true;
    }

    static unsigned count(state const& s, unsigned number, std::uint8_t vote)
    {
        return static_cast<unsigned>(std::ranges::count_if(s.nodes, [&](auto& n) { return n.votes[number] == vote; }));
    }

    // Returns whether the key has the token now. If nothing changes, that is also true.
    bool put(node& n, std::uint8_t token) const
    {
        bool const fits = rules_.compares ? n.owner == old_token || n.owner == token : n.owner != nobody;
        if (!fits)
            return false;
        n.grants_stranger = false;
        set(n, token);
        return true;
    }

    bool replace(state& s, step const& how) const
    {
        auto& n = s.nodes[how.node];
        auto& p = s.processes[how.process];
        if (n.votes[how.process] != 0 || p.is_used)
            return false;
        bool const is_first = count(s, how.process, granted) + count(s, how.process, denied) == 0;
        if (is_first)
            p.left = static_cast<std::uint8_t>(rules_.ttl);
        p.has_begun = true;
        n.votes[how.process] = put(n, token_of(how.process)) ? granted : denied;
        return true;
    }

    bool give_up(state& s, unsigned number) const
    {
        auto& p = s.processes[number];
        if (!p.has_begun || p.is_used || count(s, number, granted) + count(s, number, denied) == 0)
            return false;
        for (auto& n : s.nodes) {
            n.votes[number] = 0;
            if (!rules_.keeps_after_a_failure && n.owner == token_of(number))
                clear(n);
        }
        p.left = 0;
        return true;
    }

    bool release(state& s) const
    {
        for (unsigned i = 0; i < attempts(); ++i) {
            if (!std::exchange(s.processes[i].is_used, false))
                continue;
            for (auto& n : s.nodes) {
                n.votes[i] = 0;
                if (n.owner == token_of(i))
                    clear(n);
            }
            s.processes[i].left = 0;
            s.client_left = 0;
            return true;
        }
        return false;
    }

    bool ask(state& s, node& n) const
    {
        if (n.owner != nobody || s.stranger_holds)
            return false;
        bool const is_first = std::ranges::none_of(s.nodes, &node::grants_stranger);
        if (is_first)
            s.stranger_left = static_cast<std::uint8_t>(rules_.ttl);
        set(n, stranger);
        n.grants_stranger = true;
        s.stranger_holds = std::ranges::count(s.nodes, true, &node::grants_stranger) >= majority;
        return true;
    }

    static bool end(state& s)
    {
        bool changes = std::exchange(s.stranger_holds, false);
        for (auto& n : s.nodes)
            changes = (n.owner == stranger && clear(n)) || std::exchange(n.grants_stranger, false) || changes;
        s.stranger_left = 0;
        return changes;
    }

    void tick(state& s) const
    {
        auto const pass = [](std::uint8_t& left) {
            if (left > 0)
                --left;
        };
        for (auto& n : s.nodes) {
            pass(n.left);
            if (n.left == 0)
                clear(n);
        }
        for (unsigned i = 0; i < attempts(); ++i)
            pass(s.processes[i].left);
        pass(s.client_left);
        pass(s.first_left);
        pass(s.stranger_left);
        if (s.stranger_left == 0)
            end(s);
    }

    takeover_rules const rules_;
};

}  // namespace

std::vector<world> takeover_worlds()
{
    worlds<takeover, takeover_rules> w;

    w.safe("takeover", "2 processes take a lock over, ttl 3", {});
    w.safe("takeover_2", "2 processes take a lock over, ttl 2", {.ttl = 2});

    w.control("takeover_same_token", "the lock keeps its token", {.makes_new_token = false});
    w.control("takeover_any", "a replacement takes any value for the former one", {.compares = false});
    w.control("takeover_clean_up", "what a failed takeover has replaced is deleted", {.keeps_after_a_failure = false});
    return w.all;
}

}  // namespace redlock::model
