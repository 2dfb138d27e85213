// Time, crashes that forget, quarantine and renewal: is there ever more than one holder?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

/// What is explored, and which rule is left out.
struct exclusion_rules {
    unsigned nodes = 3;
    unsigned clients = 2;
    unsigned ttl = 3;             ///< in ticks
    bool forgets = true;          ///< nodes crash, forget, and come back
    unsigned quarantine = 3;      ///< in ticks: for so long after a restart a node has no vote
    /// Which young nodes, in quarantine, vote all the same. All clients are newcomers here: none has seen a node crash.
    enum class newness { never, majority_is_young, all_are_young } taken_for_new = newness::never;
    bool spares_an_old_node = false;  ///< no crash leaves young nodes alone

    bool renews = false;
    bool heals = false;           ///< a renewal sets the key again where it is missing; this does not count for this renewal

    unsigned session_nodes = 0;   ///< so many nodes keep a key for @ref session only, whatever is asked for, and promise no more
    unsigned session = 2;         ///< in ticks, less than the ttl

    /// Of the promises of those that have consented: which one a client's validity ends with.
    enum class promise { least_of_a_majority, longest, ignored } heeds = promise::least_of_a_majority;

    bool validity_from_send = true;   ///< false: from the moment of the majority
    bool quarantine_in_renewals = true;  ///< false: a node in quarantine has a vote on renewals
    bool healed_counts_at_once = false;
    bool accepts_late = false;        ///< a renewal whose majority comes when the old validity is over is accepted
    bool checks_holes = true;         ///< P2
    bool checks_survival = false;     ///< S
};

/** Locks by majority, with time in ticks, any delays, and clocks that agree.

    A client acquires again and again, each time with a new value: nothing limits the number of acquisitions, renewals,
    crashes and ticks. Validity counts from before the first send; an acquisition completes with wins from a majority while
    its validity is not over. A crash takes all keys of a node and begins its quarantine; a node in quarantine sets the
    key, but its win does not count, unless the set is taken for newly started. A renewal prolongs the validity, counted from its own sending, when a majority has
    consented, each with a key that it had, before the old validity is over. Quarantine holds for both. Of a majority the longest
    promises count: it ends with the least of these.

    - P1: no two clients are within their validity at the same tick.
    - P2: nobody becomes valid again, by the same value, after somebody else was valid in between.
    - S: no hold is prolonged by a renewal that began after every node had crashed in the time of this hold. Healing is there
      to break this one.

    What need not be explored, because each behaviour that it adds has a twin here that breaks the same property:
    - *Losing a message*, and refusals: nothing waits for them. A commit whose answer is lost is one of these: its key is there, and its
      client, which does not count it, gives it up with the attempt.
    - *An acquisition or a renewal begins* with the first of its messages that is carried out: its validity ends the later.
    - *Answers arrive* at once: what begins earlier overlaps more.
    - *What an attempt leaves behind* when it has given up, run out or been released (keys, messages under way) only keeps
      others out. So its keys go at once, and its client begins anew.
    - *Renewals of a holder that came to nothing* may still be carried out at any moment, any number of them: that is
      `step::kind::touch`. It does what a late ACQ of the holder does, if keys are set again at all.
*/
class exclusion {
public:
    enum class phase : std::uint8_t { idle, asking, holding };

    struct node {
        std::uint8_t owner = 0;  ///< 0: none, otherwise the client plus one
        std::uint8_t left = 0;   ///< ticks for which the key lives
        std::uint8_t quarantine = 0;
        std::uint8_t session = 0;  ///< whether it keeps keys for a session only
    };
    struct client {
        exclusion::phase phase = exclusion::phase::idle;
        std::uint8_t left = 0;      ///< ticks of validity; zero while holding: over, but a late renewal may come
        std::uint8_t renewal = 0;   ///< ticks of validity that the renewal under way would give; 0: none is
        std::uint8_t intruded = 0;  ///< somebody else was valid since this client was
        std::uint8_t outlived = 0;  ///< the renewal under way began after every node had crashed
        /// For each node: what became of the current round (ACQ, then renewals) there, whether it has carried ACQ out, and
        /// whether it has crashed since the client holds the lock.
        std::array<std::uint8_t, nodes_max> at{};
    };
    static constexpr std::uint8_t consented = 1, in_vain = 2, round = 3, acquired = 4, crashed = 8;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { tick, crash, acquire, end, renew, consent, touch } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit exclusion(exclusion_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    state tick(state const&) const;
    bool acquire(state&, unsigned c, unsigned n) const;
    bool touch(state&, unsigned c, unsigned n) const;
    bool consent(state&, unsigned c, unsigned n) const;
    void end(state&, unsigned c) const;
    bool votes(state const&, unsigned n) const;
    unsigned young(state const&) const;
    unsigned consents(client const&) const;
    unsigned life_on(node const& n) const { return n.session ? rules_.session : rules_.ttl; }
    unsigned unpromised(state const&, client const&) const;
    char const* settle(state const& before, state&) const;
    bool outlives(client const&) const;

    exclusion_rules const rules_;
    unsigned const majority_;
    unsigned const owner_bits_, at_bits_;
    shape const shape_;
};

std::vector<world> exclusion_worlds();

}  // namespace redlock::model
