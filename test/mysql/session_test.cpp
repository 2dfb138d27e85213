// One connection by itself.

#include "stores/mysql/session.hpp"
#include "support/mariadb.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(session_with_mysql, *only_with_mariadb())

namespace {

// An owner who waits for what it wants to know.
struct connection final : sql::session::owner {
    explicit connection(std::string const& url, bool welcome = true)
        : is_welcome(welcome),
          link(std::make_shared<my::session>(context.get_executor(), std::make_shared<my::address const>(my::parse_address(url, {})), 5s, *this))
    {
        link->open();
        run_to([this] { return is_up || is_over; });
    }
    ~connection() { link->close(); }

    template <class Condition>
    void run_to(Condition done)
    {
        for (auto const end = clock::now() + 20s; !done();) {
            BOOST_REQUIRE((clock::now() < end));
            context.restart();
            context.run_one_for(10ms);
        }
    }

    node_reply meet(sql::session&, sql::introduction const&) override
    {
        return is_welcome ? node_reply{} : node_reply{.untouched = true, .error = errc::duplicate_node};
    }
    void up(sql::session&) override { is_up = true; }
    void down(sql::session&, bool was, node_reply) override
    {
        is_up = false;
        is_over = true;
        was_up = was;
    }
    void notified(std::string_view, std::int64_t) override {}
    void log(log_level, std::string const&) const override {}

    asio::io_context context;
    bool const is_welcome;
    bool is_up = false, is_over = false, was_up = false;
    std::shared_ptr<my::session> const link;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_earlier_connection_is_ended_and_known_to_be_gone_when_it_is)
{
    connection earlier(database().url()), later(database().url());
    auto const& backend = earlier.link->server().backend;
    mariadb_client looker(database());
    auto const is_there = [&] { return looker.ask("SELECT COUNT(*) FROM information_schema.processlist WHERE id = " + std::to_string(backend.id)) == "1"; };
    BOOST_TEST(is_there());
    for (bool gone = false, asked = false; !gone; asked = false) {
        later.link->end(backend, [&](bool is_gone) {
            asked = true;
            gone = is_gone;
        });
        later.run_to([&] { return asked; });
    }
    BOOST_TEST(!is_there());
    earlier.run_to([&] { return !earlier.is_up; });  // idle as it is, it notices
}

BOOST_AUTO_TEST_CASE(a_server_that_its_owner_refuses_has_not_been_up)
{
    connection refused(database().url(), false);
    BOOST_TEST(refused.is_over);
    BOOST_TEST(!refused.was_up);
}

BOOST_AUTO_TEST_CASE(two_connections_tell_of_one_life_of_a_server_and_another_tells_of_another)
{
    mariadb_server s;
    connection one(s.url());
    auto const first = one.link->server();
    BOOST_TEST(first.durable);
    BOOST_TEST(!connection(database().url()).link->server().durable);
    BOOST_TEST((first.uptime < 60s));
    {
        connection two(s.url());
        BOOST_TEST(two.link->server().started == first.started);
        BOOST_TEST(two.link->server().backend.id > first.backend.id);
    }
    // A server tells of its start in seconds. Who does not vote until max_ttl after that does not do so after a second start in it.
    one.run_to([&] { return connection(s.url()).link->server().uptime >= 2s; });
    s.kill();
    s.start();
    one.run_to([&] { return !one.is_up; });
    connection two(s.url());
    BOOST_TEST(two.link->server().started != first.started);
    BOOST_TEST(two.link->server().system == first.system);
    BOOST_TEST(two.link->server().since == first.since);
    BOOST_TEST(two.link->server().timeline == first.timeline);
}

BOOST_AUTO_TEST_SUITE_END()
