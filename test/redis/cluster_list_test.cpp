// Lists of the locks in a cluster: one master after the other.

#include "stores/redis/cluster_scan.hpp"
#include "support/one_node.hpp"
#include "bed/redis_cluster.hpp"
#include "testing/node_client.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(cluster_lists)

namespace {

using stores::redis::member_scan;
using stores::redis::next_scan;

std::vector<net::place> const masters{{"10.0.0.2", "6379"}, {"10.0.0.1", "6379"}, {"10.0.0.1", "700"}};

/// A scan at @p place, and its answer from the master with the text @p text.
struct scan_at {
    explicit scan_at(std::string place, std::string text = {})
        : asked(std::make_shared<testing::request>(node_command{.what = commands::scan{}},
                                                   std::vector<std::string>{"lock:"}, std::move(place))),
          part(next_scan(asked, masters))
    {
        if (!part)
            return;
        cursor = part->operation->command().value;
        part->operation->complete({.vote = vote::granted, .text = std::move(text)});
    }

    std::string where() const { return part ? net::to_string(part->where) : ""; }

    std::shared_ptr<testing::request> asked;
    std::optional<member_scan> part;
    std::string cursor;
};

}  // namespace

BOOST_AUTO_TEST_CASE(next_scan_goes_from_master_to_master_by_address)
{
    scan_at const first("", "17");
    BOOST_TEST(first.where() == "10.0.0.1:6379");
    BOOST_TEST(first.cursor == "0");
    BOOST_TEST(first.asked->reply.text == "10.0.0.1:6379 17");

    scan_at const second(first.asked->reply.text);
    BOOST_TEST(second.where() == "10.0.0.1:6379");
    BOOST_TEST(second.cursor == "17");
    BOOST_TEST(second.asked->reply.text == "10.0.0.1:700 0");

    scan_at const last("10.0.0.2:6379 5");
    BOOST_TEST(last.cursor == "5");
    BOOST_TEST(last.asked->reply.text == "");
}

BOOST_AUTO_TEST_CASE(next_scan_without_the_master_of_the_place_takes_the_next)
{
    scan_at const gone("10.0.0.1:6380 17");
    BOOST_TEST(gone.where() == "10.0.0.1:700");
    BOOST_TEST(gone.cursor == "0");

    BOOST_TEST(!scan_at("10.0.0.3:6379 17").part.has_value());
}

BOOST_AUTO_TEST_CASE(list_by_two_managers_in_turns_has_each_lock_of_three_masters_once)
{
    testbed::redis_cluster c;
    real_servers r(0);
    ending_manager mine(r, trusting(c.url())), other(r, trusting(c.url()));
    r.connect(mine);
    std::vector<lock> held;
    std::set<std::size_t> owners;
    for (int i = 0; i < 200; ++i) {
        auto const name = "job-" + std::to_string(i);
        auto won = r.acquire(mine, name, {.ttl = 60s, .wait = 60s, .renew = renewal::automatic});
        BOOST_TEST_REQUIRE(!won.ec, won.report.message);
        held.push_back(std::move(won.held));
        if (i < 20)
            owners.insert(c.owner("lock:" + name));
    }
    BOOST_TEST(owners.size() == 3u);

    std::multiset<std::string> names;
    std::string next;
    std::size_t pages = 0;
    do {
        auto& locks = ++pages % 2 == 0 ? mine : other;
        auto [ec, page] = r.wait_for<lock_page>(
            [&](auto done) { locks.async_list("job-*", {.page_size = 20, .from = next}, std::move(done)); });
        BOOST_TEST_REQUIRE(!ec, ec.message());
        for (auto const& l : page.locks)
            names.insert(l.resource);
        next = std::move(page.next);
    } while (!next.empty() && pages < 200);

    BOOST_TEST((pages >= 4 && pages < 200));
    BOOST_TEST(names.size() == held.size());
    for (auto const& l : held)
        BOOST_TEST(names.count(l.resource()) == 1u);
    for (auto& l : held)
        BOOST_TEST(!r.release(l));
}

// All locks are in one slot, so only its master is asked.
BOOST_AUTO_TEST_CASE(list_with_a_hash_tag_in_the_prefix_ignores_dead_masters)
{
    testbed::redis_cluster c(3, 0, {"--cluster-require-full-coverage", "no"});
    real_servers r(0);
    auto settings = trusting(c.url());
    settings.prefix = "{app}:";
    ending_manager locks(r, settings);
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 60s});
    BOOST_TEST_REQUIRE(!won.ec, won.report.message);
    auto const owner = c.owner("{app}:stock");
    c[(owner + 1) % 3].kill();

    auto const [ec, page] =
        r.wait_for<lock_page>([&](auto done) { locks.async_list("*", list_options(), std::move(done)); });

    BOOST_TEST(!ec, ec.message());
    BOOST_TEST(page.next == "");
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].resource == "stock");
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(list_with_a_dead_master_reports_that_locks_may_be_missing)
{
    testbed::redis_cluster c(3, 0, {"--cluster-require-full-coverage", "no"});
    real_servers r(0);
    ending_manager locks(r, trusting(c.url()));
    r.connect(locks);
    c[1].kill();

    lock_page page;
    BOOST_TEST(r.run_to([&] {
        page.next.clear();
        error_code ec;
        do {
            auto const from = page.next;
            auto listed =
                r.wait_for<lock_page>([&](auto done) { locks.async_list("*", {.from = from}, std::move(done)); });
            ec = listed.first;
            page = std::move(listed.second);
        } while (!page.next.empty());
        return ec == errc::no_quorum;
    }));
    BOOST_TEST_REQUIRE(page.nodes.size() == 1u);
    BOOST_TEST(!page.nodes[0].complete);
}

BOOST_AUTO_TEST_SUITE_END()
