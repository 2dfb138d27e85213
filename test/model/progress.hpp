// Several locks at once, without any clock and without any fault: can everybody still get what he wants?
#pragma once

#include "model/explorer.hpp"
#include "model/node_keys.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

/// What is explored.
struct progress_rules {
    std::vector<std::string_view> sets = {"ab", "ab"};  ///< what each client wants: a letter for each lock, in the order of the keys

    /// What a client does not give back when it has lost a round.
    enum class keeping : std::uint8_t {
        nothing,     ///< it asks for all again
        prefix,      ///< the first so many keys that a quorum of nodes holds
        everything,  ///< a broken rule: whatever it got, wherever that is
    } keeps = keeping::prefix;
};

/** What *acquire-all* and *contend-all* do to the keys of three nodes, requests of different clients in any order. Nothing is lost,
    nothing expires, nobody gives up.

    A client asks all nodes, and has what it wants when a quorum has granted all of it. It releases that at any moment, and asks again.
    A round is lost when a quorum cannot be reached any more; what the client does not keep is given back, on each node before it asks
    there again. So a wait that never ends is not seen as such; what is seen is a state that nobody can leave:

    - W: from each state there is a way to one in which the client that is looked at holds its set. Each is looked at in turn.
*/
class progress {
public:
    static constexpr unsigned node_count = 3, majority = 2;
    static constexpr char const* stuck = "W: a client can never get what it wants";

    /// Of a client at a node: to be asked; has answered; has keys to give back first.
    enum class at : std::uint8_t { open, answered, owing };

    struct client {
        std::uint8_t wants = 0;   ///< which of the rules' sets
        bool looked_at = false;
        bool holds = false;
        std::uint8_t kept = 0;    ///< so many keys stay where they are
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

    explicit progress(progress_rules);

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
    bool lose(state&, unsigned c) const;
    void part(state&, unsigned c) const;
    key_numbers keys_of(client const& c) const { return wanted_[c.wants]; }

    progress_rules const rules_;
    wanted_sets const wanted_;
    unsigned const clients_;
    shape const shape_;
};

std::vector<world> progress_worlds();

}  // namespace redlock::model
