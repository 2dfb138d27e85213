// Model of readers and writers, with time, crashes that forget, and renewals: does a writer ever hold the lock together
// with another client?
#include "model/explorer.hpp"
#include "model/worlds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::model {

namespace {

void raise(std::uint8_t& left, unsigned to) { left = static_cast<std::uint8_t>(std::max<unsigned>(left, to)); }

/// The explored protocol, and the rule that is left out.
struct shared_rules {
    /// The kind of each client, then its ttl in ticks. `w` writes, and `r` reads. `u` reads and may upgrade. `d` may
    /// also downgrade then.
    std::vector<std::string_view> clients = {"r3", "w3"};
    bool forgets = true;      ///< nodes crash, forget, and come back
    unsigned quarantine = 3;  ///< in ticks; a node has no vote for this time after a restart
    bool renews = false;      ///< a renewal also sets missing keys again; such a node does not count for it

    // The rules of the scripts.
    bool joins_raise = true;     ///< false: a reader that joins does not raise the lock's ttl
    bool renewals_raise = true;  ///< false: a renewal sets the lock's ttl, even to less
    bool last_deletes = true;    ///< false: the first reader that leaves deletes the lock
    /// False: readers are only counted. If a reader leaves a node where it has no entry, it removes another reader.
    bool readers_have_names = true;
    bool upgrades_alone = true;  ///< false: a node also upgrades beside other readers

    // The rules of the clients.
    unsigned read_quorum = 2;
    bool validity_from_send = true;         ///< false: from the moment of the majority
    bool quarantine_in_renewals = true;     ///< false: a node in quarantine has a vote on renewals
    bool quarantine_in_upgrades = true;     ///< false: a node in quarantine has a vote on upgrades
    bool writers_count_exclusive = true;    ///< false: a writer's renewal also counts on nodes where it is a reader
    bool upgrades_count_exclusive = true;   ///< false: an upgrade also counts on nodes where it is a reader
    bool counts_earlier = false;            ///< a node that granted an earlier upgrade of this hold counts
    bool upgrades_again = false;            ///< upgrades again after a downgrade, whose requests may be late
    bool renewal_outlasts_upgrade = false;  ///< answers to a renewal before the upgrade count for the writer
    bool keeps_longer = false;              ///< an upgrade does not shorten the reader's validity
    bool reader_at_once = true;             ///< false: a client that downgrades is a writer until confirmed
};

/** The effects of the scripts for readers and writers on the keys of three nodes, with time in ticks, any delays, and
    clocks that agree.

    A node has the lock's key: it is free, or has an exclusive holder, or contains the word for readers. With that word,
    each reader has an entry, which expires by itself. The entries mean nothing without the word, and are removed with
    it.

    - X: nobody is within its validity while a writer is.

    The model builds on @ref exclusion: validity, quarantine and renewals are the same, and what need not be explored
    there need not be explored here. The model allows more than the protocol. A request may be carried out more than
    once, and a renewal and an upgrade of one hold may run at the same time.

    - *Late requests* of a holder are `late_…`. They are carried out at any moment, any number of times. They belong to
      its acquisition and its renewals, as a reader and, if it has been a writer, as a writer. They also belong to an
      upgrade, even if it failed or the client has downgraded since, or to the downgrade.
    - *An upgrade begins* with its first request that is granted, so its validity ends as late as possible.
    - *Leftovers of a value that nobody wants* (entries, keys, requests under way, upgrades and downgrades of these)
      only keep others out. A node with an entry that nobody needs lets in no more clients than a free node. So
      leftovers are removed at once, and the word with the last entry. The model needs neither tombstones nor the expiry
      of readers that have died.
    - *Grants of a node in quarantine* to an acquisition only keep others out, too. They help nobody, except through a
      later renewal, which sets the entry again.
    - *A server that comes back with older keys* is one that forgets, and gets late requests again.
    - *Waiting*, and the order of waiters, changes no key except the list of waiters.
*/
class shared : public three_nodes {
public:
    enum class phase : std::uint8_t { idle, asking, reading, writing };

