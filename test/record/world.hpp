// A server with its clients, and the truth about its locks.
//
// The clients use the code that ships: the question for the record, its answer, and the rule for votes. The server runs
// the script that ships. The truth knows each valid lock, and so whether the server has forgotten one.
#pragma once

#include "core/quarantine.hpp"
#include "core/server_memory.hpp"
#include "record/script_runner.hpp"
#include "record/server.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/server_record.hpp"

#include <redlock/manager_options.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test::record {

namespace redis = stores::redis;

inline constexpr milliseconds max_ttl = 60'000, follow_time = 10'000, long_ago = -1'000'000;
inline constexpr milliseconds never = std::numeric_limits<milliseconds>::min() / 2;
inline constexpr milliseconds look_every = 1000;
/// A look renews a signature when a third of it is over. After a look it holds at least for the other two thirds.
inline constexpr milliseconds signature_holds = max_ttl * 2 / 3 - look_every;
inline constexpr milliseconds to_greet = 50;  ///< from the event until a client has connected

inline clock::time_point point(milliseconds t)
{
    return clock::time_point(std::chrono::hours(1000)) + std::chrono::milliseconds(t);
}
inline milliseconds from_point(clock::time_point t)
{
    return std::chrono::duration_cast<std::chrono::milliseconds>(t - point(0)).count();
}

/// The other servers of the set.
enum class others : std::uint8_t {
    old,   ///< They are healthy, so the set must not be founded.
    new_,  ///< The set has one server, or all of its servers share the fate of this one: it may be founded.
    away,  ///< They do not answer.
};

struct settings {
    bool in_cluster = false;
    bool is_watched = false;  ///< a client looks each second
    others rest = others::old;
    bool founds_without_others = false;  ///< a deliberate bug
};

struct lock {
    milliseconds granted = never, until = never;
    bool in_last_slot = false;
    /// The log was switched off, or to everysec, before the grant, and no client has looked since.
    bool after_unseen_switch = false;
    /// The old master has granted it after a promotion, and the server has lost its record of that.
    bool by_unknown_master = false;
    /// The beginning of the word that was founded; `never`: the word was not founded.
    milliseconds founded = never;
};

/// A client that knows the server.
struct client {
    core::server_memory memory{};
    redis::log_policy policy = redis::log_policy::unknown;
    bool connected = false;
    milliseconds looked = never;
};

/// The parts that all worlds share.
struct engine {
    settings of;
    script_runner script;
    redis::record_question question;

    engine(settings s, std::string const& source)
        : of(s),
          script(source),
          question(url(s),
                   manager_options{.prefix = "p:", .max_ttl = std::chrono::milliseconds(max_ttl), .record = false})
    {
    }

    static net::url url(settings s)
    {
        net::url u;
        if (s.in_cluster) {
            u.topology = net::topology::member;
            u.tag = "{0}";
        }
        return u;
    }
};

struct world {
    engine* by = nullptr;
    milliseconds now = long_ago, last_event = never;
    std::uint64_t last_id = 0;

    server here{};
    std::optional<server> replica{};  ///< of the server, or the next master
    keys replica_earlier{};           ///< the replica's keys before the last writes
    bool linked = false;
    server other{};  ///< of the same prefix, with other locks
    bool is_other = false, other_is_old = false;
    keys backup{};  ///< from the beginning

    // a cluster: the last slot belongs to another master while `here` does not have it
    milliseconds elsewhere_votes_from = never;
    bool vouches = false;  ///< a client has seen that a living master handed the slot over, and has not looked yet
    std::uint32_t locks_elsewhere = 0;
    bool slot_in_doubt = false;     ///< the slot has come without its locks since the last look
    milliseconds slot_at = never;   ///< the first look after that
    bool slot_left_unseen = false;  ///< no client has looked since the slot went to another master
    bool slot_returned_unseen = false;

    client staying{};
    core::server_memory away{};

    // the truth
    std::array<lock, 12> locks{};
    milliseconds signed_at = never;    ///< the last look that must have signed the log as durable; no doubt since
    milliseconds last_signed = never;  ///< the last look that may have signed it
    bool log_changed = false;          ///< since the last look
    bool switched_unseen = false;      ///< off and on again between two looks, and the first rewrite is not finished
    bool unsynced_revocation = false;  ///< a power cut has undone the revocation of a signature
    bool unlooked_restart = false;     ///< no client has looked since a restart with a valid signature
    bool in_doubt = false;             ///< the server may have forgotten locks since the last look
    bool doubt_of_promotion = false;
    milliseconds word_at = never;  ///< the first look after the last doubt
    bool word_of_promotion = false;
    bool unlooked_promotion = false;  ///< no client has looked since a promotion
    bool hidden_promotion = false;    ///< and the second replication id, which showed it, was cleared since
    bool copy_without_revocation = false;
    milliseconds demoted_at = never;
    milliseconds newest_word = never;  ///< the latest beginning of a word

