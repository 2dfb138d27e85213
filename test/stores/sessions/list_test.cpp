// Lists of locks, and watches of locks without waiting for them.

#include "stores/store.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>

#include <array>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(lists_of_locks, event_loop, *only_with_server())

namespace {

// The last bytes of ten keys, in order.
std::array<std::string, 10> const odd_ends{
    std::string(1, '\0'), "\x1f", "%", "/", "A", "\\", "a", "a/b", "\xff", "\xff\xff"};

/// A node without a manager.
struct plain_node : testing::client {
    plain_node()
        : client({.make = [] { return make_node(server().url(this_store::patient), {.connect_timeout = 10s}); }})
    {
    }

    /// The keys of one page.
    std::vector<std::string> scan(std::string const& prefix, std::string& place)
    {
        auto const r = ask({.what = commands::scan{.limit = 3}}, prefix, place);
        BOOST_TEST_REQUIRE((r.vote == vote::granted && r.details));
        BOOST_TEST(r.details->keys.size() <= 3u);
        place = r.text;
        return r.details->keys;
    }
};

lock_page list(real_servers& r, lock_manager& locks, std::string const& pattern, list_options options)
{
    auto [ec, page] = r.wait_for<lock_page>([&](auto done) { locks.async_list(pattern, options, std::move(done)); });
    BOOST_TEST(!ec, ec.message());
    return std::move(page);
}

/// One call of `async_watch`.
struct watch_of {
    watch_of(lock_manager& locks, lock_info before)
    {
        locks.async_watch(std::move(before), [this](error_code e, lock_info i) {
            ec = e;
            info = std::move(i);
        });
    }

    std::optional<error_code> ec;
    lock_info info;
};

}  // namespace

BOOST_AUTO_TEST_CASE(scan_in_pages_of_three_lists_each_key_once)
{
    plain_node mine, other;
    std::string const prefix = "lock:odd\xff";
    for (auto const& end : odd_ends)
        BOOST_TEST(mine.acquires(prefix + end, "v"));
    BOOST_TEST(mine.acquires("lock:odd", "v"));
    BOOST_TEST(mine.acquires("lock:oe", "v"));

    std::multiset<std::string> listed;
    std::string place;
    std::size_t pages = 0;
    do {
        for (auto const& key : (++pages % 2 == 0 ? mine : other).scan(prefix, place))
            listed.insert(key);
    } while (!place.empty() && pages < 100);

    BOOST_TEST(pages < 100u);
    for (auto const& end : odd_ends) {
        BOOST_TEST(listed.count(prefix + end) == 1u);
        BOOST_TEST(mine.releases(prefix + end, "v"));
    }
    BOOST_TEST(listed.size() == odd_ends.size());
    BOOST_TEST(mine.releases("lock:odd", "v"));
    BOOST_TEST(mine.releases("lock:oe", "v"));
    BOOST_TEST(mine.scan(prefix, place).empty());
    BOOST_TEST(place.empty());
}

BOOST_AUTO_TEST_CASE(scan_that_goes_on_behind_a_deleted_key_lists_the_rest)
{
    plain_node mine;
    for (auto const& end : odd_ends)
        BOOST_TEST(mine.acquires("lock:gone/" + end, "v"));
    std::string place;
    auto listed = mine.scan("lock:gone/", place);
    BOOST_TEST(!place.empty());
    for (auto const& key : listed)
        BOOST_TEST(mine.releases(key, "v"));

    while (!place.empty()) {
        for (auto const& key : mine.scan("lock:gone/", place))
            listed.push_back(key);
    }

    std::vector<std::string> all;
    for (auto const& end : odd_ends)
        all.push_back("lock:gone/" + end);
    BOOST_TEST((listed == all));
    for (std::size_t i = 3; i < all.size(); ++i)
        BOOST_TEST(mine.releases(all[i], "v"));
}

BOOST_AUTO_TEST_CASE(list_by_two_managers_in_turns_has_each_lock_once)
{
    auto const url = server().url(this_store::patient);
    ending_manager mine(r, on(url, {.owner = "web-1"})), other(r, on(url));
    std::vector<lock> held;
    for (auto const& end : odd_ends)
        held.push_back(hold(r, mine, "listed" + end, {.ttl = 60s, .wait = 60s, .note = "report"}));
    auto const free = hold(r, mine, "unlisted", {.ttl = 60s, .wait = 60s});

    std::multiset<std::string> names;
    std::string next;
    std::size_t pages = 0;
    do {
        auto page = list(r, ++pages % 2 == 0 ? mine : other, "listed*", {.page_size = 3, .from = next});
        for (auto const& l : page.locks) {
            names.insert(l.resource);
            BOOST_TEST((l.locked && l.owner == "web-1" && l.note == "report"));
        }
        next = std::move(page.next);
    } while (!next.empty() && pages < 100);

    BOOST_TEST(pages < 100u);
    BOOST_TEST(names.size() == odd_ends.size());
    for (auto const& end : odd_ends)
        BOOST_TEST(names.count("listed" + end) == 1u);
    for (auto& l : held)
        BOOST_TEST(!r.release(l));
}