    struct node {
        std::uint8_t lock = 0;  ///< @ref vacant, @ref word, or @ref exclusive
        std::uint8_t left = 0;  ///< ticks until the lock's key expires
        std::uint8_t quarantine = 0;
        std::array<std::uint8_t, attempts_max> ends{};  ///< ticks until each reader's entry expires; 0: no entry
    };
    static constexpr std::uint8_t vacant = 0, word = 1;
    static constexpr std::uint8_t exclusive(unsigned c) { return static_cast<std::uint8_t>(c + 2); }

    struct client {
        std::uint8_t wants = 0;  ///< the index of the first client like this one in the rules
        shared::phase phase = shared::phase::idle;
        std::uint8_t left = 0;      ///< ticks of validity
        std::uint8_t renewal = 0;   ///< ticks of validity that the renewal under way would give; 0: no renewal
        std::uint8_t upgrade = 0;   ///< ticks of validity that the upgrade under way would give
        bool has_upgraded = false;  ///< or has tried to upgrade
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
            tick,
            crash,
            end,
            downgrade,
            ask,
            renew,
            consent,
            upgrade,
            consent_to_upgrade,
            late_as_reader,
            late_as_writer,
            late_upgrade,
            late_downgrade
        } what;
        std::uint8_t client = 0;
        std::uint8_t node = 0;
    };

    explicit shared(shared_rules r) : rules_(std::move(r)), clients_(static_cast<unsigned>(rules_.clients.size())) {}

    unsigned attempts() const { return clients_; }

    void begin(auto visit) const
    {
        state s;
        for (unsigned c = 0; c < clients_; ++c)
            s.clients[c].wants = static_cast<std::uint8_t>(std::ranges::find(rules_.clients, rules_.clients[c])
                                                           - rules_.clients.begin());
        visit(s);
    }

    void steps(state const&, auto visit) const
    {
        using kind = step::kind;
        visit(step{.what = kind::tick});
        for (std::uint8_t c = 0; c < clients_; ++c) {
            visit(step{.what = kind::end, .client = c});
            visit(step{.what = kind::downgrade, .client = c});
        }
        for (std::uint8_t n = 0; n < node_count; ++n) {
            visit(step{.what = kind::crash, .node = n});
            for (std::uint8_t c = 0; c < clients_; ++c) {
                for (auto const what :
                     {kind::ask, kind::renew, kind::consent, kind::upgrade, kind::consent_to_upgrade,
                      kind::late_as_reader, kind::late_as_writer, kind::late_upgrade, kind::late_downgrade})
                    visit(step{.what = what, .client = c, .node = n});
            }
        }
    }

    bool carry_out(state& s, step const& how) const
    {
        if (!may(s, how))
            return false;
        using kind = step::kind;
        auto const c = how.client, n = how.node;
        auto& me = s.clients[c];
        auto& node = s.nodes[n];
        switch (how.what) {
        case kind::tick:
            tick(s);
            break;
        case kind::crash:
            node = {.quarantine = static_cast<std::uint8_t>(rules_.quarantine)};
            break;
        case kind::end:
            end(s, c);
            break;
        case kind::downgrade:
            me.phase = rules_.reader_at_once ? phase::reading : phase::writing;
            me.has_downgraded = true;
            break;
        case kind::ask:
            ask(s, c, n);
            break;
        case kind::renew:
            me.renewal = ttl(me.wants);
            me.consented = {};
            [[fallthrough]];
        case kind::consent:
            consent(s, c, n);
            break;
        case kind::upgrade:
            me.upgrade = ttl(me.wants);
            me.has_upgraded = true;
            if (!rules_.counts_earlier)
                me.upgraded = {};
            [[fallthrough]];
        case kind::consent_to_upgrade:
            consent_to_upgrade(s, c, n);
            break;
        case kind::late_as_reader:
            extend_as_reader(node, c, ttl(me.wants));
            break;
        case kind::late_as_writer:
            extend_as_writer(node, c, ttl(me.wants));
            break;
        case kind::late_upgrade:
            upgrade(node, c, ttl(me.wants));
            break;
        case kind::late_downgrade:
            downgrade(node, c);
            break;
        }
        return true;
    }

