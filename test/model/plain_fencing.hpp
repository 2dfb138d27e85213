// The fencing protocol once more, with nothing left out: it shows that `fencing` may leave out what it does.
#pragma once

#include "model/fencing.hpp"

namespace redlock::model {

/** Every message, answer, denial, vanishing key, extension and release is a step of its own, at any moment after its cause.

    Far more states for the same protocol; only renumbered states are united. Knows the rules of `fencing` but hints, healing and
    second messages.
*/
class plain_fencing {
public:
    enum class phase : std::uint8_t { waiting, asking, raising, completed, given_up };

    struct node {
        std::uint8_t owner = 0, counter = 0, forgot = 0;
    };
    struct attempt {
        plain_fencing::phase phase = plain_fencing::phase::waiting;
        std::uint8_t token = 0;
        std::uint8_t floor = 0;   ///< the highest token that was complete when it began
        std::uint8_t sent = 0;    ///< which of the messages below
        /// For each node: 0 under way, the counter while the answer is under way, that plus `in_hand`, or `denied`.
        std::array<std::uint8_t, nodes_max> acq{};
        std::array<std::uint8_t, nodes_max> in_s{};
        std::array<std::uint8_t, nodes_max> raise{};  ///< under way, acknowledgement under way, in hand, refused
        std::array<std::uint8_t, nodes_max> done{};   ///< which of the other messages were carried out
    };
    static constexpr std::uint8_t in_hand = 8, denied = 15;
    static constexpr std::uint8_t release = 1, extend = 2, raising = 4;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        char const* what;
        std::uint8_t attempt = 0;
        std::uint8_t node = nodes_max;
    };

    /// @param to_the_end false: leaves out giving up and releases
    plain_fencing(fencing_rules, bool to_the_end);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    template <class Go>
    void client_steps(state const&, unsigned a, Go go) const;
    template <class Go>
    void node_steps(state const&, unsigned a, unsigned n, Go go) const;
    char const* complete(state&, unsigned a) const;

    fencing_rules const rules_;
    bool const to_the_end_;
    shape const shape_;
};

std::vector<world> plain_fencing_worlds();

}  // namespace redlock::model
