// The fencing protocol without any clock or lock: are the tokens unique, and do they grow?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::model {

/// When a client believes that it has a token.
enum class counting : std::uint8_t {
    exact,                ///< as the protocol says: a quorum took exactly this number for it
    granted,              ///< a quorum has carried out its TAKE, whether or not it took the number
    majority_of_granted,  ///< so it has, and a majority of these nodes took the number
    highest,              ///< a quorum has answered its INCR: the highest answer is the token
    lowest,               ///< the same with the lowest answer, as the others have passed it
};

/// What is explored, and which rule of the protocol is broken.
struct fencing_rules {
    unsigned nodes = 3;
    unsigned attempts = 2;
    unsigned quorum = 2;
    unsigned numbers = 4;    ///< proposals, hints and counters are anything up to here
    unsigned forgetful = 0;  ///< so many nodes may forget their counters, as often as they like
    bool resends = false;    ///< commands are carried out any number of times; what a node answered last counts

    bool compares = true;         ///< false: TAKE overwrites a higher counter too, and every change is answered with "taken"
    bool equal_is_taken = false;  ///< so is a TAKE that finds just this number, as if it had come before
    bool increments = true;       ///< false: the second trip raises counters and asks for them, and adds nothing
    bool ends = false;            ///< a counter that has come to `numbers` stays there, and INCR answers that again
    bool reproposes = false;      ///< a client goes on to a higher number, and counts who took the lower one
    model::counting counting = counting::exact;
};

/** The protocol of the fencing tokens: whatever may happen to the counters, in any order.

    Each node has a counter. An attempt sends TAKE with a number of its own to all nodes: a node whose counter is lower sets it to
    this number and answers "taken" (`ZADD GT CH`). If a quorum took it, it is the token. If not, the attempt sends RAISE with
    another number, to which a node raises its counter if that is lower (`ZADD GT`), and INCR: the node adds one and answers what
    it has now (`ZINCRBY`). If a quorum answered the same, this is the token.

    - F1: no two completed attempts have the same token.
    - F2: an attempt that begins when another has completed gets a higher token.

    Both are violated only at the moment in which an attempt completes, so that is where they are checked.

    More is possible here than in the protocol:
    - *There are no locks.* Whatever nodes have granted, and whenever they do so again, their answers may be among these.
    - *Any command, at any moment*: a node may carry out INCR before TAKE, or though the first trip did well. RAISE comes with any
      number, even if nobody has sent it.
    - *A quorum may be mixed* of nodes that took a number by TAKE, and nodes that answered it to INCR.

    What need not be explored, because each behaviour that it adds has a twin here that breaks the same property:
    - *Losing a command* is never carrying it out: nothing waits for it. So is a TAKE that is not taken.
    - *A command whose answer does not count*, because it is lost or late, or is not the token in the end, does no more to a
      counter than a RAISE. So do those of attempts that give up, of completed ones, and of all that came before: counters begin
      at zero. Of a command that is sent again one answer counts, at most; `resends` explores it nevertheless.
    - *RAISE* is carried out just before an INCR at its node: a TAKE would either set a higher number, or not be taken. *A node
      forgets* just before its next command. Going back to an older counter is to forget, and a RAISE.
    - *An attempt begins* with the first command whose answer counts: the later, the more must be below its token. It chooses its
      number when it is needed.
    - *Answers arrive* at once: what is completed earlier binds more attempts.
*/
class fencing {
public:
    struct node {
        std::uint8_t counter = 0;
        std::uint8_t forgot = 0;
    };
    struct attempt {
        std::uint8_t completed = 0;
        std::uint8_t number = 0;  ///< of its TAKE, 0 as long as none was carried out; when it has completed, its token
        std::uint8_t value = 0;   ///< the answer to its INCR that counts; 0 as long as there is none
        std::uint8_t floor = 0;   ///< the highest token that was complete when it began
        std::array<std::uint8_t, nodes_max> at{};  ///< for each node, what the client has in hand
    };
    static constexpr std::uint8_t granted = 1, taken = 2, answered = 4;

    struct state {
        std::array<node, nodes_max> nodes{};
        std::array<attempt, attempts_max> attempts{};
    };
    struct step {
        enum class kind : std::uint8_t { take, increment } what;
        std::uint8_t attempt = 0;
        std::uint8_t node = 0;
        std::uint8_t number = 0;
        bool forgets = false;  ///< the node has just forgotten its counter
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
    bool carry_out(state&, step const&) const;
    bool forget(state&, unsigned n) const;
    bool take(state&, unsigned a, unsigned n, std::uint8_t number) const;
    bool increment(state&, unsigned a, unsigned n, std::uint8_t number) const;
    void note_floor(state&, unsigned a) const;
    bool begun(attempt const&) const;
    std::uint8_t token(attempt const&) const;
    char const* settle(state&, unsigned a) const;

    fencing_rules const rules_;
    unsigned const number_bits_;
    shape const shape_;
};

std::vector<world> fencing_worlds();

}  // namespace redlock::model