    // Tidies up after a step. Returns the property that the step broke, or null.
    char const* settle(state const&, state& s, step const&) const
    {
        tidy(s);
        unsigned readers = 0, writers = 0;
        for (auto const& me : s.clients) {
            readers += me.phase == phase::reading;
            writers += me.phase == phase::writing;
        }
        return writers > 1 || (writers == 1 && readers > 0) ? "X: somebody holds the lock beside a writer" : nullptr;
    }

    void attempt_fields(auto& bits, auto& s, unsigned c) const
    {
        auto& me = s.clients[c];
        bits(me.has_downgraded, 1);
        bits(me.has_upgraded, 1);
        bits(me.upgrade, 2);
        bits(me.renewal, 2);
        bits(me.left, 2);
        bits(me.phase, 2);
        bits(me.wants, 2);
    }

    void node_fields(auto& bits, auto& s, unsigned n) const
    {
        auto& node = s.nodes[n];
        bits.name(node.lock, 3, exclusive(0));
        bits(node.left, 2);
        bits(node.quarantine, 2);
        for (unsigned i = 0; i < clients_; ++i) {
            auto const c = bits.attempt(i);
            bits(s.clients[c].upgraded[n], 1);
            bits(s.clients[c].consented[n], 1);
            bits(node.ends[c], 2);
        }
    }

    std::string tell(state const& s) const
    {
        auto text = fmt::format("all is free; the quarantine is {} ticks", rules_.quarantine);
        for (unsigned c = 0; c < clients_; ++c) {
            auto const wants = s.clients[c].wants;
            text +=
                fmt::format("; {} {} with a ttl of {}", letter(c), what(wants) == 'w' ? "writes" : "reads", ttl(wants));
        }
        return text;
    }

    std::string tell(state const& before, step const& how, state const& after) const
    {
        using kind = step::kind;
        static constexpr std::array doing{"a tick passes",
                                          "a node crashes",
                                          "gives up or releases",
                                          "downgrades",
                                          "asks",
                                          "begins to renew",
                                          "renews",
                                          "begins to upgrade",
                                          "upgrades",
                                          "has renewed as a reader before",
                                          "has renewed as a writer before",
                                          "has upgraded before",
                                          "has downgraded before"};
        std::string text = doing[static_cast<std::size_t>(how.what)];
        if (how.what >= kind::end)
            text = fmt::format("{} {}", letter(how.client), text);
        if (how.what == kind::crash || how.what > kind::downgrade) {
            auto const& node = after.nodes[how.node];
            text += fmt::format("; node {}{} has", how.node + 1,
                                before.nodes[how.node].quarantine > 0 ? " (in quarantine)" : "");
            if (node.lock > word)
                text += fmt::format(" {} alone", letter(node.lock - exclusive(0)));
            for (unsigned c = 0; c < clients_; ++c) {
                if (node.ends[c] > 0)
                    text += fmt::format(" reader {} for {}", letter(c), node.ends[c]);
            }
            text += node.lock == vacant ? " nothing" : fmt::format("; the key lives for {}", node.left);
        }
        for (unsigned c = 0; c < clients_; ++c) {
            auto const& was = before.clients[c];
            auto const& is = after.clients[c];
            bool const reads = is.phase == phase::reading;
            if ((reads || is.phase == phase::writing) && (was.phase != is.phase || was.left != is.left))
                text += fmt::format("; {} {} for {} more", letter(c), reads ? "reads" : "writes", is.left);
        }
        return text;
    }

private:
    bool may(state const& s, step const& how) const
    {
        using kind = step::kind;
        auto const& me = s.clients[how.client];
        auto const& node = s.nodes[how.node];
        bool const reads = me.phase == phase::reading, holds = reads || me.phase == phase::writing;
        auto const is = what(me.wants);
        switch (how.what) {
        case kind::tick:
            return true;
        case kind::crash:
            return rules_.forgets;
        case kind::end:
            return me.phase != phase::idle;
        case kind::downgrade:
            return is == 'd' && me.phase == phase::writing;
        case kind::ask:  // grants of a node in quarantine only keep others out
            return !holds && !me.consented[how.node] && node.quarantine == 0;
        case kind::renew:  // another renewal in the same tick gains nothing
            return rules_.renews && holds && me.left < ttl(me.wants);
        case kind::consent:
            return holds && me.renewal > 0 && !me.consented[how.node];
        case kind::upgrade:
            return reads && (is == 'u' || is == 'd') && me.upgrade < ttl(me.wants)
                   && (!me.has_downgraded || rules_.upgrades_again);
        case kind::consent_to_upgrade:
            return reads && me.upgrade > 0 && !me.upgraded[how.node];
        case kind::late_as_reader:  // a late acquisition only keeps others out, or helps an upgrade
            return holds && is != 'w' && (rules_.renews || is != 'r');
        case kind::late_as_writer:
            return rules_.renews && (me.phase == phase::writing || me.has_downgraded);
        case kind::late_upgrade:
            return holds && me.has_upgraded;
        case kind::late_downgrade:
            return holds && me.has_downgraded;
        }
        return false;
    }