    std::uint64_t next_id() { return ++last_id; }

    // Writes

    void write()
    {
        here.written();
        if (linked && replica) {
            replica->memory = here.memory;
            replica->written();
        }
    }

    template <class F>
    void for_each_keys(F f)
    {
        for (auto* const s : {&here, replica ? &*replica : &other, &other}) {
            f(s->memory);
            f(s->synced);
            if (s->log)
                f(*s->log);
            if (s->dump)
                f(s->dump->data);
        }
        f(replica_earlier);
        f(backup);
    }

    /// A client acquires a lock.
    void grant(milliseconds founded = never)
    {
        auto& l = add_lock(now + max_ttl);
        l.founded = founded;
        l.after_unseen_switch = log_changed || switched_unseen;
        here.memory.locks |= bit(l);
        write();
    }

    /// A client acquires a lock in the last slot, at the master that has it.
    void grant_in_last_slot()
    {
        auto& l = add_lock(now + max_ttl);
        l.in_last_slot = true;
        if (!here.has_last_slot) {
            locks_elsewhere |= bit(l);
            return;
        }
        here.memory.locks |= bit(l);
        write();
    }

    /// @return a lock that is in nobody's memory
    lock& add_lock(milliseconds until)
    {
        auto const free = std::ranges::find_if(locks, [&](auto& l) { return l.until <= now; });
        if (free == locks.end())
            throw std::runtime_error("too many locks");
        *free = {.granted = now, .until = until};
        auto const b = bit(*free);
        for_each_keys([&](keys& k) { k.locks &= ~b; });
        locks_elsewhere &= ~b;
        return *free;
    }

    std::uint32_t bit(lock const& l) const { return 1u << (&l - locks.data()); }

    // Looks

    std::optional<redis::server_record> ask(redis::log_policy policy, std::string_view verdict = {},
                                            redis::slot_set const* vouched = nullptr)
    {
        redis::request r;
        auto const word = id_text(next_id(), 8);
        by->question.ask(r, {.word = word, .policy = policy, .verdict = verdict, .vouched = vouched});
        auto const words = split(r.bytes());
        std::span const all(words);
        script_view on(here, now, [this] { write(); });
        auto const answer = by->script.run(on, all.subspan(3, 2), all.subspan(5));
        redis::server_record record;
        if (by->question.read(answer, {}, record).error)
            return std::nullopt;
        return record;
    }

    redis::log_policy policy() const { return here.always ? redis::log_policy::synced : redis::log_policy::not_synced; }

    /// Clients look at the same moment, as each of them does when it connects. @return the last record; nothing: the
    /// server refuses
    std::optional<redis::server_record> greet(std::initializer_list<core::server_memory*> all)
    {
        std::optional<redis::server_record> record;
        auto const told = [&](std::optional<redis::server_record> r) {
            if (r) {
                for (auto* const m : all)
                    m->told(r->memory, point(now));
            }
            record = std::move(r);
            return record.has_value();
        };
        auto const vouched = slots_vouched();
        if (!told(ask(redis::log_policy::unknown)) || !told(ask(policy(), {}, vouched ? &*vouched : nullptr)))
            return std::nullopt;
        vouches = false;
        note_look(policy());
        if (may_found((*all.begin())->identity()))
            told(ask(policy(), 'F' + record->memory.word));
        return record;
    }

    bool may_found(server_identity const& s) const
    {
        bool const all_are_new = by->of.rest == others::new_
                                 || (by->of.rest == others::away && by->of.founds_without_others);
        return all_are_new && core::is_new(s, std::chrono::milliseconds(max_ttl), point(now));
    }

    std::optional<redis::slot_set> slots_vouched() const
    {
        if (!vouches)
            return std::nullopt;
        redis::slot_set all;
        all.set(9);
        return all;
    }

    void look_as_staying()
    {
        staying.looked = now;
        if (!staying.connected) {
            if (!greet({&staying.memory}))
                return;
            staying.connected = true;
            staying.policy = policy();
            return;
        }
        auto record = ask(staying.policy);
        if (record && record->memory.word == staying.memory.word()) {
            staying.memory.told(record->memory, point(now));
            if (staying.policy == redis::log_policy::synced && here.log_on)
                last_signed = now;
            if (auto const changed = std::exchange(staying.policy, policy()) != policy(); changed) {
                record = ask(staying.policy);
                staying.memory.told(record->memory, point(now));
            }
            return note_look(policy());
        }
        staying.connected = false;
        if (record)
            look_as_staying();
    }

