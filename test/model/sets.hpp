// Several locks at once, with time, crashes that forget, and renewals: is one of them ever held twice?
#pragma once

#include "model/explorer.hpp"
#include "model/node_keys.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

/// What is explored, and which rule is left out.
struct sets_rules {
    std::vector<std::string_view> sets = {"ab", "bc"};  ///< what each client wants: a letter for each lock, in the order of the keys
    unsigned ttl = 3;         ///< in ticks
    bool forgets = true;      ///< nodes crash, forget, and come back
    bool quarantines = true;  ///< for a ttl after that a node has no vote
    bool grows = false;       ///< all rounds of an acquisition have one value, and keep in the order of the locks what they can get
    bool renews = false;      ///< also sets missing keys again; this does not count for this renewal

    bool counts_some = false;    ///< a node sets those that are free, and counts if there are any
    bool extends_some = false;   ///< so does a renewal
    bool counts_earlier = false; ///< who has granted all in an earlier round of one that grows counts for this one
    bool trims_late = false;     ///< what gives keys back may be carried out behind a later round

    /// What a round that grows asks for: all, or only what comes behind the part that a quorum of nodes holds, or one node.
    enum class asking : std::uint8_t { all, rest_of_quorum, rest_of_one } asks = asking::all;
};

/** What the scripts for several locks do to the keys of three nodes, with time in ticks, any delays, and clocks that agree.

    - E: no two clients whose validity is not over have a lock in common.

    It stands on @ref exclusion: validity, quarantine and renewals are the same, and what need not be explored there need not be here.
    A request may be carried out more than once, which is more than the protocol allows. One that grows may also do what one that wants
    all or nothing would, so where one grows all do.

    Of one that grows,
    - *a round begins* with the first of its requests that is granted: only votes of this round count, and the validity is its. It may
      be lost at any moment.
    - *Requests of earlier rounds* may be carried out as long as the value is wanted. Before the set is held they do what those of this
      round do, less the vote. Later they are `step::kind::late`.
    - *What is kept* is up to chance: anything from any number on may be given back. But on a node it is given back before that carries
      out the requests of later rounds, so not after its vote.
    - *What is left of a value that nobody wants* only keeps others out, also what a late request sets. So there are no tombstones
      here: they spare others a wait, and that they are missing makes no two holders.
*/
class sets {
public:
    enum class phase : std::uint8_t { idle, asking, holding };
    static constexpr unsigned node_count = 3, majority = 2;

    struct node {
        node_keys keys{};
        std::uint8_t quarantine = 0;
    };
    struct client {
        std::uint8_t wants = 0;    ///< which of the rules' sets
        sets::phase phase = sets::phase::idle;
        std::uint8_t left = 0;     ///< ticks of validity; zero while asking: between two rounds
        std::uint8_t renewal = 0;  ///< ticks of validity that the renewal under way would give; 0: none is
        std::uint8_t kept = 0;     ///< so many keys it does not ask for any more
        bool again = false;        ///< the round is not its first; only looked at where something may come late that must not
        std::array<bool, node_count> consented{};
    };
    struct state {
        std::array<node, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t { tick, crash, end, lose, ask, late, trim, renew, consent, touch } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
        std::uint8_t from = 0;  ///< of a trim: the first key that is given back
    };

    explicit sets(sets_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    bool may(state const&, step const&) const;
    void carry_out(state&, step const&) const;
    void tick(state&) const;
    void end(state&, unsigned c) const;
    void lose(client&) const;
    void ask(state&, unsigned c, unsigned n) const;
    void begin_round(state&, unsigned c) const;
    void consent(state&, unsigned c, unsigned n) const;
    bool extend(state&, unsigned c, unsigned n) const;
    void settle(state&) const;
    char const* wrong_in(state const&) const;
    key_numbers keys_of(client const& c) const { return wanted_[c.wants]; }

    sets_rules const rules_;
    wanted_sets const wanted_;
    unsigned const clients_;
    shape const shape_;
};

std::vector<world> sets_worlds();

}  // namespace redlock::model
