// Readers beside each other, a writer alone, with time, crashes that forget, and renewals: is a writer ever beside somebody?
#pragma once

#include "model/explorer.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::model {

/// What is explored, and which rule is left out.
struct shared_rules {
    /// What each client is: `w` writes, `r` reads, `u` reads and may upgrade, `d` may downgrade then; behind it its ttl in ticks.
    std::vector<std::string_view> clients = {"r3", "w3"};
    bool forgets = true;      ///< nodes crash, forget, and come back
    unsigned quarantine = 3;  ///< in ticks: for so long after a restart a node has no vote
    bool renews = false;      ///< also sets again what is missing; this does not count for this renewal

    // What the scripts do.
    bool joins_raise = true;         ///< false: who comes later leaves the lock's ttl as it is
    bool renewals_raise = true;      ///< false: a renewal sets the lock's ttl, which may be longer already
    bool last_deletes = true;        ///< false: the first reader that leaves deletes the lock
    bool readers_have_names = true;  ///< false: they are only counted, so who leaves where it is not takes out somebody else
    bool upgrades_alone = true;      ///< false: also beside other readers

    // What the clients do.
    unsigned read_quorum = 2;
    bool validity_from_send = true;         ///< false: from the moment of the majority
    bool quarantine_in_renewals = true;     ///< false: a node in quarantine has a vote on renewals
    bool quarantine_in_upgrades = true;     ///< false: and on upgrades
    bool writers_count_exclusive = true;    ///< false: a writer's renewal counts where it is a reader, too
    bool upgrades_count_exclusive = true;   ///< false: so does an upgrade
    bool counts_earlier = false;            ///< who has granted an earlier upgrade of the same hold counts for this one
    bool upgrades_again = false;            ///< also behind a downgrade, whose requests may be late
    bool renewal_outlasts_upgrade = false;  ///< what a renewal was told before the upgrade counts for the writer
    bool keeps_longer = false;              ///< an upgrade does not shorten what the reader had
    bool reader_at_once = true;             ///< false: who downgrades is a writer until that is confirmed
};

/** What the scripts for readers and writers do to the keys of three nodes, with time in ticks, any delays, and clocks that agree.

    A node has the lock's key: free, an exclusive holder's, or the word for readers; and behind that word an entry for each reader,
    which ends by itself. The entries mean nothing without the word, and go with it.

    - X: nobody is within its validity while a writer is.

    It stands on @ref exclusion: validity, quarantine and renewals are the same, and what need not be explored there need not be here.
    A request may be carried out more than once, and a renewal and an upgrade of one hold at the same time, which is more than the
    protocol allows.

    - *Late requests* of a holder are `late_…`, at any moment, any number of them: those of its acquisition and its renewals, as a
      reader and, if it has been one, as a writer; of an upgrade, also one that came to nothing, and behind the downgrade; of the downgrade.
    - *An upgrade begins* with the first of its requests that is granted: its validity ends the later.
    - *What is left of a value that nobody wants* (entries, keys, requests under way, also an upgrade or a downgrade of what is left) only
      keeps others out: a node with an entry that nobody needs lets in no more than a free one does. So it goes at once, and the word with
      the last entry. Neither tombstones nor the ends of readers that have died are needed for this.
    - *What a node in quarantine grants* to an acquisition keeps others out, too, and helps nobody but by a later renewal, which sets it again.
    - *A server that comes back with older keys* is one that forgets, and is told again by late requests.
    - *Who waits, and who lets whom pass*, changes no key but the list of those who wait.
*/
class shared {
public:
    enum class phase : std::uint8_t { idle, asking, reading, writing };
    static constexpr unsigned node_count = 3, majority = 2;

    struct node {
        std::uint8_t lock = 0;  ///< @ref vacant, @ref word, or @ref exclusive
        std::uint8_t left = 0;  ///< ticks for which the lock's key lives
        std::uint8_t quarantine = 0;
        std::array<std::uint8_t, attempts_max> ends{};  ///< ticks for which each client is in as a reader; 0: it is not
    };
    static constexpr std::uint8_t vacant = 0, word = 1;
    static constexpr std::uint8_t exclusive(unsigned c) { return static_cast<std::uint8_t>(c + 2); }

    struct client {
        std::uint8_t wants = 0;  ///< which of the rules' clients it is like
        shared::phase phase = shared::phase::idle;
        std::uint8_t left = 0;     ///< ticks of validity
        std::uint8_t renewal = 0;  ///< ticks of validity that the renewal under way would give; 0: none is
        std::uint8_t upgrade = 0;  ///< the same of the upgrade
        bool has_upgraded = false;  ///< or has tried to
        bool has_downgraded = false;
        std::array<bool, node_count> consented{};  ///< to the acquisition or the renewal
        std::array<bool, node_count> upgraded{};
    };
    struct state {
        std::array<node, node_count> nodes{};
        std::array<client, attempts_max> clients{};
    };
    struct step {
        enum class kind : std::uint8_t {
            tick, crash, end, downgrade,
            ask, renew, consent, upgrade, consent_to_upgrade,
            late_as_reader, late_as_writer, late_upgrade, late_downgrade
        } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit shared(shared_rules);

    template <class Visit>
    void begin(Visit visit) const;
    template <class Visit>
    void steps(state const&, Visit visit) const;
    packed pack(state const&) const;
    state unpack(packed) const;
    std::string tell(state const&) const;
    std::string tell(state const& before, step const&, state const& after) const;

private:
    // The scripts: whether the answer counts.
    bool share(node&, unsigned c, std::uint8_t ttl) const;
    bool set(node&, unsigned c, std::uint8_t ttl) const;
    bool extend_as_reader(node&, unsigned c, std::uint8_t ttl) const;
    bool extend_as_writer(node&, unsigned c, std::uint8_t ttl) const;
    bool upgrade(node&, unsigned c, std::uint8_t ttl) const;
    void downgrade(node&, unsigned c) const;
    void release(node&, unsigned c) const;

    bool may(state const&, step const&) const;
    void carry_out(state&, step const&) const;
    void tick(state&) const;
    void end(state&, unsigned c) const;
    void ask(state&, unsigned c, unsigned n) const;
    void consent(state&, unsigned c, unsigned n) const;
    void consent_to_upgrade(state&, unsigned c, unsigned n) const;
    void settle(state&) const;
    char const* wrong_in(state const&) const;
    char what(unsigned wants) const { return rules_.clients[wants][0]; }
    std::uint8_t ttl(unsigned wants) const { return static_cast<std::uint8_t>(rules_.clients[wants][1] - '0'); }

    shared_rules const rules_;
    unsigned const clients_;
    shape const shape_;
};

std::vector<world> shared_worlds();

}  // namespace redlock::model