BOOST_AUTO_TEST_CASE(inspect_that_watches_is_told_of_each_change_of_the_key)
{
    plain_node mine, other;
    std::string const key = "lock:looked at";
    auto const look = [&] {
        auto const asked = mine.put({.what = commands::inspect{.watch = true}}, key, {});
        BOOST_TEST(mine.answer_of(asked).watched);
        return asked;
    };
    auto const told = [&](auto const& asked) {
        mine.run_to([&] { return mine.was_told_after(*asked, key); }, "the node did not tell of the change");
    };

    auto asked = look();
    BOOST_TEST((asked->reply.vote == vote::denied));
    BOOST_TEST(other.acquires(key, "v"));
    told(asked);
    for (int i = 0; i < 3; ++i) {
        asked = look();
        BOOST_TEST((asked->reply.vote == vote::granted));
        BOOST_TEST(other.releases(key, "v"));
        told(asked);
        asked = look();
        BOOST_TEST((asked->reply.vote == vote::denied));
        BOOST_TEST(other.acquires(key, "v"));
        told(asked);
    }
    asked = look();
    BOOST_TEST(mine.releases(key, "v"));
}

// The waiter hears only of the end of the hand-overs, the watcher of each change.
BOOST_AUTO_TEST_CASE(inspect_that_watches_is_told_although_a_waiter_is_not)
{
    plain_node mine, other;
    std::string const key = "lock:handed on";
    auto const acquire = [&](auto& by, std::string const& value, commands::handovers then, std::string const& who) {
        return by.ask({.what = commands::acquire{.handed_on = then, .watch = true, .contender = who}, .ttl = 60s}, key,
                      value);
    };
    BOOST_TEST((acquire(other, "v", commands::handovers::follow, "other").vote == vote::granted));
    auto const looked = mine.put({.what = commands::inspect{.watch = true}}, key, {});
    BOOST_TEST(mine.answer_of(looked).watched);
    auto const denied = acquire(mine, "w", commands::handovers::unsaid, "mine");
    BOOST_TEST((denied.vote == vote::denied && denied.handed_on));

    BOOST_TEST(other.releases(key, "v"));

    mine.run_to([&] { return mine.was_told_after(*looked, key); }, "the node did not tell of the change");
    BOOST_TEST((acquire(other, "x", commands::handovers::end, "other").vote == vote::granted));
    BOOST_TEST(other.releases(key, "x"));
    mine.vote_of({.what = commands::withdraw{.contender = "mine"}}, key, {});
}

BOOST_AUTO_TEST_CASE(watch_completes_when_another_manager_acquires_and_releases)
{
    auto const url = server().url(this_store::patient);
    ending_manager mine(r, on(url)), other(r, on(url, {.owner = "web-2"}));
    lock_info seen{.resource = "watched"};
    for (int i = 0; i < 3; ++i) {
        watch_of acquired(mine, seen);
        auto held = hold(r, other, "watched", {.ttl = 60s, .wait = 60s});
        BOOST_TEST_REQUIRE(r.run_to([&] { return acquired.ec.has_value(); }));
        BOOST_TEST(!*acquired.ec);
        BOOST_TEST((acquired.info.locked && acquired.info.owner == "web-2"));
        BOOST_TEST(acquired.info.nodes[0].value == held.token());

        watch_of released(mine, acquired.info);
        BOOST_TEST(!r.release(held));
        BOOST_TEST_REQUIRE(r.run_to([&] { return released.ec.has_value(); }));
        BOOST_TEST(!*released.ec);
        BOOST_TEST(!released.info.locked);
        seen = released.info;
    }
}

BOOST_AUTO_TEST_CASE(list_and_watch_by_a_manager_that_only_reads_begin_no_session)
{
    this_store::server s(this_store::durable);
    ending_manager writer(r, on(s.url("?session=600s&timeout=10s")));
    auto held = hold(r, writer, "stock", {.ttl = 60s, .wait = 60s});
    ending_manager reader(r, on(s.url(this_store::patient), {.read_only = true}));

    auto const page = list(r, reader, "*", {});

    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST((page.locks[0].resource == "stock" && page.locks[0].locked));
    BOOST_TEST((r.acquire(reader, "other", {.ttl = 60s}).ec == errc::unsupported));
    watch_of released(reader, page.locks[0]);
    BOOST_TEST(!r.release(held));
    BOOST_TEST_REQUIRE(r.run_to([&] { return released.ec.has_value(); }));
    BOOST_TEST(!*released.ec);
    BOOST_TEST(!released.info.locked);
    BOOST_TEST(this_store::sessions(s) == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
