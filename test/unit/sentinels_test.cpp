// What Sentinels say, and the way to the master that they name, over links that do what the test says, in time that the
// test sets.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/sentinel_link.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_link.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::stores::redis;
using namespace redlock::test;
using namespace redlock::test::replies;
using namespace std::chrono_literals;

namespace {

reply at(std::string host, std::string port)
{
    return list(stores::redis::resp::type::array, {std::move(host), std::move(port)});
}

struct fixture : link::listener {
    fixture()
    {
        way->start(runtime::make_manual_runtime(context.get_executor(), clock), *this);
        way->open(greeting);
    }
    ~fixture() { way->abandon(); }

    void connecting() override { ++connects; }
    void answered(std::shared_ptr<batch> const&) override { ++answers; }
    void change_read(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply why) override { ends.push_back(std::move(why)); }

    void pass(clock::duration d) { clock->advance(context, d); }
    scripted_link& to(std::string const& where) { return *links[where]; }
    bool goes_to(std::string const& where) { return links.contains(where) && links[where]->asked == greeting; }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::map<std::string, std::shared_ptr<scripted_link>> links;
    std::vector<net::url> urls;
    std::shared_ptr<batch> greeting = std::make_shared<batch>();
    std::shared_ptr<stores::redis::link> way = make_sentinel_link(
        net::parse_url("redis-sentinel://:pw@s1,s2:7/stock?db=3&sentinel_user=u&sentinel_password=spw"),
        {.nodes = {}, .connect_timeout = 1s}, [this](net::url const& u) {
            urls.push_back(u);
            return links[u.host + ':' + u.port] = std::make_shared<scripted_link>();
        });
    int connects = 0, answers = 0;
    std::vector<node_reply> ends;
};

reply const hello = list(stores::redis::resp::type::map, {"server", "redis"});

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sentinels, fixture)

BOOST_AUTO_TEST_CASE(an_answer_is_an_address_or_says_why_not)
{
    net::place p;
    BOOST_TEST(!read_master(at("10.0.0.1", "6379"), "stock", p).error);
    BOOST_TEST((p == net::place{"10.0.0.1", "6379"}));
    BOOST_TEST(!read_master(at("fe80::1", "7"), "stock", p).error);
    BOOST_TEST(!read_master(at("db.example", "65535"), "stock", p).error);
    auto const fails = [&](reply const& r, errc e, std::string_view words) {
        auto const why = read_master(r, "stock", p);
        return why.error == e && why.text.find(words) != why.text.npos;
    };
    BOOST_TEST(fails(nothing(), errc::node_unreachable, "no master by the name \"stock\""));
    BOOST_TEST(
        fails(refused("ERR unknown command 'SENTINEL', with args beginning with: 'GET-MASTER-ADDR-BY-NAME' 'stock' "),
              errc::unsupported_server, "this is no Sentinel"));
    BOOST_TEST(fails(refused("NOPERM User x has no permissions to run the 'sentinel|get-master-addr-by-name' command"),
                     errc::permission_denied, "NOPERM"));
    for (auto const& r : {at("", "6379"), at("a b", "6379"), at("h", "0"), at("h", "65536"), at("h", "6x"),
                          list(stores::redis::resp::type::array, {"h"}), word("OK")})
        BOOST_TEST(fails(r, errc::unexpected_reply, ""));
}

BOOST_AUTO_TEST_CASE(who_is_asked_is_told_who_asks_and_nothing_that_is_not_for_it)
{
    BOOST_TEST(urls[0].password == "spw");
    BOOST_TEST(urls[0].user == "u");
    BOOST_TEST(urls[0].database == 0);
    to("s1:26379").says({hello, at("m", "1")});
    BOOST_TEST(urls.back().password == "pw");
    BOOST_TEST(urls.back().user == "");
}

BOOST_AUTO_TEST_CASE(the_master_is_greeted_where_a_sentinel_says)
{
    BOOST_TEST(connects == 0);
    to("s1:26379").says({hello, at("m", "1")});
    BOOST_TEST(goes_to("m:1"));
    BOOST_TEST(connects == 1);
    BOOST_TEST(to("s1:26379").kept);
    BOOST_TEST(to("s2:7").opened == 0);
}

BOOST_AUTO_TEST_CASE(the_next_one_is_asked_and_remembered)
{
    to("s1:26379").ends();
    BOOST_TEST(to("s2:7").opened == 1);
    to("s2:7").says({hello, at("m", "1")});
    BOOST_TEST(goes_to("m:1"));
    to("m:1").ends();
    way->open(greeting);
    BOOST_TEST(to("s1:26379").opened == 1);
    to("s2:7").says({at("m", "2")});
    BOOST_TEST(goes_to("m:2"));
    BOOST_TEST(to("m:1").closed);
}

BOOST_AUTO_TEST_CASE(one_that_does_not_know_is_left_for_the_next_one)
{
    to("s1:26379").says({hello, nothing()});
    BOOST_TEST(to("s1:26379").cuts == 1);
    to("s1:26379").ends();
    BOOST_TEST(to("s2:7").opened == 1);
    to("s2:7").says({refused("WRONGPASS invalid username-password pair or user is disabled."),
                     refused("NOAUTH Authentication required.")});
    to("s2:7").ends();
    BOOST_TEST_REQUIRE(ends.size() == 1u);
    BOOST_TEST((ends[0].error == errc::authentication_failed));
    BOOST_TEST(ends[0].text.find("s1:26379: it knows no master by the name \"stock\"; s2:7: WRONGPASS")
               != std::string::npos);
    way->open(greeting);  // as whoever hears that does, after a pause
    BOOST_TEST(to("s1:26379").opened == 2);
}

BOOST_AUTO_TEST_CASE(one_that_says_nothing_is_given_up)
{
    pass(2900ms);
    BOOST_TEST(to("s1:26379").cuts == 0);
    pass(200ms);
    BOOST_TEST(to("s1:26379").cuts == 1);
}

BOOST_AUTO_TEST_CASE(the_connection_ends_when_another_master_is_named)
{
    to("s1:26379").says({hello, at("m", "1")});
    way->server_accepted();
    BOOST_TEST(to("m:1").kept);
    pass(1s);
    to("s1:26379").says({at("m", "1")});
    BOOST_TEST(to("m:1").cuts == 0);
    pass(1s);
    to("s1:26379").says({at("m", "2")});
    BOOST_TEST(to("m:1").cuts == 1);
    to("m:1").ends();
    BOOST_TEST_REQUIRE(ends.size() == 1u);
    BOOST_TEST(ends[0].text.find("m:2") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(the_connection_ends_when_the_server_is_a_replica_now)
{
    to("s1:26379").says({hello, at("m", "1")});
    to("m:1").says({refused("ERR something else")});
    BOOST_TEST(to("m:1").cuts == 0);
    auto const b = std::make_shared<batch>();
    way->send(b);
    to("m:1").says({refused("READONLY You can't write against a read only replica.")});
    BOOST_TEST(answers == 2);
    BOOST_TEST(to("m:1").cuts == 1);
}

BOOST_AUTO_TEST_CASE(the_master_is_kept_while_no_sentinel_answers)
{
    to("s1:26379").says({hello, at("m", "1")});
    for (int i = 0; i < 3; ++i) {
        pass(1s);
        to("s1:26379").ends();
        to("s2:7").ends();
    }
    BOOST_TEST(to("m:1").cuts == 0);
    BOOST_TEST(ends.empty());
    pass(1s);
    to("s1:26379").says({hello, at("m", "2")});
    BOOST_TEST(to("m:1").cuts == 1);
}

BOOST_AUTO_TEST_SUITE_END()