    void tidy(state& s) const
    {
        for (auto& node : s.nodes) {
            if (node.lock == word && std::ranges::count(node.ends, 0) == attempts_max)
                node = {.quarantine = node.quarantine};
        }
        for (auto& me : s.clients) {
            if (me.phase != phase::reading && me.phase != phase::writing)
                continue;
            // A renewal or an upgrade without any consent begins with its next request. A renewal that ends before the
            // validity prolongs nothing.
            if (me.renewal <= me.left || std::ranges::count(me.consented, true) == 0) {
                me.renewal = 0;
                me.consented = {};
            }
            if (std::ranges::count(me.upgraded, true) == 0)
                me.upgrade = 0;
            if (me.upgrade == 0 && !rules_.counts_earlier)
                me.upgraded = {};
        }
    }

    // The scripts. Each returns whether its answer counts.

    bool share(node& at, unsigned c, std::uint8_t ttl) const
    {
        if (at.lock > word)
            return false;
        if (at.lock == vacant || rules_.joins_raise)
            raise(at.left, ttl);
        at.lock = word;
        raise(at.ends[c], ttl);
        return true;
    }

    bool set(node& at, unsigned c, std::uint8_t ttl) const
    {
        if (at.lock != vacant)
            return false;
        at.lock = exclusive(c);
        at.left = ttl;
        return true;
    }

    // The client's exclusive form counts like its entry as a reader.
    bool extend_as_reader(node& at, unsigned c, std::uint8_t ttl) const
    {
        bool const counts = at.lock == exclusive(c) || at.ends[c] > 0;
        if (at.lock > word && at.lock != exclusive(c))
            return false;
        if (at.lock <= word) {
            at.lock = word;
            raise(at.ends[c], ttl);
        }
        if (rules_.renewals_raise)
            raise(at.left, ttl);
        else
            at.left = ttl;
        return counts;
    }

    bool extend_as_writer(node& at, unsigned c, std::uint8_t ttl) const
    {
        bool const counts = at.lock == exclusive(c) || (at.ends[c] > 0 && !rules_.writers_count_exclusive);
        if (at.lock == exclusive(c) || at.ends[c] > 0)
            raise(at.left, ttl);
        if (at.ends[c] > 0)
            raise(at.ends[c], ttl);
        set(at, c, ttl);
        return counts;
    }

    bool upgrade(node& at, unsigned c, std::uint8_t ttl) const
    {
        if (at.lock == exclusive(c)) {
            raise(at.left, ttl);
            return true;
        }
        if (at.ends[c] == 0)
            return false;
        bool const alone = std::ranges::count(at.ends, 0) == attempts_max - 1;
        if (!alone && rules_.upgrades_alone)
            return !rules_.upgrades_count_exclusive;
        at.left = std::max(ttl, at.ends[c]);
        at.lock = exclusive(c);
        at.ends = {};
        return true;
    }

    void downgrade(node& at, unsigned c) const
    {
        if (at.lock != exclusive(c))
            return;
        at.lock = word;
        at.ends[c] = at.left;
    }

    void release(node& at, unsigned c) const
    {
        bool const is_in = at.ends[c] > 0;
        if (at.lock == exclusive(c) || (is_in && !rules_.last_deletes))
            at = {.quarantine = at.quarantine};
        else if (is_in)
            at.ends[c] = 0;
        else if (!rules_.readers_have_names)
            *std::ranges::max_element(at.ends) = 0;
    }

