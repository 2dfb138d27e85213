// The fencing protocol without any clock: are the tokens unique, and do they grow?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace redlock::model {

/// What an attempt completed with: its token, its floor, the token of the other that had completed (0: none).
using outcomes = std::set<std::array<std::uint8_t, 3>>;

/// What is explored, and which condition of the protocol is left out.
struct fencing_rules {
    unsigned nodes = 3;
    unsigned attempts = 2;
    unsigned quorum = 2;        ///< wins that are needed, and equal answers or acknowledgements
    unsigned counter_max = 0;   ///< each counter begins anywhere from 0 to here: other attempts came before
    unsigned hint_max = 0;      ///< each attempt's hint is anything from 0 to here
    unsigned forgetful = 0;     ///< so many nodes may forget key and counter, as often as they like
    bool heals = false;         ///< renewals of completed attempts set the key again where it is missing

    bool writes_back = true;    ///< false: completes with the highest counter at once
    bool raise_compares_owner = true;    ///< RAISE and extensions do
    bool strangers_acknowledge = false;  ///< acknowledgements count from nodes outside S
    bool majority_of_wins = false;       ///< a majority of S is enough where a quorum is asked for
    bool resends = false;                ///< an acquisition whose outcome is unknown is sent again with the same value

    outcomes* collect = nullptr;         ///< if given, outcomes are collected, and not judged
};

/** Judges (or collects) the completion of an attempt.

    @param floor the highest token that was complete when it began
    @param others the tokens that are complete by now
*/
char const* judge(fencing_rules const&, std::uint8_t token, std::uint8_t floor, std::vector<std::uint8_t> const& others);

/** The protocol of the fencing tokens, with every loss, every delay, and keys that vanish at any moment.

    An attempt sends ACQ to all nodes; a node whose key is free adds one to its counter, raises it to the hint, writes the
    attempt into the key and answers with the counter. With wins from a quorum in hand the attempt decides: S are the nodes whose
    win it has, its token is the highest counter among them. If a quorum of S answered exactly that, it has completed. Otherwise
    it sends RAISE to all; a node whose key is still the attempt's raises its counter to the token and acknowledges; a
    quorum of acknowledgements from S completes the attempt. RELEASE (of an attempt that has completed or given up) raises
    likewise, and deletes the key. Extensions do to a node what RAISE does.

    - F1: no two completed attempts have the same token.
    - F2: an attempt that begins when another has completed gets a higher token.

    Both are violated only at the moment in which an attempt completes, so that is where they are checked.

    What need not be explored, because each behaviour that it adds has a twin here that breaks the same property:
    - *Losing a message* is never carrying it out: nothing waits for it. So is a denial.
    - *A key vanishes* just before the next ACQ at its node: until then its absence only forbids. So the node carries out every
      ACQ, and whose key was there has lost it. The same goes for a node that forgets.
    - *An attempt begins* with the first of its messages that is carried out: the later, the more must be below its token.
    - *Answers arrive* when the attempt decides, which it may do at any moment with any S; *acknowledgements* at once: what is
      completed earlier binds more attempts.
    - *RELEASE* is a RAISE whose acknowledgement nobody waits for, and a key that vanishes. RAISE is carried out again
      without effect, so extensions need no message of their own.
    - An attempt that gives up with too few wins releases with a counter that it has in hand; with more wins it is one that has
      decided and never completes.

    `plain_fencing` leaves nothing out; the worlds `plain_…` compare what comes out of both.
*/
class fencing {
public:
    enum class phase : std::uint8_t { asking, raising, completed, given_up };

    struct node {
        std::uint8_t owner = 0;  ///< 0: none, otherwise the attempt plus one
        std::uint8_t counter = 0;
        std::uint8_t forgot = 0;
    };
    struct attempt {
        fencing::phase phase = fencing::phase::asking;
        std::uint8_t token = 0;
        std::uint8_t floor = 0;  ///< the highest token that was complete when it began; forgotten when it has completed
        std::uint8_t hint = 0;
        /// For each node: 0 as long as its ACQ was not carried out; while asking, the counter; then one of those below.
        std::array<std::uint8_t, nodes_max> at{};
        std::uint8_t resent = 0;  ///< bit n: node n has carried the second ACQ out
    };
    static constexpr std::uint8_t outside = 1, in_s = 2, acknowledged = 3;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        enum class kind : std::uint8_t { acquire, resend, decide, raise, give_up } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        bool forgets = false;      ///< the node has just forgotten everything
        bool answer_used = false;  ///< of a second ACQ
    };

    explicit fencing(fencing_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    template <class Visit>
    void carry_out(state const&, unsigned a, unsigned n, Visit visit) const;
    template <class Visit>
    void carry_out_again(state const&, unsigned a, unsigned n, Visit visit) const;
    template <class Visit>
    void decide(state const&, unsigned a, Visit visit) const;
    template <class Visit>
    void raise(state const&, unsigned a, unsigned n, Visit visit) const;
    bool acquire(state&, unsigned a, unsigned n, bool forgets) const;
    char const* complete(state&, unsigned a) const;
    bool begun(attempt const&) const;

    fencing_rules const rules_;
    unsigned const counter_bits_ = 4, owner_bits_, at_bits_ = 4;
    shape shape_;
};

report explore_fencing(fencing_rules const&, std::uint64_t states_max);
std::vector<world> fencing_worlds();

}  // namespace redlock::model
