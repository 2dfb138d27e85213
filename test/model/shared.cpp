#include "model/shared.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <utility>

namespace redlock::model {

shared::shared(shared_rules r)
    : rules_(std::move(r)), clients_(static_cast<unsigned>(rules_.clients.size())),
      shape_{.nodes = node_count, .attempts = clients_, .node_bits = 7 + 4 * clients_, .attempt_bits = 12}
{
    bool fits = clients_ <= attempts_max && rules_.quarantine <= 3;
    for (unsigned c = 0; c < clients_; ++c)
        fits = fits && ttl(c) <= 3;
    if (!fits)
        throw std::logic_error("this world does not fit into a packed state");
}

template <class Visit>
void shared::begin(Visit visit) const
{
    state s;
    for (unsigned c = 0; c < clients_; ++c)
        s.clients[c].wants = static_cast<std::uint8_t>(std::ranges::find(rules_.clients, rules_.clients[c]) - rules_.clients.begin());
    visit(s);
}

template <class Visit>
void shared::steps(state const& s, Visit visit) const
{
    using kind = step::kind;
    auto const go = [&](step how) {
        if (!may(s, how))
            return;
        auto next = s;
        carry_out(next, how);
        settle(next);
        visit(how, next, wrong_in(next));
    };
    go({.what = kind::tick});
    for (std::uint8_t c = 0; c < clients_; ++c) {
        go({.what = kind::end, .client = c});
        go({.what = kind::downgrade, .client = c});
    }
    for (std::uint8_t n = 0; n < node_count; ++n) {
        go({.what = kind::crash, .node = n});
        for (std::uint8_t c = 0; c < clients_; ++c) {
            for (auto const what : {kind::ask, kind::renew, kind::consent, kind::upgrade, kind::consent_to_upgrade, kind::late_as_reader,
                                    kind::late_as_writer, kind::late_upgrade, kind::late_downgrade})
                go({.what = what, .client = c, .node = n});
        }
    }
}

bool shared::may(state const& s, step const& how) const
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
    case kind::ask:  // what a node in quarantine grants now only keeps others out
        return !holds && !me.consented[how.node] && node.quarantine == 0;
    case kind::renew:  // in the tick of the last one it gains nothing
        return rules_.renews && holds && me.left < ttl(me.wants);
    case kind::consent:
        return holds && me.renewal > 0 && !me.consented[how.node];
    case kind::upgrade:
        return reads && (is == 'u' || is == 'd') && me.upgrade < ttl(me.wants) && (!me.has_downgraded || rules_.upgrades_again);
    case kind::consent_to_upgrade:
        return reads && me.upgrade > 0 && !me.upgraded[how.node];
    case kind::late_as_reader:  // that of an acquisition alone only keeps others out, and helps its upgrade
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

void shared::carry_out(state& s, step const& how) const
{
    using kind = step::kind;
    auto const c = how.client, n = how.node;
    auto& me = s.clients[c];
    auto& node = s.nodes[n];
    switch (how.what) {
    case kind::tick:
        return tick(s);
    case kind::crash:
        node = {.quarantine = static_cast<std::uint8_t>(rules_.quarantine)};
        return;
    case kind::end:
        return end(s, c);
    case kind::downgrade:
        me.phase = rules_.reader_at_once ? phase::reading : phase::writing;
        me.has_downgraded = true;
        return;
    case kind::ask:
        return ask(s, c, n);
    case kind::renew:
        me.renewal = ttl(me.wants);
        me.consented = {};
        [[fallthrough]];
    case kind::consent:
        return consent(s, c, n);
    case kind::upgrade:
        me.upgrade = ttl(me.wants);
        me.has_upgraded = true;
        if (!rules_.counts_earlier)
            me.upgraded = {};
        [[fallthrough]];
    case kind::consent_to_upgrade:
        return consent_to_upgrade(s, c, n);
    case kind::late_as_reader:
        extend_as_reader(node, c, ttl(me.wants));
        return;
    case kind::late_as_writer:
        extend_as_writer(node, c, ttl(me.wants));
        return;
    case kind::late_upgrade:
        upgrade(node, c, ttl(me.wants));
        return;
    case kind::late_downgrade:
        return downgrade(node, c);
    }
}

// The scripts

namespace {

void raise(std::uint8_t& left, unsigned to)
{
    left = static_cast<std::uint8_t>(std::max<unsigned>(left, to));
}

}  // namespace

bool shared::share(node& at, unsigned c, std::uint8_t ttl) const
{
    if (at.lock > word)
        return false;
    if (at.lock == vacant || rules_.joins_raise)
        raise(at.left, ttl);
    at.lock = word;
    raise(at.ends[c], ttl);
    return true;
}

bool shared::set(node& at, unsigned c, std::uint8_t ttl) const
{
    if (at.lock != vacant)
        return false;
    at.lock = exclusive(c);
    at.left = ttl;
    return true;
}

// Our exclusive form is as good.
bool shared::extend_as_reader(node& at, unsigned c, std::uint8_t ttl) const
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

bool shared::extend_as_writer(node& at, unsigned c, std::uint8_t ttl) const
{
    bool const counts = at.lock == exclusive(c) || (at.ends[c] > 0 && !rules_.writers_count_exclusive);
    if (at.lock == exclusive(c) || at.ends[c] > 0)
        raise(at.left, ttl);
    if (at.ends[c] > 0)
        raise(at.ends[c], ttl);
    set(at, c, ttl);
    return counts;
}

bool shared::upgrade(node& at, unsigned c, std::uint8_t ttl) const
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

void shared::downgrade(node& at, unsigned c) const
{
    if (at.lock != exclusive(c))
        return;
    at.lock = word;
    at.ends[c] = at.left;
}

void shared::release(node& at, unsigned c) const
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

void shared::tick(state& s) const
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

void shared::end(state& s, unsigned c) const
{
    s.clients[c] = {.wants = s.clients[c].wants};
    for (auto& node : s.nodes)
        release(node, c);
}

// A request of the acquisition under way, or of a new one, is carried out.
void shared::ask(state& s, unsigned c, unsigned n) const
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

// The renewal under way is carried out.
void shared::consent(state& s, unsigned c, unsigned n) const
{
    auto& me = s.clients[c];
    auto& node = s.nodes[n];
    auto const life = ttl(me.wants);
    bool const counts = me.phase == phase::writing ? extend_as_writer(node, c, life) : extend_as_reader(node, c, life);
    me.consented[n] = counts && (node.quarantine == 0 || !rules_.quarantine_in_renewals);
    if (std::ranges::count(me.consented, true) >= majority)
        raise(me.left, me.renewal);
}

// The upgrade under way is carried out.
void shared::consent_to_upgrade(state& s, unsigned c, unsigned n) const
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

// Tidies up after a step.
void shared::settle(state& s) const
{
    for (auto& node : s.nodes) {
        if (node.lock == word && std::ranges::count(node.ends, 0) == attempts_max)
            node = {.quarantine = node.quarantine};
    }
    for (auto& me : s.clients) {
        if (me.phase != phase::reading && me.phase != phase::writing)
            continue;
        // What nobody has consented to begins with the next request, and what is no longer than the validity prolongs nothing.
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

char const* shared::wrong_in(state const& s) const
{
    unsigned readers = 0, writers = 0;
    for (auto const& me : s.clients) {
        readers += me.phase == phase::reading;
        writers += me.phase == phase::writing;
    }
    return writers > 1 || (writers == 1 && readers > 0) ? "X: somebody holds the lock beside a writer" : nullptr;
}

packed shared::pack(state const& s) const
{
    auto const own = [&](unsigned c) {
        auto const& me = s.clients[c];
        std::uint64_t bits = me.wants;
        for (auto const two : {static_cast<std::uint8_t>(me.phase), me.left, me.renewal, me.upgrade})
            bits = bits << 2 | two;
        return (bits << 1 | static_cast<unsigned>(me.has_upgraded)) << 1 | static_cast<unsigned>(me.has_downgraded);
    };
    auto const column = [&](unsigned n, numbering const& order) {
        auto const& node = s.nodes[n];
        std::uint64_t bits = 0;
        for (unsigned i = clients_; i-- > 0;) {
            auto const& me = s.clients[order[i]];
            bits = bits << 2 | node.ends[order[i]];
            bits = (bits << 1 | static_cast<unsigned>(me.consented[n])) << 1 | static_cast<unsigned>(me.upgraded[n]);
        }
        auto const lock = node.lock <= word ? node.lock : renumbered(node.lock - 1u, order) + 1;
        return ((bits << 2 | node.quarantine) << 2 | node.left) << 3 | lock;
    };
    return canonical(shape_, own, column);
}

shared::state shared::unpack(packed p) const
{
    state s;
    auto const pop = [&](unsigned bits) { return static_cast<std::uint8_t>(p.pop(bits)); };
    for (unsigned c = 0; c < clients_; ++c) {
        auto& me = s.clients[c];
        me.has_downgraded = pop(1) != 0;
        me.has_upgraded = pop(1) != 0;
        me.upgrade = pop(2);
        me.renewal = pop(2);
        me.left = pop(2);
        me.phase = static_cast<phase>(pop(2));
        me.wants = pop(2);
    }
    for (unsigned n = 0; n < node_count; ++n) {
        auto& node = s.nodes[n];
        node.lock = pop(3);
        node.left = pop(2);
        node.quarantine = pop(2);
        for (unsigned c = 0; c < clients_; ++c) {
            s.clients[c].upgraded[n] = pop(1) != 0;
            s.clients[c].consented[n] = pop(1) != 0;
            node.ends[c] = pop(2);
        }
    }
    return s;
}

std::string shared::tell(state const& s) const
{
    auto text = fmt::format("all is free; the quarantine is {} ticks", rules_.quarantine);
    for (unsigned c = 0; c < clients_; ++c) {
        auto const wants = s.clients[c].wants;
        text += fmt::format("; {} {} with a ttl of {}", static_cast<char>('A' + c), what(wants) == 'w' ? "writes" : "reads", ttl(wants));
    }
    return text;
}

std::string shared::tell(state const& before, step const& how, state const& after) const
{
    using kind = step::kind;
    static constexpr std::array doing{"a tick passes", "a node crashes", "lets go", "downgrades",
                                      "asks", "begins to renew", "renews", "begins to upgrade", "upgrades", "has renewed as a reader before",
                                      "has renewed as a writer before", "has upgraded before", "has downgraded before"};
    std::string text = doing[static_cast<std::size_t>(how.what)];
    if (how.what >= kind::end)
        text = fmt::format("{} {}", static_cast<char>('A' + how.client), text);
    if (how.what == kind::crash || how.what > kind::downgrade) {
        auto const& node = after.nodes[how.node];
        text += fmt::format("; node {}{} has", how.node + 1, before.nodes[how.node].quarantine > 0 ? " (in quarantine)" : "");
        if (node.lock > word)
            text += fmt::format(" {} alone", static_cast<char>('A' + node.lock - exclusive(0)));
        for (unsigned c = 0; c < clients_; ++c) {
            if (node.ends[c] > 0)
                text += fmt::format(" reader {} for {}", static_cast<char>('A' + c), node.ends[c]);
        }
        text += node.lock == vacant ? " nothing" : fmt::format("; the key lives for {}", node.left);
    }
    for (unsigned c = 0; c < clients_; ++c) {
        auto const& was = before.clients[c];
        auto const& is = after.clients[c];
        bool const reads = is.phase == phase::reading;
        if ((reads || is.phase == phase::writing) && (was.phase != is.phase || was.left != is.left))
            text += fmt::format("; {} {} for {} more", static_cast<char>('A' + c), reads ? "reads" : "writes", is.left);
    }
    return text;
}

std::vector<world> shared_worlds()
{
    worlds<shared, shared_rules> w;

    w.safe("shared_rw", "reader, writer", {});
    w.safe("shared_rrw", "2 readers, writer", {.clients = {"r3", "r3", "w3"}});
    w.safe("shared_ttls", "2 readers, 2 writers, two ttls", {.clients = {"r3", "r2", "w3", "w2"}});
    w.safe("shared_heal", "reader, writer, renewals that set again", {.renews = true});
    w.safe("shared_heal_rrw", "2 readers, writer, such renewals, ttl 2", {.clients = {"r2", "r2", "w2"}, .quarantine = 2, .renews = true});
    w.safe("shared_heal_ttls", "2 readers, writer, such renewals, two ttls", {.clients = {"r3", "r2", "w2"}, .renews = true});
    w.safe("shared_upgrade", "one upgrades, reader", {.clients = {"u3", "r3"}});
    w.safe("shared_downgrade", "one upgrades and downgrades, reader", {.clients = {"d3", "r3"}});
    w.safe("shared_downgrade_w", "so, writer, healing renewals", {.clients = {"d3", "w3"}, .renews = true});
    w.safe("shared_downgrade_rw", "so, reader, writer, healing renewals, ttl 2",
           {.clients = {"d2", "r2", "w2"}, .quarantine = 2, .renews = true});
    w.safe("shared_downgrade_2", "two upgrade and downgrade, healing renewals, ttl 2",
           {.clients = {"d2", "d2"}, .quarantine = 2, .renews = true});

    w.large("shared_heal_4", "2 readers, 2 writers, healing renewals, two ttls", {.clients = {"r3", "r2", "w3", "w2"}, .renews = true});
    w.large("shared_heal_rrw_3", "2 readers, writer, healing renewals", {.clients = {"r3", "r3", "w3"}, .renews = true});
    w.large("shared_upgrade_2", "two upgrade, healing renewals", {.clients = {"u3", "u3"}, .renews = true});
    w.large("shared_downgrade_3", "one upgrades and downgrades, reader, healing renewals", {.clients = {"d3", "r3"}, .renews = true});
    w.large("shared_downgrade_4", "two upgrade and downgrade, healing renewals", {.clients = {"d3", "d3"}, .renews = true});
    w.large("shared_downgrade_rw_3", "one upgrades and downgrades, reader, writer, two ttls",
            {.clients = {"d3", "r2", "w2"}, .renews = true});
    w.large("shared_downgrade_2w", "two upgrade and downgrade, writer, healing, ttl 2",
            {.clients = {"d2", "d2", "w2"}, .quarantine = 2, .renews = true});

    w.control("shared_no_quarantine", "nodes forget, and vote at once", {.quarantine = 0});
    w.control("shared_quarantine_short", "quarantine of the longest ttl less a tick", {.quarantine = 2});
    w.control("shared_read_one", "a reader asks one node", {.forgets = false, .read_quorum = 1});
    w.control("shared_validity_late", "validity counts from the majority", {.forgets = false, .validity_from_send = false});
    w.control("shared_join_keeps", "who joins does not raise the key's ttl",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .joins_raise = false});
    w.control("shared_renewal_sets", "a renewal sets the key's ttl, to less",
              {.clients = {"r3", "r2", "w3"}, .forgets = false, .renews = true, .renewals_raise = false});
    w.control("shared_first_deletes", "the first that leaves deletes the key",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .last_deletes = false});
    w.control("shared_counted", "readers are counted, not named",
              {.clients = {"r3", "r3", "w3"}, .forgets = false, .readers_have_names = false});
    w.control("shared_renewal_young", "nodes in quarantine vote on renewals", {.renews = true, .quarantine_in_renewals = false});
    w.control("shared_upgrade_young", "nodes in quarantine vote on upgrades", {.clients = {"u3", "r3"}, .quarantine_in_upgrades = false});
    w.control("shared_upgrade_beside", "a node upgrades beside others",
              {.clients = {"u3", "r3"}, .forgets = false, .upgrades_alone = false});
    w.control("shared_upgrade_all", "an upgrade counts where it is a reader",
              {.clients = {"u3", "r3"}, .forgets = false, .upgrades_count_exclusive = false});
    w.control("shared_upgrade_earlier", "votes of an earlier upgrade count",
              {.clients = {"u3", "r3"}, .renews = true, .counts_earlier = true});
    w.control("shared_upgrade_longer", "an upgrade keeps the reader's validity",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .keeps_longer = true});
    w.control("shared_upgrade_renewal", "a reader's renewal goes on for the writer",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .renewal_outlasts_upgrade = true});
    w.control("shared_writer_renews", "a writer's renewal counts where it is a reader",
              {.clients = {"u3", "r3"}, .forgets = false, .renews = true, .writers_count_exclusive = false});
    w.control("shared_upgrade_again", "upgrades again behind its downgrade",
              {.clients = {"d3", "r3"}, .forgets = false, .upgrades_again = true});
    w.control("shared_downgrade_late", "a writer until the downgrade is confirmed",
              {.clients = {"d3", "r3"}, .forgets = false, .reader_at_once = false});
    return w.all;
}

}  // namespace redlock::model
