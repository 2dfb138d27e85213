// Fencing tokens while the set of nodes changes, without any clock or lock: are they unique, and do they grow?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

/// When the operator reads the counters of the old set, and raises others to the highest of them.
enum class raising : std::uint8_t {
    late,   ///< when no client names the old set any more
    early,  ///< before a client names the new set
};

/// What is explored, and which rule of the procedure is broken.
struct moves_rules {
    /// One after the other; of each its nodes, a bit for each.
    std::vector<unsigned> sets = {0b0111, 0b1111, 0b1110};
    unsigned attempts = 3;
    unsigned numbers = 3;  ///< proposals and counters are anything up to here
    bool stops = false;    ///< all clients stop before the new set is named: no two sets are named at once

    raising when = raising::late;
    bool raises = true;          ///< false: no counter is raised
    bool raises_every = true;    ///< false: of the nodes that the old set has not
    bool reads_majority = true;  ///< false: one node of the old set is enough
};

/** How the set of nodes is changed: attempts of clients that name one set or the other, and an operator who raises
    counters.

    An attempt names a set. It has completed with a number if a majority of that set took exactly this number for it. A
    node takes a number if its counter is lower. (What a node answers in a second round is another number that it takes:
    @ref fencing explores both rounds.)

    To change the set, clients name the new set one after the other, until nobody names the old one. Attempts that have
    not completed by then are abandoned; their requests may still be carried out. The operator reads counters of the old
    set one at a time, and raises others one at a time, while clients go on.

    - M1: no two completed attempts have the same token, whichever sets they name.
    - M2: an attempt that begins when another has completed gets a higher token.
*/
class moves {
public:
    struct node {
        std::uint8_t sets = 0;  ///< a bit for each set that it is in
        std::uint8_t counter = 0;
        bool read = false, raised = false;  ///< by the operator, in this change
    };
    enum class phase : std::uint8_t { going_on, abandoned, completed };
    struct attempt {
        model::moves::phase phase{};
        std::uint8_t set = 0;     ///< that it names
        std::uint8_t number = 0;  ///< 0: it has not begun
        std::uint8_t floor = 0;   ///< the highest token that was complete when it began
        std::array<bool, nodes_max> taken{};
    };
    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
        std::uint8_t old_set = 0;    ///< the new one is that behind it
        bool old_is_named = true;
        std::uint8_t highest = 0;    ///< of the counters that the operator has read
    };
    struct step {
        enum class kind : std::uint8_t { take, leave, read, raise, next } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t set = 0;
        std::uint8_t number = 0;
    };

    explicit moves(moves_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    bool carry_out(state&, step const&) const;
    bool take(state&, step const&) const;
    bool leave(state&) const;
    bool read(state&, unsigned n) const;
    bool raise(state&, unsigned n) const;
    bool next(state&) const;
    char const* settle(state&, unsigned a) const;

    unsigned majority(unsigned set) const;
    bool is_named(state const&, unsigned set) const;
    bool is_to_be_raised(state const&, node const&) const;
    bool has_raised(state const&) const;

    moves_rules const rules_;
    unsigned const number_bits_;
    shape const shape_;
};

std::vector<world> moves_worlds();

}  // namespace redlock::model