    // The clients

    void tick(state& s) const
    {
        for (auto& node : s.nodes) {
            node.quarantine -= node.quarantine > 0;
            node.left -= node.left > 0;
            for (auto& end : node.ends)
                end -= end > 0;
            if (node.left == 0)
                node = {.quarantine = node.quarantine};
        }
        for (unsigned c = 0; c < clients_; ++c) {
            auto& me = s.clients[c];
            me.left -= me.left > 0;
            me.renewal -= me.renewal > 0;
            me.upgrade -= me.upgrade > 0;
            if (me.phase != phase::idle && me.left == 0)
                end(s, c);
        }
    }

    void end(state& s, unsigned c) const
    {
        s.clients[c] = {.wants = s.clients[c].wants};
        for (auto& node : s.nodes)
            release(node, c);
    }

    // Carries out a request of the acquisition under way, or of a new one.
    void ask(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        bool const writes = what(me.wants) == 'w';
        auto const life = ttl(me.wants);
        if (!(writes ? set(s.nodes[n], c, life) : share(s.nodes[n], c, life)))
            return;
        if (me.phase == phase::idle)
            me.left = life;
        me.phase = phase::asking;
        me.consented[n] = true;
        if (std::ranges::count(me.consented, true) >= (writes ? majority : rules_.read_quorum)) {
            me.phase = writes ? phase::writing : phase::reading;
            me.left = rules_.validity_from_send ? me.left : life;
        }
    }

    // Carries out a request of the renewal under way.
    void consent(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        auto& node = s.nodes[n];
        auto const life = ttl(me.wants);
        bool const counts = me.phase == phase::writing ? extend_as_writer(node, c, life)
                                                       : extend_as_reader(node, c, life);
        me.consented[n] = counts && (node.quarantine == 0 || !rules_.quarantine_in_renewals);
        if (std::ranges::count(me.consented, true) >= majority)
            raise(me.left, me.renewal);
    }

    // Carries out a request of the upgrade under way.
    void consent_to_upgrade(state& s, unsigned c, unsigned n) const
    {
        auto& me = s.clients[c];
        auto& node = s.nodes[n];
        me.upgraded[n] = upgrade(node, c, ttl(me.wants)) && (node.quarantine == 0 || !rules_.quarantine_in_upgrades);
        if (std::ranges::count(me.upgraded, true) < majority)
            return;
        me.phase = phase::writing;
        me.left = rules_.keeps_longer ? std::max(me.left, me.upgrade) : me.upgrade;
        me.upgrade = 0;
        me.upgraded = {};
        if (!rules_.renewal_outlasts_upgrade)
            me.renewal = 0;
    }

    char what(unsigned wants) const { return rules_.clients[wants][0]; }
    std::uint8_t ttl(unsigned wants) const { return static_cast<std::uint8_t>(rules_.clients[wants][1] - '0'); }

    shared_rules const rules_;
    unsigned const clients_;
};

}  // namespace

