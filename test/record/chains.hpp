// All chains of events up to a length, and what clients do between them.
#pragma once

#include "record/events.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace redlock::test::record {

/// How a chain begins.
enum class start : std::uint8_t { durable, in_memory, everysec, replicated, cluster };

struct findings {
    std::uint64_t chains = 0;  ///< that ended with another state than each earlier one
    std::uint64_t votes = 0;   ///< that counted
    std::uint64_t refusals = 0;
    std::map<std::string_view, std::uint64_t> excluded;  ///< votes of a server that has forgotten a lock, by the limit
    std::vector<std::string> two_holders, needless_refusals;  ///< the first chains of each kind

    bool is_clean() const { return two_holders.empty() && needless_refusals.empty(); }
};

class explorer {
public:
    explorer(settings s, start from, std::string const& source, std::size_t wanted = 3)
        : engine_(s, source), wanted_(wanted), from_(from)
    {
        events_ = s.in_cluster ? cluster_events() : server_events();
    }

    findings run(unsigned events)
    {
        check(first());
        explore(first(), events);
        return std::move(found_);
    }

private:
    enum class observer : std::uint8_t { late, away, staying };

    struct gap {
        std::string_view name;
        milliseconds length;
        milliseconds look;  ///< when a new client looks; negative: none does
    };

