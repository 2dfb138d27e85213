// The events that a server can suffer, in any order.
#pragma once

#include "record/world.hpp"

#include <span>
#include <string_view>

namespace redlock::test::record {

struct event {
    std::string_view name;
    bool (*applies)(world const&);
    void (*happen)(world&);
};

namespace detail {

inline bool is_master(world const& w) { return w.here.is_master; }
inline bool has_replica(world const& w) { return w.replica.has_value(); }
inline bool has_log(world const& w) { return w.here.is_master && w.here.log_on; }

/// Restarts the server, by the settings in its file. The truth decides whether the restart must cost votes.
inline void restart(world& w, bool may_continue = true)
{
    auto& s = w.here;
    bool const holds = w.now - w.signed_at <= signature_holds;
    bool const continues = may_continue && holds && !w.log_changed && s.is_durable() && s.file_log && !w.in_doubt
                           && !w.restart_is_doubtful() && s.log == s.memory;
    s.restart(w.next_id());
    // The record tells whether the server had replicas. While the log is switched off, it does not tell.
    auto const* const r = s.memory.record;
    bool const may_be_promoted = r && (s.memory.seen_with_replica || r->state == 's');
    if (!s.memory.seen_with_replica)
        w.lose_trace_of_promotion();
    w.linked = w.switched_unseen = false;
    w.lose_connections();
    w.unlooked_promotion = false;
    if (continues)
        w.unlooked_restart = true;
    else
        w.doubt(may_be_promoted);
}

inline void restart_with(world& w, bool log, bool always = true)
{
    w.here.file_log = log;
    w.here.file_always = always;
    restart(w);
}

/// The replica is the server from now on.
/// @param is_old_linked whether the old master copies the keys of the new one
inline void promote(world& w, bool with_last_writes, bool is_old_linked)
{
    auto old = w.here;
    w.here = *w.replica;
    if (!with_last_writes) {
        w.here.memory = w.replica_earlier;
        if (w.here.log_on)
            w.here.log = w.here.synced = w.here.memory;
    }
    w.here.has_replica = false;
    w.here.promote(w.next_id());
    w.copy_without_revocation = !w.here.memory.seen_with_replica;
    if (is_old_linked)
        old.follow(w.here);
    old.is_master = false;
    old.has_replica = false;
    w.linked = is_old_linked;
    w.here.has_replica = is_old_linked;
    w.replica = old;
    w.replica_earlier = old.memory;
    w.lose_connections();
    w.unlooked_promotion = true;
    w.doubt(true);
}

/// The old master goes on until its clients follow, and grants a lock at the last moment.
inline void grant_at_old_master(world& w)
{
    auto& l = w.add_lock(w.now + follow_time + max_ttl);
    l.granted = w.now + follow_time;
}

inline void clear_replid2(world& w)
{
    w.hidden_promotion = w.hidden_promotion || w.unlooked_promotion;
    if (!w.here.memory.seen_with_replica)
        w.lose_trace_of_promotion();
}

inline bool lacks_last_slot(world const& w) { return !w.here.has_last_slot && w.here.is_master; }

inline std::uint32_t locks_of_last_slot(world const& w)
{
    std::uint32_t all = 0;
    for (auto const& l : w.locks)
        all |= l.in_last_slot ? w.bit(l) : 0;
    return all;
}

inline void take_last_slot(world& w)
{
    w.here.has_last_slot = true;
    w.slot_returned_unseen = w.slot_returned_unseen || std::exchange(w.slot_left_unseen, false);
    w.here.memory.locks |= std::exchange(w.locks_elsewhere, 0);
    w.write();
}

inline bool votes_for_last_slot(world w)
{
    core::server_memory late;
    auto const record = w.greet({&late});
    return record && w.last_slot_votes_from(*record, late) <= w.now;
}

inline void attach(world& w, bool with_log = true)
{
    if (!w.here.has_backlog)
        clear_replid2(w);
    w.here.attach_replica(w.next_id());
    if (!w.replica)
        w.replica = server{.run = w.next_id(), .log_on = with_log, .always = true, .file_log = with_log};
    w.replica->follow(w.here);
    w.replica->has_last_slot = w.here.has_last_slot;
    w.replica_earlier = w.replica->memory;
    w.linked = true;
}

}  // namespace detail

/// The events of a server that is no member of a cluster.
inline std::span<event const> server_events()
{
    using namespace detail;
    static constexpr event all[] = {
        {"FLUSHALL", is_master,
         [](world& w) {
             w.here.memory = {};
             w.write();
             w.doubt();
         }},
        {"the process is killed and starts again", [](world const&) { return true; }, [](world& w) { restart(w); }},
        {"it restarts without a log", [](world const& w) { return w.here.file_log; },
         [](world& w) { restart_with(w, false); }},
        {"it restarts with a log", [](world const& w) { return !w.here.file_log; },
         [](world& w) { restart_with(w, true); }},
        {"it restarts with a log and everysec", [](world const& w) { return w.here.file_always; },
         [](world& w) { restart_with(w, true, false); }},
        {"a power cut, and it starts again",
         [](world const& w) { return w.here.log && !(*w.here.log == w.here.synced); },
         [](world& w) {
             w.unsynced_revocation = w.here.memory.seen_with_replica && !w.here.synced.seen_with_replica;
             w.here.log = w.here.synced;
             restart(w, false);
         }},
        {"it restarts with an empty disk", [](world const& w) { return w.here.log || w.here.dump; },
         [](world& w) {
             w.here.log.reset();
             w.here.dump.reset();
             restart(w, false);
         }},
        {"CONFIG SET appendonly no", has_log,
         [](world& w) {
             w.here.switch_log_off();
             w.log_changed = true;
         }},
        {"CONFIG SET appendonly yes", [](world const& w) { return w.here.is_master && !w.here.log_on; },
         [](world& w) {
             w.here.switch_log_on();
             w.switched_unseen = w.log_changed;
         }},
        {"BGREWRITEAOF", [](world const& w) { return has_log(w) && !w.here.rewrites; },
         [](world& w) { w.here.rewrites = true; }},
        {"the rewrite ends", [](world const& w) { return w.here.rewrites; },
         [](world& w) {
             w.here.finish_rewrite();
             w.switched_unseen = false;
         }},
        {"CONFIG SET appendfsync everysec", [](world const& w) { return w.here.always && w.here.log_on; },
         [](world& w) {
             w.here.always = false;
             w.log_changed = true;
         }},
        {"CONFIG SET appendfsync always", [](world const& w) { return !w.here.always && w.here.log_on; },
         [](world& w) { w.here.always = true; }},
        {"SAVE", is_master, [](world& w) { w.here.save(w.here.memory); }},
        {"a replica attaches", [](world const& w) { return w.here.is_master && !w.here.has_replica; },
         [](world& w) { attach(w); }},
        {"the link of the replica breaks", [](world const& w) { return w.here.has_replica; },
         [](world& w) {
             w.here.has_replica = false;
             w.linked = false;
         }},
        {"the backlog is freed",
         [](world const& w) { return w.here.is_master && w.here.has_backlog && !w.here.has_replica; },
         [](world& w) {
             detail::clear_replid2(w);
             w.here.free_backlog(w.next_id());
         }},
        {"the replica is promoted", has_replica, [](world& w) { promote(w, true, false); }},
        {"the replica is promoted without the last writes", has_replica, [](world& w) { promote(w, false, false); }},
        {"the replica is promoted, and the old master follows it", has_replica,
         [](world& w) { promote(w, false, true); }},
        {"the replica is promoted while the old master goes on for a while", has_replica,
         [](world& w) {
             promote(w, true, false);
             grant_at_old_master(w);
         }},
        {"the replica is promoted and restarts, while the old master goes on for a while", has_replica,
         [](world& w) {
             promote(w, true, false);
             grant_at_old_master(w);
             restart(w);
         }},
        {"the replica is promoted without the last writes and restarts", has_replica,
         [](world& w) {
             promote(w, false, false);
             restart(w);
         }},
        {"REPLICAOF another master, which it does not reach", is_master,
         [](world& w) {
             w.here.is_master = false;
             w.here.has_replica = w.linked = false;
             w.demoted_at = w.now;
         }},
        {"REPLICAOF NO ONE", [](world const& w) { return !w.here.is_master; },
         [](world& w) {
             w.here.promote(w.next_id());
             w.unlooked_promotion = true;
             w.doubt(true);
             if (w.now - w.demoted_at > max_ttl + follow_time)  // the other master has voted meanwhile
                 w.add_lock(w.now + max_ttl);
         }},
        {"another server with an old record is at the address", [](world const& w) { return !w.is_other; },
         [](world& w) {
             w.is_other = w.other_is_old = true;
             w.here = w.other;
             w.linked = false;
             w.replica.reset();
             w.lose_connections();
             w.doubt();
         }},
        {"another server without a record is at the address", [](world const& w) { return !w.is_other; },
         [](world& w) {
             w.is_other = true;
             w.here = server{.run = w.next_id(), .log_on = true, .always = true, .file_log = true};
             w.here.replid = w.here.run;
             w.linked = false;
             w.replica.reset();
             w.lose_connections();
             w.doubt();
         }},
        // A younger copy is a limit that docs/guarantees.md names: a signature in it still holds.
        {"a copy of the data, older than max_ttl, is put back", [](world const& w) { return w.now >= max_ttl; },
         [](world& w) {
             w.here.log = w.here.synced = w.backup;
             w.here.file_log = true;
             restart(w, false);
         }},
    };
    return all;
}

/// The events of a master of a cluster, and of its last slot.
inline std::span<event const> cluster_events()
{
    using namespace detail;
    static constexpr event all[] = {
        {"FLUSHALL", is_master,
         [](world& w) {
             w.here.memory = {};
             w.write();
             w.doubt();
         }},
        {"the process is killed and starts again", [](world const&) { return true; }, [](world& w) { restart(w); }},
        {"a replica attaches", [](world const& w) { return w.here.is_master && !w.here.has_replica; },
         [](world& w) { attach(w, false); }},
        {"the link of the replica breaks", [](world const& w) { return w.here.has_replica; },
         [](world& w) {
             w.here.has_replica = false;
             w.linked = false;
         }},
        {"the backlog is freed",
         [](world const& w) { return w.here.is_master && w.here.has_backlog && !w.here.has_replica; },
         [](world& w) {
             detail::clear_replid2(w);
             w.here.free_backlog(w.next_id());
         }},
        {"the replica is promoted without the last writes", has_replica,
         [](world& w) {
             bool const has = w.here.has_last_slot;
             promote(w, false, false);
             w.here.has_last_slot = has;
         }},
        {"the replica is promoted, and the old master follows it", has_replica,
         [](world& w) {
             bool const has = w.here.has_last_slot;
             promote(w, true, true);
             w.here.has_last_slot = has;
         }},
        {"the slot's master dies, and CLUSTER SETSLOT gives the slot to this one", lacks_last_slot,
         [](world& w) {
             w.locks_elsewhere = 0;
             take_last_slot(w);
             w.vouches = false;
             w.slot_in_doubt = true;
         }},
        {"the slot's master hands the slot over, and a client sees it", lacks_last_slot,
         [](world& w) {
             take_last_slot(w);
             w.vouches = w.now >= w.elsewhere_votes_from;
             w.slot_in_doubt = !w.vouches;
         }},
        {"the slot's master hands the slot over, and no client sees it", lacks_last_slot,
         [](world& w) {
             take_last_slot(w);
             w.slot_in_doubt = true;
         }},
        {"this master hands the slot to another one",
         [](world const& w) { return w.here.has_last_slot && w.here.is_master; },
         [](world& w) {
             // The next master votes for the slot at once only if a client can vouch for it.
             w.elsewhere_votes_from = w.vouches || !votes_for_last_slot(w) ? w.now + max_ttl + follow_time : never;
             auto const of_slot = locks_of_last_slot(w);
             w.locks_elsewhere = w.here.memory.locks & of_slot;
             w.here.memory.locks &= ~of_slot;
             w.here.has_last_slot = w.vouches = w.slot_in_doubt = false;
             w.slot_left_unseen = true;
             w.write();
         }},
    };
    return all;
}

}  // namespace redlock::test::record
