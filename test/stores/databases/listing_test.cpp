// A database lists its locks, and a manager watches them.

#include "stores/store.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(lists_of_locks, event_loop, *only_with_server())

namespace {

using strings = std::vector<std::string>;

testing::client client_at(std::string const& url)
{
    return testing::client({.make = [url] { return make_node(url, {.connect_timeout = 10s}); }});
}

/// The keys that begin with @p prefix, from pages of three keys.
strings scan_all(testing::client& asks, std::string const& prefix)
{
    strings all;
    std::string place;
    do {
        auto const page = asks.ask({.what = commands::scan{.limit = 3}}, prefix, place);
        BOOST_TEST_REQUIRE((page.vote == vote::granted && page.details), page.error.message() + page.text);
        BOOST_TEST(page.details->keys.size() <= 3u);
        all.insert(all.end(), page.details->keys.begin(), page.details->keys.end());
        place = page.text;
    } while (!place.empty());
    return all;
}

strings names_in(lock_page const& page)
{
    strings names;
    std::ranges::transform(page.locks, std::back_inserter(names), &lock_info::resource);
    std::ranges::sort(names);
    return names;
}

/// The names that match @p pattern, from pages of two locks.
strings list_all(real_servers& r, lock_manager& locks, std::string const& pattern)
{
    strings all;
    std::string next;
    do {
        auto const [ec, page] = r.wait_for<lock_page>(
            [&](auto done) { locks.async_list(pattern, {.page_size = 2, .from = next}, std::move(done)); });
        BOOST_TEST_REQUIRE(!ec, ec.message());
        std::ranges::copy(names_in(page), std::back_inserter(all));
        next = page.next;
    } while (!next.empty());
    std::ranges::sort(all);
    return all;
}

std::string with_table(std::string const& table)
{
    return std::string(this_store::patient) + (*this_store::patient ? "&" : "?") + "table=" + table;
}

/// Watches @p name while @p change is carried out, and returns the new state.
template <class Change>
lock_info watch_during(real_servers& r, lock_manager& locks, std::string const& name, Change change)
{
    auto const [ec, seen] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect(name, std::move(done)); });
    BOOST_TEST_REQUIRE(!ec, ec.message());
    std::optional<lock_info> now;
    locks.async_watch(seen, [&](error_code, lock_info i) { now = std::move(i); });
    change();
    BOOST_TEST_REQUIRE(r.run_to([&] { return now.has_value(); }));
    return *now;
}

}  // namespace

BOOST_AUTO_TEST_CASE(scan_in_pages_returns_keys_of_any_bytes_once_and_in_order)
{
    auto asks = client_at(server().url(with_table("pages")));
    std::string const odd = "lock:%_\\'\xff";
    strings keys;
    for (std::string const end :
         {"a", "A", "a ", "a  ", "%", "_", "\\", "'", "\xff", "\xff\xff", "\x01\x1f\n", "\x7f", "\x80"})
        keys.push_back(odd + end);
    keys.push_back(odd + "a" + std::string(1, '\0'));
    keys.push_back(odd + std::string(1, '\0') + "a");
    auto const in_prefix = keys.size();
    keys.insert(keys.end(),
                {"lock:%_\\'", "lock:%_\\'\xfe\xff", "lock:%_\\(", "lock:%x\\'\xff", "lock:z", "mock:a", "\xff\xff"});
    for (auto const& key : keys)
        BOOST_TEST(asks.acquires(key, "v"));

    strings expected(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(in_prefix));
    std::ranges::sort(expected);
    BOOST_TEST((scan_all(asks, odd) == expected));
    BOOST_TEST((scan_all(asks, "\xff") == strings{"\xff\xff"}));
    BOOST_TEST((scan_all(asks, "lock:%x") == strings{"lock:%x\\'\xff"}));
    BOOST_TEST((scan_all(asks, "LOCK:") == strings{}));
    BOOST_TEST((scan_all(asks, odd + "a  ") == strings{odd + "a  "}));
    for (auto const& key : keys)
        BOOST_TEST(asks.releases(key, "v"));
    BOOST_TEST(scan_all(asks, "lock:").empty());
}