std::vector<world> shared_worlds()
{
    worlds<shared, shared_rules> w;

    w.safe("shared_rw", "reader, writer", {});
    w.safe("shared_rrw", "2 readers, writer", {.clients = {"r3", "r3", "w3"}});
    w.safe("shared_ttls", "2 readers, 2 writers, two ttls", {.clients = {"r3", "r2", "w3", "w2"}});
    w.safe("shared_heal", "reader, writer, healing renewals", {.renews = true});
    w.safe("shared_heal_rrw", "2 readers, writer, healing renewals, ttl 2",
           {.clients = {"r2", "r2", "w2"}, .quarantine = 2, .renews = true});
    w.safe("shared_heal_ttls", "2 readers, writer, healing renewals, two ttls",
           {.clients = {"r3", "r2", "w2"}, .renews = true});
    w.safe("shared_upgrade", "one upgrades, reader", {.clients = {"u3", "r3"}});
    w.safe("shared_downgrade", "one upgrades and downgrades, reader", {.clients = {"d3", "r3"}});
    w.safe("shared_downgrade_w", "one up- and downgrades, writer, healing renewals",
           {.clients = {"d3", "w3"}, .renews = true});
    w.safe("shared_downgrade_rw", "one up- and downgrades, reader, writer, healing, ttl 2",
           {.clients = {"d2", "r2", "w2"}, .quarantine = 2, .renews = true});
    w.safe("shared_downgrade_2", "two upgrade and downgrade, healing renewals, ttl 2",
           {.clients = {"d2", "d2"}, .quarantine = 2, .renews = true});

    w.large("shared_heal_4", "2 readers, 2 writers, healing renewals, two ttls",
            {.clients = {"r3", "r2", "w3", "w2"}, .renews = true});
    w.large("shared_heal_rrw_3", "2 readers, writer, healing renewals",
            {.clients = {"r3", "r3", "w3"}, .renews = true});
    w.large("shared_upgrade_2", "two upgrade, healing renewals", {.clients = {"u3", "u3"}, .renews = true});
    w.large("shared_downgrade_3", "one upgrades and downgrades, reader, healing renewals",
            {.clients = {"d3", "r3"}, .renews = true});
    w.large("shared_downgrade_4", "two upgrade and downgrade, healing renewals",
            {.clients = {"d3", "d3"}, .renews = true});
    w.large("shared_downgrade_rw_3", "one upgrades and downgrades, reader, writer, two ttls",
            {.clients = {"d3", "r2", "w2"}, .renews = true});
    w.large("shared_downgrade_2w", "two upgrade and downgrade, writer, healing, ttl 2",
            {.clients = {"d2", "d2", "w2"}, .quarantine = 2, .renews = true});

    w.control("shared_no_quarantine", "nodes forget, and vote at once", {.quarantine = 0});
    w.control("shared_quarantine_short", "quarantine of the longest ttl less a tick", {.quarantine = 2});
    w.control("shared_read_one", "a reader asks one node", {.forgets = false, .read_quorum = 1});
    w.control("shared_validity_late", "validity counts from the majority",
              {.forgets = false, .validity_from_send = false});
    w.control("shared_join_keeps", "a reader that joins does not raise the key's ttl",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .joins_raise = false});
    w.control("shared_renewal_sets", "a renewal sets the key's ttl, to less",
              {.clients = {"r3", "r2", "w3"}, .forgets = false, .renews = true, .renewals_raise = false});
    w.control("shared_first_deletes", "the first that leaves deletes the key",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .last_deletes = false});
    w.control("shared_counted", "readers are counted, not named",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .readers_have_names = false});
    w.control("shared_renewal_young", "nodes in quarantine vote on renewals",
              {.renews = true, .quarantine_in_renewals = false});
    w.control("shared_upgrade_young", "nodes in quarantine vote on upgrades",
              {.clients = {"u3", "r3"}, .quarantine_in_upgrades = false});
    w.control("shared_upgrade_beside", "a node upgrades beside other readers",
              {.clients = {"u3", "r3"}, .forgets = false, .upgrades_alone = false});
    w.control("shared_upgrade_all", "an upgrade counts on nodes where it is a reader",
              {.clients = {"u3", "r3"}, .forgets = false, .upgrades_count_exclusive = false});
    w.control("shared_upgrade_earlier", "votes of an earlier upgrade count",
              {.clients = {"u3", "r3"}, .renews = true, .counts_earlier = true});
    w.control("shared_upgrade_longer", "an upgrade keeps the reader's validity",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .keeps_longer = true});
    w.control("shared_upgrade_renewal", "a reader's renewal counts for the writer",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .renewal_outlasts_upgrade = true});
    w.control("shared_writer_renews", "a writer's renewal counts on nodes where it is a reader",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .writers_count_exclusive = false});
    w.control("shared_upgrade_again", "a client upgrades again after its downgrade",
              {.clients = {"d3", "r3"}, .forgets = false, .upgrades_again = true});
    w.control("shared_downgrade_late", "a client is a writer until the downgrade is confirmed",
              {.clients = {"d3", "r3"}, .forgets = false, .reader_at_once = false});
    return w.all;
}

}  // namespace redlock::model