    static std::span<gap const> gaps(settings s)
    {
        static constexpr gap unwatched[] = {
            {"0.1 s", 100, -1},
            {"0.1 s, and a new client looks at the end", 100, 100},
            {"1.5 s", 1500, -1},
            {"1.5 s, and a new client looks at the beginning", 1500, to_greet},
            {"25 s", 25'000, -1},
            {"25 s, and a new client looks at the beginning", 25'000, to_greet},
            {"75 s", 75'000, -1},
            {"75 s, and a new client looks at the beginning", 75'000, to_greet},
            {"75 s, and a new client looks at the end", 75'000, 75'000},
        };
        static constexpr gap watched[] = {
            {"0.1 s", 100, -1}, {"1.5 s", 1500, -1}, {"25 s", 25'000, -1}, {"75 s", 75'000, -1}};
        return s.is_watched ? std::span<gap const>(watched) : std::span<gap const>(unwatched);
    }

    // The server is old, a client has just looked, and another one has acquired a lock.
    world first()
    {
        world w;
        w.by = &engine_;
        auto& s = w.here;
        s.run = w.next_id();
        s.replid = w.next_id();
        s.has_last_slot = false;
        if (from_ != start::in_memory && from_ != start::cluster) {
            s.file_log = s.log_on = true;
            s.file_always = s.always = from_ != start::everysec;
            s.log = s.synced = keys();
        } else {
            s.always = true;
        }
        w.now = long_ago;
        core::server_memory before;
        w.greet({&before});
        w.other = w.here;
        w.other.run = w.other.replid = w.next_id();
        w.other.memory = {};
        {
            world o = w;
            o.here = w.other;
            o.greet({&before});
            w.other = o.here;
            w.last_id = o.last_id;
        }
        w.now = -2000;
        w.greet({&before});
        if (from_ == start::replicated) {
            detail::attach(w);
            w.greet({&before});
            w.replica_earlier = w.replica->memory;
        }
        w.now = 0;
        w.backup = w.here.memory;
        w.word_at = never;
        w.greet({&w.away});
        if (engine_.of.is_watched)
            w.look_as_staying();
        w.grant();
        if (engine_.of.in_cluster)
            w.grant_in_last_slot();
        return w;
    }

    void explore(world const& from, unsigned events)
    {
        for (auto const& e : events_) {
            if (!e.applies(from) || is_done())
                continue;
            world w = from;
            e.happen(w);
            w.last_event = w.now;
            ++found_.chains;
            path_.push_back(e.name);
            check(w);
            if (events > 1) {
                for (auto const& g : gaps(engine_.of)) {
                    world next = w;
                    pass(next, g);
                    if (!is_new(next, events))
                        continue;
                    path_.push_back(g.name);
                    if (engine_.of.is_watched)
                        check(next);
                    explore(next, events - 1);
                    path_.pop_back();
                }
            }
            path_.pop_back();
        }
    }

    // With one chain wanted, the first one ends the search.
    bool is_done() const { return wanted_ == 1 && !found_.is_clean(); }

    // Time

    void pass(world& w, gap const& g)
    {
        w.replica_earlier = w.replica ? w.replica->memory : keys();
        auto const end = w.now + g.length;
        auto const has_look = g.look >= 0;
        if (has_look) {
            w.now = end - g.length + g.look;
            core::server_memory late;
            if (auto const record = w.greet({&late}); record)
                acquire(w, *record, late);
        }
        while (engine_.of.is_watched) {
            auto const next = !w.staying.connected ? w.now + to_greet : w.staying.looked + look_after(w, end);
            if (next > end)
                break;
            w.now = std::max(next, w.now);
            w.look_as_staying();
            if (!w.staying.connected && w.now + look_every <= end)
                w.now += look_every - to_greet;
        }
        w.now = end;
        if (g.length >= 1500 && w.here.log)  // everysec
            w.here.synced = *w.here.log;
        if (engine_.of.is_watched && staying_counts(w) && w.votes_from(w.staying.memory) <= w.now)
            w.grant(founded(w, w.staying.memory));
        if (engine_.of.in_cluster && !w.here.has_last_slot && w.now >= w.elsewhere_votes_from)
            w.grant_in_last_slot();
    }

    // The staying client looks each second. A look renews a signature only when a third of it is over. So most looks in
    // a long gap change nothing, and are left out.
    static milliseconds look_after(world const& w, milliseconds end)
    {
        bool const is_settled = w.staying.looked > w.last_event + look_every;
        return is_settled && end - w.staying.looked > max_ttl / 3 + look_every ? max_ttl / 3 + look_every : look_every;
    }

    void acquire(world& w, redis::server_record const& record, core::server_memory const& late)
    {
        if (w.votes_from(late) <= w.now)
            w.grant(founded(w, late));
        if (engine_.of.in_cluster && w.here.has_last_slot && w.last_slot_votes_from(record, late) <= w.now)
            w.grant_in_last_slot();
    }

    static milliseconds founded(world const& w, core::server_memory const& m)
    {
        return m.identity().founded && w.word_began() > 0 ? w.word_began() : never;
    }

    // Whether the word check of a batch with votes shows the word that the staying client knows.
    static bool staying_counts(world const& w)
    {
        auto const* const r = w.here.memory.record;
        return w.here.is_master && w.staying.connected && r && r->text.starts_with(w.staying.memory.word());
    }

    // Checks

    void check(world const& at)
    {
        world w = at;
        w.now += to_greet;
        auto const justified = w.refusal_is_justified_until();
        auto const slot_justified = w.refusal_of_last_slot_is_justified_until();
        core::server_memory late;
        if (auto const record = w.greet({&late, &w.away}); record) {
            judge(w, observer::late, late, w.votes_from(late), justified, false);
            judge(w, observer::away, w.away, w.votes_from(w.away), justified_for(w, w.away, justified), false);
            if (engine_.of.in_cluster && w.here.has_last_slot)
                judge(w, observer::late, late, w.last_slot_votes_from(*record, late), slot_justified, true);
        }
        if (!engine_.of.is_watched)
            return;
        if (staying_counts(at) && at.votes_from(at.staying.memory) <= at.now)
            judge(at, observer::staying, at.staying.memory, at.now, at.now, false);
        w = at;
        w.now = w.staying.connected ? std::max(w.now, w.staying.looked + look_every) : w.now + to_greet;
        auto const then = w.refusal_is_justified_until();
        w.look_as_staying();
        if (w.staying.connected)  // this look may have signed with the policy of the look before
            judge(w, observer::staying, w.staying.memory, w.votes_from(w.staying.memory),
                  justified_for(w, w.staying.memory, std::max(then, w.refusal_is_justified_until())), false);
    }

    // A client that knew another word does not believe the past of a server that it did not know.
    static milliseconds justified_for(world const& w, core::server_memory const& m, milliseconds justified)
    {
        bool const may_be_other = m.identity().restarted && (w.other_is_old || w.word_began() < w.newest_word);
        return may_be_other ? std::max(justified, w.now + max_ttl + follow_time) : justified;
    }

    void judge(world const& w, observer by, core::server_memory const& m, milliseconds votes, milliseconds justified,
               bool last_slot)
    {
        ++(votes <= w.now ? found_.votes : found_.refusals);
        if (votes > std::max(justified, w.now))
            report(found_.needless_refusals, w, by, votes, nullptr);
        for (auto const& l : w.locks) {
            bool const is_forgotten = l.until > votes && l.in_last_slot == last_slot
                                      && (w.here.memory.locks & w.bit(l)) == 0;
            if (!is_forgotten)
                continue;
            if (auto const limit = limit_of(w, by, m, l); !limit.empty())
                ++found_.excluded[limit];
            else
                report(found_.two_holders, w, by, votes, &l);
        }
    }

    // Limits: the only votes that may count although the server has forgotten the lock. A copy of the data that is
    // younger than max_ttl is another limit; no event puts one back.

    std::string_view limit_of(world const& w, observer by, core::server_memory const& m, lock const& l) const
    {
        return granted_after_unseen_switch(l) ? "the log was switched off between two looks"
               : by_late_founding(w, by, m)   ? "automatic: a new client founds"
               : beside_earlier_log(w, l)     ? "automatic: a younger log after a founding"
               : at_other_server(w, by)       ? "another server: a new client"
               : at_unknown_old_master(l)     ? "the record of a promotion was lost within follow_time"
               : on_unseen_replica(w)         ? "the link of the replica broke before a look"
               : before_first_sync(w)         ? "a power cut before the first sync after everysec"
               : in_returned_slot(w, l)       ? "a slot left and came back between two looks"
               : after_hidden_promotion(w)    ? "a promotion was hidden before a look"
                                              : std::string_view();
    }

    // A client that is connected notices within a second that the log was switched off. If the server restarts before
    // that from the log on the disk, the locks of this second are lost. If the log is switched on again before a look,
    // its first rewrite looks like any other rewrite. Until that ends, a restart reads the earlier log.
    static bool granted_after_unseen_switch(lock const& l) { return l.after_unseen_switch; }

    // `automatic` founds a set whose servers have all lost their memory at once. A client that comes later cannot know.
    bool by_late_founding(world const& w, observer by, core::server_memory const& m) const
    {
        return engine_.of.rest == others::new_ && by == observer::late && m.identity().founded && w.word_began() > 0;
    }

    // The set was founded because the server had no memory. Then the server restarts from a log that was written before
    // and is younger than max_ttl. Such a log is a younger copy of the data.
    bool beside_earlier_log(world const& w, lock const& l) const
    {
        return engine_.of.rest == others::new_ && l.founded > w.word_began();
    }

    // A new client cannot know that there was another server at the address.
    static bool at_other_server(world const& w, observer by) { return by == observer::late && w.other_is_old; }

    // Two faults within follow_time: a promotion, and the loss of all that shows it. Only the follow_time is missing.
    static bool at_unknown_old_master(lock const& l) { return l.by_unknown_master; }

    // No look saw the replica, so no look revoked the signature that its copy has.
    static bool on_unseen_replica(world const& w) { return w.copy_without_revocation; }

    // One look saw everysec and a replica for the first time, and a power cut within a second undid what it wrote.
    static bool before_first_sync(world const& w) { return w.unsynced_revocation; }

    // The record has the slot as it was. A client that acquires a lock at the other master looks at this one, too,
    // within a second.
    static bool in_returned_slot(world const& w, lock const& l) { return l.in_last_slot && w.slot_returned_unseen; }

    // The second replication id shows a promotion. Redis clears it when it frees or creates the backlog. If no client
    // has looked before, the same process seems to have been the master all the time.
    static bool after_hidden_promotion(world const& w) { return w.hidden_promotion; }

    // Reports

    void report(std::vector<std::string>& to, world const& w, observer by, milliseconds votes, lock const* l)
    {
        std::string text, events;
        for (std::size_t i = 0; i < path_.size(); i += 2)
            events.append(path_[i]).append("|");
        if (to.size() >= wanted_ || !reported_.insert(events).second)
            return;
        for (auto const step : path_)
            text.append(text.empty() ? "" : " -> ").append(step);
        text += by == observer::late   ? " -> a new client"
                : by == observer::away ? " -> a client that was away"
                                       : " -> a client that stayed";
        text += " counts votes in " + std::to_string(votes - w.now) + " ms";
        if (l)
            text += ", but a lock of " + std::to_string(w.now - l->granted) + " ms ago is valid for "
                    + std::to_string(l->until - votes) + " ms more";
        text += "; the record is " + (w.here.memory.record ? w.here.memory.record->text : std::string("gone"));
        to.push_back(std::move(text));
    }

    // States that were seen before

    bool is_new(world& w, unsigned events)
    {
        canonical_.begin(w.now);
        describe(w);
        canonical_.add(events);
        return seen_.insert(canonical_.hash()).second;
    }

    // Names of processes and words are replaced by the order in which they occur, and times by durations.
    class canonical {
    public:
        void begin(milliseconds now)
        {
            now_ = now;
            names_.clear();
            hash_ = 14695981039346656037u;
        }
        void add(std::uint64_t value)
        {
            hash_ = (hash_ ^ value) * 0x9E3779B97F4A7C15u;
            hash_ ^= hash_ >> 29;
        }
        void add_name(std::uint64_t name)
        {
            if (name == 0)
                return add(0);
            auto const known = std::ranges::find(names_, name);
            add(static_cast<std::uint64_t>(known - names_.begin()) + 1);
            if (known == names_.end())
                names_.push_back(name);
        }
        void add_time(milliseconds t)
        {
            add(static_cast<std::uint64_t>(std::clamp<milliseconds>(t - now_, -200'000, 200'000)));
        }
        std::uint64_t hash() const { return hash_; }

    private:
        milliseconds now_ = 0;
        std::uint64_t hash_ = 0;
        std::vector<std::uint64_t> names_;
    };

    void describe(keys const& k, milliseconds now)
    {
        auto& c = canonical_;
        if (!k.record)
            return c.add(7);
        auto const began = k.record_until - world::kept;
        c.add(k.seen_with_replica);
        c.add_name(k.record->word);
        c.add_name(k.record->run);
        c.add_name(k.record->past);
        c.add(static_cast<std::uint64_t>(k.record->how) * 256 + static_cast<std::uint64_t>(k.record->state));
        c.add_time(began);
        c.add_time(std::max(began + k.record->till, now));
        c.add(std::hash<std::string>()(k.record->slots));
    }

    void describe(server const& s, milliseconds now)
    {
        auto& c = canonical_;
        c.add_name(s.run);
        c.add_name(s.replid);
        c.add_name(s.replid2);
        std::uint64_t flags = 1;
        for (bool const f :
             {s.is_master, s.has_replica, s.has_backlog, s.log_on, s.first_rewrite, s.rewrites, s.has_rewritten,
              s.always, s.file_log, s.file_always, s.has_last_slot, s.log.has_value(), s.dump.has_value()})
            flags = flags * 2 + f;
        c.add(flags);
        describe(s.memory, now);
        if (s.log) {
            describe(*s.log, now);
            describe(s.synced, now);
        }
        if (s.dump) {
            describe(s.dump->data, now);
            c.add_name(s.dump->replid);
        }
    }

    void describe(world& w)
    {
        auto& c = canonical_;
        describe(w.here, w.now);
        if (w.replica) {
            describe(*w.replica, w.now);
            describe(w.replica_earlier, w.now);
        }
        c.add(w.now >= max_ttl);  // the backup is old enough
        describe(w.backup, w.now);
        std::uint64_t flags = 1;
        for (bool const f : {w.linked, w.is_other, w.other_is_old, w.vouches, w.slot_in_doubt, w.staying.connected,
                             w.log_changed, w.unlooked_restart, w.in_doubt, w.doubt_of_promotion, w.word_of_promotion,
                             w.unlooked_promotion, w.hidden_promotion, w.copy_without_revocation, w.unsynced_revocation,
                             w.switched_unseen, w.slot_left_unseen, w.slot_returned_unseen})
            flags = flags * 2 + f;
        c.add(flags);
        for (auto const t : {w.elsewhere_votes_from, w.slot_at, w.signed_at, w.last_signed, w.word_at, w.demoted_at,
                             w.newest_word, w.staying.looked})
            c.add_time(t);
        for (auto const* m : {&w.staying.memory, &w.away}) {
            c.add_name(std::strtoull(m->word().c_str(), nullptr, 16));
            c.add(m->identity().restarted);
            c.add_time(from_point(m->identity().began));
            c.add_time(from_point(m->identity().waits_until));
        }
        c.add(static_cast<std::uint64_t>(w.staying.policy));
        describe_locks(w);
    }

    // A lock is described by the places that remember it, and by its end.
    void describe_locks(world& w)
    {
        std::vector<std::array<std::uint64_t, 2>> all;
        for (auto const& l : w.locks) {
            if (l.until <= w.now)
                continue;
            auto const b = w.bit(l);
            std::uint64_t places = 1;
            w.for_each_keys([&](keys& k) { places = places * 2 + ((k.locks & b) != 0); });
            places = places * 2 + ((w.locks_elsewhere & b) != 0);
            places = places * 2 + l.in_last_slot;
            places = places * 2 + l.after_unseen_switch;
            places = places * 2 + l.by_unknown_master;
            places = places * 2 + (l.granted > w.now);
            places = places * 2 + (l.founded != never);
            all.push_back({places, static_cast<std::uint64_t>(l.until - w.now)});
        }
        std::ranges::sort(all);
        for (auto const& l : all) {
            canonical_.add(l[0]);
            canonical_.add(l[1]);
        }
    }

    engine engine_;
    std::size_t const wanted_;
    start const from_;
    std::span<event const> events_;
    findings found_;
    std::vector<std::string_view> path_;
    canonical canonical_;
    std::unordered_set<std::uint64_t> seen_;
    std::set<std::string> reported_;  ///< the events of the chains that were reported
};

}  // namespace redlock::test::record