BOOST_AUTO_TEST_CASE(scan_lists_no_expired_keys_and_none_of_other_tables)
{
    auto asks = client_at(server().url(with_table("these"))), others = client_at(server().url(with_table("those")));
    for (auto const* const key : {"lock:1", "lock:2", "lock:3", "lock:4"})
        BOOST_TEST(asks.acquires(key, "v", std::string(key) == "lock:2" ? asks.short_ttl() : 60s));
    BOOST_TEST(others.acquires("lock:5", "v"));
    asks.run_to([&] { return asks.inspect("lock:2").vote == vote::denied; }, "a short lock does not expire");

    BOOST_TEST((scan_all(asks, "lock:") == strings{"lock:1", "lock:3", "lock:4"}));
    BOOST_TEST((scan_all(others, "lock:") == strings{"lock:5"}));
}

BOOST_AUTO_TEST_CASE(async_list_of_a_mixed_quorum_lists_each_lock_once)
{
    real_servers redis(1);
    auto const settings =
        on(server().url(this_store::patient),
           redis.settings({.nodes = {"memory://listed"}, .prefix = "mixed:", .restart_guard = restart_guard::off}));
    lock_manager mine(redis.context, settings), others(redis.context, settings);
    std::vector<lock> held;
    strings names;
    for (int i = 0; i < 7; ++i) {
        names.push_back(fmt::format("job-{}", i));
        held.push_back(hold(redis, mine, names.back(), {.ttl = 60s, .wait = 60s}));
    }
    held.push_back(hold(redis, mine, "user", {.ttl = 60s, .wait = 60s}));

    auto const lists = [&](std::string const& pattern, strings const& expected) {
        // A node may grant a lock after the others have listed it.
        return redis.run_to([&] { return list_all(redis, others, pattern) == expected; });
    };
    BOOST_TEST(lists("job-*", names));
    BOOST_TEST(lists("*[0-1]", {"job-0", "job-1"}));
    names.push_back("user");
    BOOST_TEST(lists("*", names));
    for (auto& l : held)
        BOOST_TEST(!redis.release(l));
    BOOST_TEST(lists("*", {}));
}

BOOST_AUTO_TEST_CASE(async_watch_of_a_lock_in_a_database_completes_with_each_change)
{
    auto const url = server().url(this_store::patient);
    lock_manager mine(r.context, on(url, {.owner = "web-1"})), others(r.context, on(url, {.owner = "web-2"}));
    lock_manager looks(r.context, on(url, {.read_only = true}));
    auto const during = [&](auto change) { return watch_during(r, looks, "seen", change); };
    acquire_options const alone{.ttl = 60s, .wait = 60s}, shared{.ttl = 60s, .wait = 60s, .mode = mode::shared};
    lock one, two;

    BOOST_TEST(during([&] { one = hold(r, mine, "seen", alone); }).owner == "web-1");
    BOOST_TEST(!during([&] { BOOST_TEST(!r.release(one)); }).locked);
    BOOST_TEST(during([&] { one = hold(r, mine, "seen", shared); }).readers.size() == 1u);
    BOOST_TEST(during([&] { two = hold(r, others, "seen", shared); }).readers.size() == 2u);
    BOOST_TEST(during([&] { BOOST_TEST(!r.release(two)); }).readers.size() == 1u);
    BOOST_TEST(during([&] { BOOST_TEST(!r.upgrade(one)); }).owner == "web-1");
    BOOST_TEST(during([&] { BOOST_TEST(!r.downgrade(one)); }).readers.size() == 1u);
    BOOST_TEST(!during([&] { BOOST_TEST(!r.release(one)); }).locked);
}

BOOST_AUTO_TEST_SUITE_END()
