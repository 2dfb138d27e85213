// Tests the shop's database alone: it refuses wrong requests of any client.

#include "stock.hpp"

#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using namespace std::chrono_literals;
using shop::stock;
using outcome = stock::sale::outcome;

BOOST_AUTO_TEST_SUITE(shop_stock)

namespace {

struct fixture {
    fixture() { s.fill({{.name = "espresso", .was = 3}}); }

    outcome sell(std::uint64_t fence, std::int64_t claim) { return s.sell("espresso", 1, fence, 0, claim).what; }
    std::int64_t left() { return s.items().at(0).left; }

    stock s{":memory:"};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(sell_with_a_void_claim_sells_nothing, fixture)
{
    auto const slow = s.begin("k", "body", -1ms);
    BOOST_TEST(slow.number != 0);
    auto const next = s.begin("k", "body", 1min);
    BOOST_TEST((next.what == stock::claim::new_one && !next.before && next.number != slow.number));
    BOOST_TEST((s.begin("k", "body", 1min).what == stock::claim::in_flight));

    BOOST_TEST((sell(1, slow.number) == outcome::claim_is_void));
    BOOST_TEST(left() == 3);
    s.give_up(slow.number);  // has no effect on the other claim
    BOOST_TEST((s.begin("k", "body", 1min).what == stock::claim::in_flight));
    BOOST_TEST((sell(2, next.number) == outcome::sold));
    BOOST_TEST((sell(3, next.number) == outcome::claim_is_void));  // the claim has been answered
    BOOST_TEST(left() == 2);
    BOOST_TEST(s.begin("k", "body", 1min).before.value().status == 201u);
    BOOST_TEST((s.begin("k", "another", 1min).what == stock::claim::other_body));
}

BOOST_FIXTURE_TEST_CASE(give_up_allows_another_try_with_the_same_key, fixture)
{
    auto const first = s.begin("k", "body", 1min);
    s.give_up(first.number);
    auto const again = s.begin("k", "body", 1min);
    BOOST_TEST((again.number != 0 && again.number != first.number));
    BOOST_TEST((sell(1, first.number) == outcome::claim_is_void));
    BOOST_TEST((sell(1, again.number) == outcome::sold));
}

BOOST_FIXTURE_TEST_CASE(sell_with_a_lower_token_or_none_is_superseded, fixture)
{
    BOOST_TEST((sell(0, 0) == outcome::sold));
    BOOST_TEST((sell(7, 0) == outcome::sold));
    BOOST_TEST((sell(6, 0) == outcome::superseded));
    BOOST_TEST((sell(0, 0) == outcome::superseded));
    BOOST_TEST((sell(7, 0) == outcome::sold));
    BOOST_TEST(left() == 0);
    BOOST_TEST((sell(8, 0) == outcome::sold_out));
}

BOOST_FIXTURE_TEST_CASE(knows_of_an_unknown_item_returns_false, fixture)
{
    BOOST_TEST(s.knows("espresso"));
    BOOST_TEST(!s.knows("tea"));
    BOOST_TEST(!s.knows(""));
}

BOOST_AUTO_TEST_CASE(stock_of_another_schema_version_throws)
{
    redlock::testbed::temporary_folder folder;
    auto const file = folder.path + "/shop.db";
    BOOST_TEST_REQUIRE(redlock::testbed::process({"sqlite3", file, "CREATE TABLE stock (item TEXT)"}).wait().status
                       == 0);
    BOOST_CHECK_EXCEPTION(stock{file}, std::runtime_error,
                          [](auto& e) { return std::string(e.what()).find("another version") != std::string::npos; });
    auto const good = folder.path + "/good.db";
    stock first(good), second(good);  // opening it again is allowed
    first.fill({{.name = "tea", .was = 2}});
    BOOST_TEST((second.sell("tea", 1, 1, 0, 0).what == outcome::sold));
    BOOST_TEST(first.items().at(0).sold == 1);
    BOOST_TEST(first.oversold() == 0);
}

// The database has one thread. Reading many orders would block it.
BOOST_AUTO_TEST_CASE(items_are_counted_without_reading_the_orders)
{
    redlock::testbed::temporary_folder folder;
    auto const file = folder.path + "/shop.db";
    stock s(file);
    s.fill({{.name = "tea", .was = 3}});
    BOOST_TEST((s.sell("tea", 2, 1, 0, 0).what == outcome::sold));
    BOOST_TEST_REQUIRE(redlock::testbed::process({"sqlite3", file, "DELETE FROM orders"}).wait().status == 0);
    BOOST_TEST(s.items().at(0).left == 1);
    BOOST_TEST(s.items().at(0).sold == 2);
    BOOST_TEST(s.oversold() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
