#include "versus/faults.hpp"

#include "versus/trial.hpp"

#include <chrono>

namespace redlock::versus {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr milliseconds no_work = 0ms;

void nothing(trial& t) { t.run_for(2 * t.ttl()); }

void long_work(trial& t) { t.finish(t.holder(3 * t.ttl())); }

void holder_killed(trial& t)
{
    auto const h = t.holder(2 * t.ttl());
    t.run_for(t.ttl() / 2);
    t.kill(h);
}

void holder_stopped(trial& t)
{
    auto const h = t.holder(t.ttl() / 2);
    t.run_for(t.ttl() / 4);
    t.pause(h);
    t.run_for(3 * t.ttl());
    t.resume(h);
    t.finish(h);
}

void late_write(trial& t)
{
    auto const h = t.holder(no_work);
    t.expect_write(h);
    t.pause(h);
    t.run_for(3 * t.ttl());
    t.deliver(h);
    t.resume(h);
    t.finish(h);
}

void late_release(trial& t)
{
    auto const h = t.holder(no_work);
    t.expect_write(h);
    t.pause(h);
    t.deliver(h);
    t.run_for(3 * t.ttl());
    t.resume(h);
    t.finish(h);
}

void waiter_killed(trial& t)
{
    auto const h = t.holder(t.ttl() / 2);
    t.run_for(t.ttl() / 4);
    t.kill(t.waiter());
    t.finish(h);
}

void holder_cut_off(trial& t)
{
    auto const h = t.holder(4 * t.ttl());
    t.network().set(h, testbed::fault::half_open);
    t.run_for(4 * t.ttl());
    t.network().set(h, testbed::fault::none);
    t.finish(h);
}

void connections_reset(trial& t)
{
    auto const h = t.holder(2 * t.ttl());
    t.run_for(t.ttl() / 2);
    t.network().break_connections();
    t.finish(h);
}

void slow_network(trial& t)
{
    t.network().set_round_trip(3 * t.ttl() / 10);
    t.run_for(3s);
    t.network().set_round_trip(0ms);
}

void replies_lost(trial& t)
{
    t.network().set_all(testbed::fault::mute);
    t.run_for(1s);
    t.network().set_all(testbed::fault::none);
    t.network().break_connections();
}

void server_stopped(trial& t)
{
    t.server(0).pause();
    t.run_for(3s);
    t.server(0).resume();
}

void server_restarted(trial& t)
{
    auto const h = t.holder(3 * t.ttl());
    t.run_for(t.ttl() / 2);
    t.restart(0);
    t.finish(h);
}

void all_restarted(trial& t)
{
    auto const h = t.holder(5 * t.ttl());
    for (std::size_t i = 0; i < t.servers(); ++i) {
        t.run_for(1s);
        t.restart(i);
    }
    t.finish(h);
}

void lock_deleted(trial& t)
{
    auto const h = t.holder(2 * t.ttl());
    t.run_for(t.ttl() / 2);
    t.delete_lock();
    t.finish(h);
}

}  // namespace

std::vector<fault> const& all_faults()
{
    static std::vector<fault> const all{
        {"none", "nothing happens", nothing},
        {"long-work", "the holder works for three TTLs", long_work},
        {"holder-killed", "the holder is killed while it works", holder_killed},
        {"holder-stopped", "the holder is stopped for three TTLs while it works, and goes on", holder_stopped},
        {"late-write", "the holder is stopped when it sends its write, which arrives three TTLs later", late_write},
        {"late-release", "the holder is stopped for three TTLs between its write and its release", late_release},
        {"waiter-killed", "a worker is killed while it waits for the lock", waiter_killed},
        {"holder-cut-off", "nothing passes between the holder and the servers while it works for four TTLs",
         holder_cut_off},
        {"connections-reset", "all connections are closed while the holder works for two TTLs", connections_reset},
        {"slow-network", "the round trip takes 0.3 TTLs for three seconds", slow_network},
        {"replies-lost", "no reply arrives for a second, and then all connections are closed", replies_lost},
        {"server-stopped", "one server, or the only one, is stopped for three seconds", server_stopped},
        {"server-restarted",
         "one server, or the only one, is killed and started again while the holder works for three TTLs; "
         "a Redis server has lost its data",
         server_restarted},
        {"all-restarted",
         "every server is killed and started again, a second apart, while the holder works for five TTLs",
         all_restarted},
        {"lock-deleted",
         "the key of the lock is deleted on all servers while the holder works for two TTLs; "
         "in PostgreSQL, the holder's session is ended",
         lock_deleted},
    };
    return all;
}

}  // namespace redlock::versus
