// Sessions, which etcd calls leases: a holder must know in time that its session has ended.

#include "stores/store.hpp"
#include "bed/process.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdio>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(sessions, event_loop)

BOOST_AUTO_TEST_CASE(held_after_a_pause_longer_than_the_session_is_false, *only_with_server())
{
    auto const settings = on(server().url(this_store::brief_session));
    auto const work = [&] {
        real_servers r(0);
        lock_manager locks(r.context, settings);
        auto won = r.acquire(locks, "stands still", {.ttl = 60s, .wait = 20s, .renew = renewal::automatic});
        auto last_held = clock::now();
        std::printf("held\n");
        std::fflush(stdout);
        for (auto now = last_held; won.held.held(); now = clock::now()) {
            last_held = now;
            r.context.run_one_for(1ms);
        }
        std::printf("%lld\n", static_cast<long long>(last_held.time_since_epoch().count()));
        std::fflush(stdout);
        return 0;
    };
    testbed::process holder(work, {.piped = true, .name = "holder"});
    BOOST_REQUIRE(holder.read('\n') == "held");
    holder.pause();

    lock_manager locks(r.context, settings);
    auto const won = r.acquire(locks, "stands still", {.ttl = 20s, .wait = 20s});
    auto const acquired = clock::now();
    holder.resume();

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    auto const last_held = clock::time_point(clock::duration(std::stoll(holder.read('\n'))));
    BOOST_TEST((last_held < acquired));
}

BOOST_AUTO_TEST_CASE(shutdown_ends_the_session, *only_with_server())
{
    this_store::server s(this_store::durable);
    lock_manager locks(r.context, on(s.url("?session=600s")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(this_store::sessions(s) == 1u);

    r.shutdown(locks);

    BOOST_TEST(r.run_to([&] { return this_store::sessions(s) == 0; }));
}

BOOST_AUTO_TEST_SUITE_END()
