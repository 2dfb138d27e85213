#pragma once

#include <redlock/clock.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test {

struct told_session;

/// A lock, as its client knows it.
struct told_lock {
    /// A time in which the client may work.
    struct span {
        clock::time_point from, until;
    };

    std::string note;  ///< of the request that acquired it; no other request has it
    std::string id{};
    std::vector<std::string> names{};
    told_session* session = nullptr;  ///< the session whose events count
    int lost_before = 0;              ///< how often that session had lost it before it was moved there
    clock::time_point heard{};        ///< the latest event of any session about it
    std::pair<std::uint64_t, std::int64_t> told_by_stream{};  ///< its number, and the latest `valid_until_ms`
    std::vector<span> work{};
    clock::time_point promised = clock::time_point::min();  ///< the nodes have the keys until then, if no client ends
                                                            ///< it
    bool has_key = false;  ///< of its request, which may acquire another lock when it is repeated
    bool is_over = false;  ///< the client has given it up
    clock::time_point released = clock::time_point::max();
    std::vector<std::pair<clock::time_point, std::string>> history{};

    bool is_valid(clock::time_point at) const { return !work.empty() && at < work.back().until; }
};

/// A session, as its client knows it.
struct told_session {
    std::size_t instance = 0;
    unsigned life = 0;  ///< of the instance
    std::string id{};
    bool has_grace = false;
    bool is_read = false;     ///< its newest stream is open on both sides
    bool is_over = false;     ///< the client has ended it, or its stream has ended and it has no grace
    bool is_refused = false;  ///< the service does not know it any more
    bool may_miss_events = false;
    bool told_stop = false;
    std::set<std::uint64_t> events{};           ///< their numbers
    std::map<std::string, told_lock*> locks{};  ///< all that the instance may have in it, by id
    std::map<std::string, int> lost{};          ///< how often, by id
};

/** The words of a service to its clients about their locks, by the clocks of the clients.

    It checks that no two clients may work on a name at the same time. All members but `guard` need the guard.
*/
class told_locks {
public:
    struct counts {
        long acquired = 0, repeated = 0, extended = 0, released = 0, moved = 0, broken = 0, lost = 0, sessions = 0,
             reopened = 0, cuts = 0, kills = 0, stops = 0, hangs = 0, node_pauses = 0, unanswered = 0,
             denied_while_valid = 0;
    };

    std::mutex guard{};
    counts count{};
    std::vector<std::string> failures{};

    told_lock& add(told_lock l) { return locks_.emplace_back(std::move(l)); }

    told_session& open(std::size_t instance, unsigned life, bool has_grace)
    {
        ++count.sessions;
        return sessions_.emplace_back(told_session{.instance = instance, .life = life, .has_grace = has_grace});
    }

    static void log(told_lock& l, std::string what) { l.history.emplace_back(clock::now(), std::move(what)); }

    /// The client is told that its lock is valid.
    void tell(told_lock& l, clock::time_point until, std::string_view how)
    {
        auto const now = clock::now();
        log(l, fmt::format("{}: valid until {}", how, ms(until)));
        if (until - ttl_max > l.released)
            fail(l, "was renewed after its release");
        if (auto const b = broken_of(l);
            !l.work.empty() && l.work.front().from < b.sent && until - ttl_max > b.answered)
            fail(l, "was renewed after it was broken");
        l.promised = std::max(l.promised, until);
        if (l.is_over || until <= now)
            return;
        if (l.is_valid(now))
            l.work.back().until = std::max(l.work.back().until, until);
        else
            l.work.push_back({now, until});
    }

    /// The client stops its work. It may go on if it is told that the lock is valid.
    void stop(told_lock& l, std::string_view why)
    {
        auto const now = clock::now();
        log(l, fmt::format("stop: {}", why));
        if (l.is_valid(now))
            l.work.back().until = now;
    }

    /// The client has ended the session of the lock.
    void stop_with_session(told_lock& l, std::string_view why)
    {
        stop(l, why);
        l.promised = clock::now();
    }

    /// The client stops its work for good.
    void end(told_lock& l, std::string_view why)
    {
        stop(l, why);
        l.is_over = true;
    }

    /// A client is about to break the lock of another client, which is not told at once. A lock of several names is
    /// broken as a whole.
    void begin_break(std::string const& note)
    {
        auto& b = breaks_[note];
        b.sent = std::min(b.sent, clock::now());
    }

