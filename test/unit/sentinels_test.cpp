// The answers of Sentinels, and the connection to the master that they name. The transports are scripted, and the test
// sets the time.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/sentinel_transport.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_transport.hpp"

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

struct fixture : transport::owner {
    fixture()
    {
        master_transport->start(runtime::make_manual_runtime(context.get_executor(), clock), *this);
        master_transport->open(greeting);
    }
    ~fixture() { master_transport->abandon(); }

    void connecting() override { ++connects; }
    void answered(std::shared_ptr<batch> const&) override { ++answers; }
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply why) override { ends.push_back(std::move(why)); }

    void pass(clock::duration d) { clock->advance(context, d); }
    scripted_transport& to(std::string const& where) { return *transports[where]; }
    bool goes_to(std::string const& where)
    {
        return transports.contains(where) && transports[where]->asked == greeting;
    }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::map<std::string, std::shared_ptr<scripted_transport>> transports;
    std::vector<net::url> urls;
    std::shared_ptr<batch> greeting = std::make_shared<batch>();
    std::shared_ptr<stores::redis::transport> master_transport = make_sentinel_transport(
        net::parse_url("redis-sentinel://:pw@s1,s2:7/stock?db=3&sentinel_user=u&sentinel_password=spw"),
        {.nodes = {}, .connect_timeout = 1s}, [this](net::url const& u) {
            urls.push_back(u);
            return transports[u.host + ':' + u.port] = std::make_shared<scripted_transport>();
        });
    int connects = 0, answers = 0;
    std::vector<node_reply> ends;
};

reply const hello = list(stores::redis::resp::type::map, {"server", "redis"});

}  // namespace

BOOST_FIXTURE_TEST_SUITE(sentinels, fixture)

BOOST_AUTO_TEST_CASE(read_master_of_an_answer_gives_an_address_or_the_reason)
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

BOOST_AUTO_TEST_CASE(open_sends_each_server_only_its_own_credentials)
{
    BOOST_TEST(urls[0].password == "spw");
    BOOST_TEST(urls[0].user == "u");
    BOOST_TEST(urls[0].database == 0);
    to("s1:26379").says({hello, at("m", "1")});
    BOOST_TEST(urls.back().password == "pw");
    BOOST_TEST(urls.back().user == "");
}

BOOST_AUTO_TEST_CASE(open_connects_to_the_master_that_a_sentinel_names)
{
    BOOST_TEST(connects == 0);
    to("s1:26379").says({hello, at("m", "1")});
    BOOST_TEST(goes_to("m:1"));
    BOOST_TEST(connects == 1);
    BOOST_TEST(to("s1:26379").kept);
    BOOST_TEST(to("s2:7").opened == 0);
}

BOOST_AUTO_TEST_CASE(open_after_a_sentinel_failed_asks_the_next_one_and_remembers_it)
{
    to("s1:26379").ends();
    BOOST_TEST(to("s2:7").opened == 1);
    to("s2:7").says({hello, at("m", "1")});
    BOOST_TEST(goes_to("m:1"));
    to("m:1").ends();
    master_transport->open(greeting);
    BOOST_TEST(to("s1:26379").opened == 1);
    to("s2:7").says({at("m", "2")});
    BOOST_TEST(goes_to("m:2"));
    BOOST_TEST(to("m:1").closed);
}

BOOST_AUTO_TEST_CASE(open_with_a_sentinel_that_knows_no_master_asks_the_next_one)
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
    master_transport->open(greeting);  // the owner does this after a pause
    BOOST_TEST(to("s1:26379").opened == 2);
}

BOOST_AUTO_TEST_CASE(open_to_a_silent_sentinel_gives_up)
{
    pass(2900ms);
    BOOST_TEST(to("s1:26379").cuts == 0);
    pass(200ms);
    BOOST_TEST(to("s1:26379").cuts == 1);
}

BOOST_AUTO_TEST_CASE(kept_connection_ends_when_a_sentinel_names_another_master)
{
    to("s1:26379").says({hello, at("m", "1")});
    master_transport->server_accepted();
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

BOOST_AUTO_TEST_CASE(kept_connection_ends_when_the_server_becomes_a_replica)
{
    to("s1:26379").says({hello, at("m", "1")});
    to("m:1").says({refused("ERR something else")});
    BOOST_TEST(to("m:1").cuts == 0);
    auto const b = std::make_shared<batch>();
    master_transport->send(b);
    to("m:1").says({refused("READONLY You can't write against a read only replica.")});
    BOOST_TEST(answers == 2);
    BOOST_TEST(to("m:1").cuts == 1);
}

BOOST_AUTO_TEST_CASE(kept_connection_stays_while_no_sentinel_answers)
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