    void note_look(redis::log_policy p)
    {
        if (restart_is_doubtful())
            doubt();
        if (std::exchange(in_doubt, false)) {
            word_at = now;
            word_of_promotion = may_be_promoted();
            doubt_of_promotion = false;
        }
        slot_left_unseen = false;
        if (std::exchange(slot_in_doubt, false))
            slot_at = now;
        unlooked_restart = unlooked_promotion = log_changed = false;
        bool const is_copied = by->of.in_cluster || here.has_replica || here.has_backlog;
        if (!here.log_on || p == redis::log_policy::not_synced || is_copied) {
            signed_at = never;
        } else if (!here.rewrites) {
            signed_at = last_signed = now;
        }
        if (std::exchange(here.memory.seen_with_replica, is_copied) != is_copied)
            write();
        newest_word = std::max(newest_word, word_began());
        if (here.memory.record && here.memory.record_until - now == kept)  // the word began at this look
            hidden_promotion = copy_without_revocation = unsynced_revocation = slot_returned_unseen = false;
    }

    // Votes

    /// @return the present, or the end of the wait
    milliseconds votes_from(core::server_memory const& m) const
    {
        auto const until = core::quarantined_until(m.identity(), restart_guard::automatic,
                                                   std::chrono::milliseconds(max_ttl), point(now));
        return until == clock::time_point::min() ? now : from_point(until);
    }

    milliseconds last_slot_votes_from(redis::server_record const& record, core::server_memory const& m) const
    {
        redis::slot_times slots;
        slots.told(record, std::chrono::milliseconds(max_ttl + follow_time), point(now));
        auto const from = slots.votes_from(9).value_or(clock::time_point::max());
        auto const of_slot = from == clock::time_point::min() ? now : from_point(from);
        return std::max(votes_from(m), of_slot);
    }

    // The judgement of the truth

    static constexpr milliseconds kept = 315'360'000'000;

    /// The script believes a restart only if the process has read the log, and no rewrite came before the first look.
    /// INFO does not tell that rewrite from the first one of a log that was switched on.
    bool restart_is_doubtful() const
    {
        bool const is_over = now - signed_at > signature_holds;
        return unlooked_restart && (!here.log_on || here.rewrites || here.has_rewritten || is_over);
    }

    milliseconds word_began() const { return here.memory.record ? here.memory.record_until - kept : never; }

    /// A second replication id stays until the backlog is freed. So a word that begins later counts as promoted, too.
    bool may_be_promoted() const { return doubt_of_promotion || here.replid2 != 0 || by->of.in_cluster; }

    /// A new word must not vote until then.
    milliseconds refusal_is_justified_until() const
    {
        auto const young = in_doubt || restart_is_doubtful()
                               ? now + max_ttl + (may_be_promoted() ? follow_time : 0)
                               : word_at + max_ttl + (word_of_promotion ? follow_time : 0);
        auto const* const r = here.memory.record;
        auto const known = word_began() + max_ttl + (r && r->how == 'p' ? follow_time : 0);
        bool const log_is_in_doubt = log_changed || here.rewrites || here.has_replica || here.has_backlog
                                     || !here.is_durable();
        return std::max({young, known, log_is_in_doubt ? last_signed + max_ttl : never});
    }

    milliseconds refusal_of_last_slot_is_justified_until() const
    {
        return std::max(refusal_is_justified_until(), (slot_in_doubt ? now : slot_at) + max_ttl + follow_time);
    }

    void doubt(bool of_promotion = false)
    {
        in_doubt = true;
        doubt_of_promotion = doubt_of_promotion || of_promotion;
        signed_at = never;
        unlooked_restart = false;
        if (!here.memory.record || is_other)
            lose_trace_of_promotion();
    }

    void lose_trace_of_promotion()
    {
        for (auto& l : locks)
            l.by_unknown_master = l.by_unknown_master || l.granted > now;
    }

    void lose_connections() { staying.connected = false; }

    static std::vector<std::string_view> split(std::string_view resp)
    {
        std::vector<std::string_view> words;
        words.reserve(14);
        resp.remove_prefix(resp.find('\n') + 1);
        while (!resp.empty()) {
            std::size_t size = 0;
            auto const end = std::from_chars(resp.data() + 1, resp.data() + resp.size(), size).ptr;
            resp.remove_prefix(static_cast<std::size_t>(end - resp.data()) + 2);
            words.push_back(resp.substr(0, size));
            resp.remove_prefix(size + 2);
        }
        return words;
    }
};

}  // namespace redlock::test::record
