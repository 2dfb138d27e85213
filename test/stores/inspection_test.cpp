// An inspection names the holder of a lock, its readers and its waiting clients.

#include "stores/store.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(inspection_of_locks, event_loop, *only_with_server())

namespace {

std::string const odd_label = std::string("a/b\x1f\xff'%_\\\n.", 11) + std::string(1, '\0') + "..";

lock_info inspect(real_servers& r, lock_manager& locks, std::string const& name)
{
    auto const [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect(name, std::move(done)); });
    BOOST_TEST(!ec, ec.message());
    return info;
}

std::vector<std::string> contenders_in(node_reply const& r)
{
    BOOST_TEST_REQUIRE((r.details && r.details->knows_waiters));
    std::vector<std::string> all;
    for (auto const& w : r.details->waiters)
        all.push_back(w.contender);
    std::ranges::sort(all);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(inspect_of_a_contended_lock_names_holder_and_waiter)
{
    auto const begun = std::chrono::system_clock::now();
    auto const url = server().url(this_store::patient);
    lock_manager mine(r.context, on(url, {.owner = odd_label}));
    lock_manager others(r.context, on(url, {.owner = odd_label + "2"}));
    auto held = hold(r, mine, "watched", {.ttl = 60s, .wait = 60s, .note = "nightly report"});
    real_servers::outcome waiter;
    r.start_acquire(waiter, others, "watched", {.ttl = 60s, .wait = wait_forever, .explain = true, .note = "next"});
    lock_info info;
    BOOST_TEST_REQUIRE(r.run_to([&] { return !(info = inspect(r, mine, "watched")).waiters.empty(); }));

    BOOST_TEST(info.locked);
    BOOST_TEST(info.owner == odd_label);
    BOOST_TEST(info.note == "nightly report");
    BOOST_TEST_REQUIRE(info.since.has_value());
    BOOST_TEST((*info.since > begun - 1min && *info.since < std::chrono::system_clock::now() + 1min));
    BOOST_TEST(info.nodes[0].value == held.token());
    BOOST_TEST(info.knows_waiters);
    BOOST_TEST_REQUIRE(info.waiters.size() == 1u);
    BOOST_TEST(info.waiters[0].owner == odd_label + "2");
    BOOST_TEST(info.waiters[0].note == "");  // no store keeps it
    BOOST_TEST(!info.waiters[0].shares);
    BOOST_TEST(info.readers.empty());

    BOOST_TEST(!r.release(held));
    BOOST_TEST(r.run_to([&] { return waiter.done; }, 60s));
    BOOST_TEST(!waiter.ec, waiter.report.message);
    // The mark of the waiter is removed on its own connection, perhaps after the answer to its acquisition.
    BOOST_TEST(r.run_to([&] { return (info = inspect(r, mine, "watched")).waiters.empty(); }));
    BOOST_TEST(info.note == "next");
    BOOST_TEST(!r.release(waiter.held));
}

BOOST_AUTO_TEST_CASE(inspect_of_a_shared_lock_lists_its_readers)
{
    if (!this_store::kind().shares)
        return;
    auto const url = server().url(this_store::patient);
    lock_manager mine(r.context, on(url, {.owner = "web-1"})), others(r.context, on(url, {.owner = odd_label}));
    lock_manager third(r.context, on(url, {.owner = "web-3"}));
    acquire_options const shared{.ttl = 60s, .wait = 60s, .mode = mode::shared, .note = "prices"};
    auto one = hold(r, mine, "shared", shared), two = hold(r, others, "shared", shared);
    real_servers::outcome writer, reader;
    r.start_acquire(writer, third, "shared", {.ttl = 60s, .wait = wait_forever, .explain = true});
    lock_info info;
    BOOST_TEST_REQUIRE(r.run_to([&] { return !(info = inspect(r, mine, "shared")).waiters.empty(); }));

    BOOST_TEST((info.locked && info.mode == mode::shared && info.knows_readers));
    BOOST_TEST_REQUIRE(info.readers.size() == 2u);
    std::ranges::sort(info.readers, {}, &reader_info::owner);
    BOOST_TEST(info.readers[0].owner == odd_label);
    BOOST_TEST(info.readers[0].value == two.token());
    BOOST_TEST(info.readers[1].owner == "web-1");
    for (auto const& of : info.readers) {
        BOOST_TEST(of.note == "prices");
        BOOST_TEST(of.since.has_value());
        BOOST_TEST((of.remaining > 0s && of.remaining <= 60s));
        BOOST_TEST(of.nodes == 1u);
    }
    BOOST_TEST(info.waiters[0].owner == "web-3");
    BOOST_TEST(!info.waiters[0].shares);

    BOOST_TEST(!r.release(one));
    BOOST_TEST(!r.release(two));
    BOOST_TEST(r.run_to([&] { return writer.done; }, 60s));
    r.start_acquire(reader, others, "shared",
                    {.ttl = 60s, .wait = wait_forever, .mode = mode::shared, .explain = true});
    BOOST_TEST_REQUIRE(r.run_to([&] { return !(info = inspect(r, mine, "shared")).waiters.empty(); }));
    BOOST_TEST(info.readers.empty());
    BOOST_TEST(info.waiters[0].shares);
    BOOST_TEST(!r.release(writer.held));
    BOOST_TEST(r.run_to([&] { return reader.done; }, 60s));
    BOOST_TEST(!r.release(reader.held));
}

BOOST_AUTO_TEST_CASE(break_of_a_lock_frees_it_and_its_holder_loses_it)
{
    auto const url = server().url(this_store::patient);
    lock_manager mine(r.context, on(url)), others(r.context, on(url));
    acquire_options const o{.ttl = 60s, .wait = 60s};
    auto held = hold(r, mine, "broken", o);
    auto const seen = inspect(r, others, "broken");
    auto const break_seen = [&] {
        return r.wait_for<break_info>([&](auto done) { others.async_break(seen, std::move(done)); });
    };

    auto const [ec, info] = break_seen();

    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(info.deleted == 1u);
    auto next = hold(r, others, "broken", o);
    BOOST_TEST(r.extend(held, 60s).failed());
    BOOST_TEST(!held.held());
    BOOST_TEST((break_seen().first == errc::not_held));
    BOOST_TEST(next.held());
    BOOST_TEST(!r.release(next));
}

// Clients of yesterday leave 16 digits; clients of today add a label of any bytes.
BOOST_AUTO_TEST_CASE(inspect_lists_contenders_of_any_bytes_until_they_end)
{
    auto const url = server().url(this_store::patient);
    testing::client asks({.make = [url] { return make_node(url, {.connect_timeout = 10s}); }});
    std::string const key = "lock:any/bytes", yesterday = "0123456789abcdef", today = yesterday + ":" + odd_label,
                      longest = "fedcba9876543210:" + std::string(238, '\xff');
    std::string every_byte;
    for (int b = 255; b >= 0; --b)
        every_byte += static_cast<char>(b);
    auto const value = std::string(32, '0') + ":" + every_byte + "\x1fsince=1795765626793\x1f" + std::string(200, 'n');
    BOOST_TEST(value.size() == 510u);
    auto const acquire = [&](std::string const& of, std::string const& who) {
        return asks.vote_of({.what = commands::acquire{.contender = who}, .ttl = 60s}, key, of);
    };
    auto const withdraw = [&](std::string const& who) {
        asks.vote_of({.what = commands::withdraw{.contender = who}}, key, {});
    };
    BOOST_TEST(asks.acquires(key, value));
    for (auto const& who : {today, longest, yesterday})
        BOOST_TEST(!acquire("other", who));
    BOOST_TEST(!acquire("other", today));  // again

    auto const seen = asks.inspect(key);
    BOOST_TEST((seen.text == value));
    BOOST_TEST((contenders_in(seen) == std::vector{yesterday, today, longest}));
    withdraw(longest);
    BOOST_TEST((contenders_in(asks.inspect(key)) == std::vector{yesterday, today}));
    BOOST_TEST(asks.extends(key, value));
    BOOST_TEST(asks.releases(key, value));
    auto const after = asks.inspect(key);
    BOOST_TEST((after.vote == vote::denied));
    BOOST_TEST((contenders_in(after) == std::vector{yesterday, today}));
    BOOST_TEST(acquire("other", today));
    BOOST_TEST((contenders_in(asks.inspect(key)) == std::vector{yesterday}));
    withdraw(yesterday);
    BOOST_TEST(asks.releases(key, "other"));
}

BOOST_AUTO_TEST_CASE(inspect_with_a_hundred_waiters_lists_64)
{
    auto const url = server().url(this_store::patient);
    testing::client asks({.make = [url] { return make_node(url, {.connect_timeout = 10s}); }});
    BOOST_TEST(asks.acquires("lock:crowded", "v"));
    std::vector<std::string> names;
    for (unsigned i = 0; i < 100; ++i)
        names.push_back(fmt::format("{:016x}:waiter", i));
    for (auto const& who : names)
        asks.vote_of({.what = commands::acquire{.contender = who}, .ttl = 60s}, "lock:crowded", "w");

    BOOST_TEST(contenders_in(asks.inspect("lock:crowded")).size() == 64u);
    for (auto const& who : names)
        asks.vote_of({.what = commands::withdraw{.contender = who}}, "lock:crowded", {});
    BOOST_TEST(asks.releases("lock:crowded", "v"));
}

BOOST_AUTO_TEST_SUITE_END()
