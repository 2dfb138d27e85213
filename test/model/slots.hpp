// Any one of several locks, without any clock and without any fault: how many hold, and can everybody still get one?
#pragma once

#include "model/explorer.hpp"
#include "model/node_keys.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

/// What is explored, and which rule is left out.
struct slots_rules {
    /// What each client wants one of: a letter for each lock, in the order in which it prefers them.
    std::vector<std::string_view> sets = {"ab", "ab", "ab"};
    bool counts_permits = false;  ///< nodes count together whatever they have chosen: then they count holders, each up to the number of locks
    bool gives_back = true;       ///< what a node has chosen in vain
};

/** What *acquire-any* does to the keys of three nodes, requests of different clients in any order. Nothing expires, nobody gives up. A
    client asks all nodes, and has a lock when a quorum has chosen the same one; it releases it at any moment, and asks again. A round is
    lost when no lock can come to a quorum any more.

    What is in vain is nobody's from then on, and goes at any moment: what nodes have chosen in a lost round, or instead of what was won,
    and what a request sets that is carried out after its round.

    Each lock by itself is what @ref exclusion explores, with time, crashes and renewals. Here it is about the choice:

    - E: no two clients hold the same lock.
    - C: no more clients hold than there are locks.
    - W: from each state there is a way to one in which the client that is looked at holds one. Each is looked at in turn.
*/
class slots {
public:
    static constexpr unsigned node_count = 3, majority = 2;
    static constexpr char const* stuck = "W: a client can never get one of the locks";

    struct client {
        std::uint8_t wants = 0;   ///< which of the rules' sets
        bool looked_at = false;
        bool holds = false;
        std::uint8_t has = 0;     ///< which lock, if it holds one
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
        std::uint8_t lock = 0;  ///< that is given back
    };

    explicit slots(slots_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    bool is_goal(state const&) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    bool carry_out(state&, step const&) const;
    void ask(state&, unsigned c, unsigned n) const;
    bool ask_late(state&, unsigned c, unsigned n) const;
    bool lose(state&, unsigned c) const;
    void free_all_but(state&, unsigned c, std::optional<std::uint8_t> lock) const;
    node_keys::key* choose(node_keys&, client const&) const;
    unsigned votes(state const&, unsigned c, std::uint8_t lock) const;
    char const* wrong_in(state const&) const;

    slots_rules const rules_;
    wanted_sets const wanted_;
    unsigned const clients_;
    std::uint8_t const nobody_;  ///< the owner of what was chosen in vain
    shape const shape_;
};

std::vector<world> slots_worlds();

}  // namespace redlock::model
