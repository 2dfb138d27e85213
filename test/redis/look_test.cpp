// Lists, watches, and managers that only read, on real servers.

#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <set>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(looks)

namespace {

struct three_servers {
    real_servers r{3};
    lock_manager locks{r.context, r.settings({.owner = "web:1", .restart_guard = restart_guard::off})};

    lock_page list(lock_manager& by, std::string pattern, list_options options = {})
    {
        auto [ec, page] =
            r.wait_for<lock_page>([&](auto done) { by.async_list(std::move(pattern), options, std::move(done)); });
        BOOST_TEST(!ec, ec.message());
        return page;
    }

    std::pair<error_code, lock_info> look(lock_manager& by, std::string name)
    {
        return r.wait_for<lock_info>([&](auto done) { by.async_inspect(std::move(name), std::move(done)); });
    }
};

std::vector<std::string> const looking{"ACL",
                                       "SETUSER",
                                       "viewer",
                                       "on",
                                       ">secret",
                                       "resetkeys",
                                       "~lock:*",
                                       "resetchannels",
                                       "-@all",
                                       "+hello",
                                       "+evalsha",
                                       "+script|load",
                                       "+get",
                                       "+pttl",
                                       "+scan",
                                       "+hgetall",
                                       "+zrange",
                                       "+time",
                                       "+ping",
                                       "+client|tracking",
                                       "+client|caching"};

}  // namespace

BOOST_FIXTURE_TEST_CASE(list_on_servers_with_many_other_keys_returns_each_lock_once, three_servers)
{
    std::set<std::string> expected;
    for (int i = 0; i < 300; ++i) {
        auto const name = fmt::format("job*{}", i);
        expected.insert(name);
        for (std::size_t s = 0; s < 3; ++s) {
            if (i % 3 == 0 || static_cast<std::size_t>(i) % 3 != s)
                r[s].ask({"SET", "lock:" + name, std::string(32, 'a') + ":web:1", "PX", "600000"});
        }
    }
    for (int i = 0; i < 1000; ++i)
        r[0].ask({"SET", fmt::format("other:{}", i), "value"});
    r[1].ask({"LPUSH", "lock:job*list", "no lock"});

    lock_manager other(r.context, r.settings({.restart_guard = restart_guard::off}));
    std::multiset<std::string> names;
    std::string next;
    for (int i = 0; i == 0 || !next.empty(); ++i) {
        auto const page = list(i % 2 == 0 ? locks : other, "job\\**", {.page_size = 20, .from = next});
        for (auto const& l : page.locks) {
            names.insert(l.resource);
            BOOST_TEST(l.nodes.size() == 3u);
        }
        next = page.next;
    }

    BOOST_TEST(names.erase("job*list") == 1u);  // the key of another type is shown, too
    BOOST_TEST(names.size() == expected.size());
    BOOST_TEST(std::ranges::equal(names, expected));
}

BOOST_FIXTURE_TEST_CASE(watch_on_servers_completes_at_each_change_of_the_holder, three_servers)
{
    lock_manager other(r.context, r.settings({.owner = "web:2", .restart_guard = restart_guard::off}));
    auto seen = look(other, "stock").second;
    auto const next = [&](auto change) {
        std::optional<std::pair<error_code, lock_info>> ended;
        other.async_watch(seen, [&](error_code ec, lock_info i) { ended.emplace(ec, std::move(i)); });
        change();
        BOOST_TEST_REQUIRE(r.run_to([&] { return ended.has_value(); }));
        BOOST_TEST(!ended->first);
        seen = ended->second;
    };

    lock held;
    next([&] { held = r.acquire(locks, "stock", {.ttl = 20s, .wait = 10s, .note = "report"}).held; });
    BOOST_TEST(seen.locked);
    BOOST_TEST(seen.note == "report");
    next([&] { r.release(held); });
    BOOST_TEST(!seen.locked);
    next([&] { held = r.acquire(other, "stock", {.ttl = 20s, .wait = 10s}).held; });
    BOOST_TEST(seen.owner == "web:2");
    next([&] { r.release(held); });
    BOOST_TEST(!seen.locked);
    next([&] { held = r.acquire(locks, "stock", {.ttl = 5s, .wait = 10s}).held; });
    next([] {});  // it expires
    BOOST_TEST(!seen.locked);
}

BOOST_FIXTURE_TEST_CASE(read_only_manager_needs_no_right_to_write_and_leaves_no_key, three_servers)
{
    for (auto& s : r.servers) {
        s->ask(looking);
        s->ask({"ACL", "LOG", "RESET"});
    }
    auto held = r.acquire(locks, "stock", {.ttl = 20s, .wait = 10s, .note = "report"}).held;
    auto settings = r.settings({.read_only = true});
    for (auto& url : settings.nodes)
        url.insert(url.find("//") + 2, "viewer:secret@");
    lock_manager viewer(r.context, settings);
    std::string const keys = "3";  // the lock, the record of the server, and the settings of clients
    BOOST_REQUIRE(r.run_to([&] { return r[0].ask({"DBSIZE"}) == keys; }));  // a lock is acquired at the majority

    auto const [ec, info] = look(viewer, "stock");
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(info.note == "report");
    BOOST_TEST(list(viewer, "*").locks.size() == 1u);
    BOOST_TEST((r.acquire(viewer, "stock").ec == errc::unsupported));
    BOOST_TEST(
        r.acquire(viewer, "stock").report.message.ends_with("this manager only reads (manager_options::read_only)"));
    auto const broken = r.wait_for<break_info>([&](auto done) { viewer.async_break(info, std::move(done)); });
    BOOST_TEST((broken.first == errc::unsupported));
    BOOST_TEST(held.held());
    BOOST_TEST(r[0].ask({"DBSIZE"}) == keys);
    std::optional<lock_info> next;
    viewer.async_watch(info, [&](error_code, lock_info i) { next = std::move(i); });
    r.run_to([] { return false; }, 2100ms);  // heartbeats
    r.release(held);
    BOOST_TEST(r.run_to([&] { return next.has_value(); }));
    for (auto& s : r.servers)
        BOOST_TEST(s->ask({"ACL", "LOG"}) == "");
}

BOOST_FIXTURE_TEST_CASE(read_only_manager_reads_a_replica_and_reports_refusals, three_servers)
{
    auto held = r.acquire(locks, "stock", {.ttl = 20s, .wait = 10s, .renew = renewal::automatic}).held;
    local_server replica;
    replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(r[0].port())});
    BOOST_TEST_REQUIRE(r.run_to([&] { return replica.ask({"EXISTS", "lock:stock"}) == "1"; }));
    auto settings = r.settings({.read_only = true});
    settings.nodes[1] = replica.url();
    settings.nodes[2].insert(settings.nodes[2].find("//") + 2, "nobody:bad@");
    lock_manager viewer(r.context, settings);

    auto const [ec, info] = look(viewer, "stock");

    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(info.locked);
    BOOST_TEST(info.nodes[1].locked);
    BOOST_TEST((info.nodes[2].error == errc::authentication_failed));
    BOOST_TEST(info.nodes[2].message.starts_with("WRONGPASS"));
}

BOOST_AUTO_TEST_SUITE_END()