    /// A majority of the nodes has deleted the lock.
    void end_break(std::string const& note)
    {
        auto& b = breaks_[note];
        b.answered = std::min(b.answered, clock::now());
    }

    void fail(told_lock const& l, std::string_view what)
    {
        failures.push_back(fmt::format("the lock of {} {}\n{}", l.note, what, history_of(l)));
    }

    /// Whether the session has to tell more: that the lock is still valid, or that it is lost. If the opening of the
    /// stream took long, the session tells a validity that is over already, because it counts from the request.
    bool owes_event(told_lock const& l) const
    {
        auto const* const s = l.session;
        auto const now = clock::now();
        return s && s->is_read && !s->is_over && !l.is_over && !l.work.empty() && !l.is_valid(now)
               && now > l.heard + ttl_max && !is_lost(l);
    }

    /// Whether the session has lost the lock since it has it.
    static bool is_lost(told_lock const& l)
    {
        auto const known = l.session->lost.find(l.id);
        return known != l.session->lost.end() && known->second > l.lost_before;
    }

    bool is_broken(told_lock const& l) const { return breaks_.contains(l.note); }

    /// Whether a majority of the nodes must have the lock, even if a session has said that it is lost.
    bool must_be_there(told_lock const& l) const { return !l.is_over && !is_broken(l) && clock::now() < l.promised; }

    std::vector<told_lock const*> without_event() const
    {
        std::vector<told_lock const*> all;
        for (auto const& l : locks_) {
            if (owes_event(l))
                all.push_back(&l);
        }
        return all;
    }

    /// Fails for all pairs of locks with a common name whose clients may have worked at the same time.
    void check_overlaps()
    {
        struct use {
            told_lock::span when;
            told_lock const* by;
        };
        std::map<std::string, std::vector<use>> by_name;
        for (auto const& l : locks_) {
            for (auto const& name : l.names) {
                for (auto when : l.work) {
                    when.until = std::min(when.until, broken_of(l).sent);
                    if (when.from < when.until)
                        by_name[name].push_back({when, &l});
                }
            }
        }
        for (auto& [name, all] : by_name) {
            std::ranges::sort(all, {}, [](use const& u) { return u.when.from; });
            use const* latest = nullptr;
            for (auto const& u : all) {
                if (latest && u.by != latest->by && u.when.from < latest->when.until)
                    fail(*u.by, fmt::format("overlaps by {} with that of {} on {}:\n{}and",
                                            std::min(latest->when.until, u.when.until) - u.when.from, latest->by->note,
                                            name, history_of(*latest->by)));
                if (!latest || latest->when.until < u.when.until)
                    latest = &u;
            }
            spans_ += all.size();
        }
    }

    /// Fails for each session of which an event has not come.
    void check_events()
    {
        for (auto const& s : sessions_) {
            if (!s.may_miss_events && !s.events.empty() && *s.events.rbegin() != s.events.size())
                failures.push_back(fmt::format("session {}: {} events came, but the last one has number {}", s.id,
                                               s.events.size(), *s.events.rbegin()));
        }
    }

    std::size_t spans() const { return spans_; }

    /// The longest TTL that a client asks for.
    static constexpr std::chrono::milliseconds ttl_max{3000};

private:
    struct a_break {
        clock::time_point sent = clock::time_point::max(), answered = sent;
    };

    std::string ms(clock::time_point t) const
    {
        return fmt::format("{:.3f}", std::chrono::duration<double>(t - began_).count());
    }

    a_break broken_of(told_lock const& l) const
    {
        auto const known = breaks_.find(l.note);
        return known == breaks_.end() ? a_break() : known->second;
    }

    std::string history_of(told_lock const& l) const
    {
        std::string all = fmt::format("{}, {}, id …{}:\n", l.note, fmt::join(l.names, " and "),
                                      l.id.substr(std::max<std::size_t>(l.id.size(), 12) - 12));
        for (auto const& w : l.work)
            all += fmt::format("  works {} to {}\n", ms(w.from), ms(w.until));
        if (auto const b = broken_of(l); b.sent != clock::time_point::max())
            all += fmt::format("  {} broken\n", ms(b.sent));
        for (auto const& [at, what] : l.history)
            all += fmt::format("  {} {}\n", ms(at), what);
        return all;
    }

    clock::time_point const began_ = clock::now();
    std::list<told_lock> locks_{};
    std::list<told_session> sessions_{};
    std::map<std::string, a_break> breaks_{};  ///< by note of the lock
    std::size_t spans_ = 0;
};

}  // namespace redlock::test
