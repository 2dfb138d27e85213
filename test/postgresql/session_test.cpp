// One connection by itself.

#include "stores/postgresql/session.hpp"
#include "support/postgres.hpp"

#include <redlock/error.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(session_with_postgresql, *only_with_postgresql())

namespace {

// An owner who waits for what it wants to know.
struct connection final : sql::session::owner {
    explicit connection(std::string const& url, bool welcome = true)
        : is_welcome(welcome),
          link(std::make_shared<pg::session>(context.get_executor(), std::make_shared<pg::address const>(pg::parse_address(url, {})), nullptr, 5s, false, *this))
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

    /// Whether the server would remember.
    bool is_durable()
    {
        std::optional<bool> said;
        link->look([&](bool durable) { said = durable; });
        run_to([&] { return said.has_value(); });
        return *said;
    }
    void look()
    {
        link->look([](bool) {});
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
    std::shared_ptr<pg::session> const link;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_earlier_connection_is_known_to_be_gone_when_it_is_whatever_the_time_zone)
{
    postgres_server s({"fsync=off"});
    connection earlier(s.url());
    s.ask("ALTER DATABASE postgres SET timezone = 'Asia/Tokyo'");
    s.ask("ALTER DATABASE postgres SET datestyle = 'German'");
    connection later(s.url());
    BOOST_TEST(later.link->server().started == earlier.link->server().started);
    BOOST_TEST(later.link->server().since == earlier.link->server().since);
    auto const& backend = earlier.link->server().backend;
    auto const is_there = [&] { return s.ask("SELECT count(*) FROM pg_stat_activity WHERE pid = " + std::to_string(backend.id)) == "1"; };
    BOOST_TEST(is_there());
    for (bool gone = false, asked = false; !gone; asked = false) {
        later.link->end(backend, [&](bool is_gone) {
            asked = true;
            gone = is_gone;
        });
        later.run_to([&] { return asked; });
    }
    BOOST_TEST(!is_there());
}

BOOST_AUTO_TEST_CASE(a_server_that_its_owner_refuses_has_not_been_up)
{
    connection refused(database().url(), false);
    BOOST_TEST(refused.is_over);
    BOOST_TEST(!refused.was_up);
}

BOOST_AUTO_TEST_CASE(a_database_that_would_forget_from_now_on_says_so)
{
    postgres_server s;
    {
        connection before(s.url());
        BOOST_TEST(before.link->server().durable);
        BOOST_TEST(s.ask("ALTER TABLE redlock SET UNLOGGED") == "");  // all rows are written anew, as if they were restored
        before.look();
        before.run_to([&] { return before.is_over; });
        BOOST_TEST(!connection(s.url()).link->server().durable);
    }
    BOOST_TEST(s.ask("ALTER TABLE redlock SET LOGGED") == "");
    connection c(s.url());
    BOOST_TEST(c.link->server().durable);
    BOOST_TEST(c.is_durable());
    s.ask("ALTER SYSTEM SET full_page_writes = off");
    s.ask("SELECT pg_reload_conf()");
    c.run_to([&] { return !c.is_durable(); });
}

BOOST_AUTO_TEST_CASE(who_withdraws_waits_for_nobody_in_a_circle)
{
    auto& d = database();
    connection makes_tables(d.url("?table=rounds"));
    auto const connect = [&] {
        auto const text = "host=127.0.0.1 user=redlock dbname=postgres port=" + std::to_string(d.port());
        return std::unique_ptr<PGconn, void (*)(PGconn*)>(PQconnectdb(text.c_str()), PQfinish);
    };
    auto const reads = connect(), withdraws = connect();
    auto const ask = [&](std::string const& text) {
        pg::result const r(PQexec(reads.get(), text.c_str()), PQclear);
        return std::string(PQresultErrorMessage(r.get()));
    };
    BOOST_TEST(ask("INSERT INTO rounds (key, watched) VALUES ('k', 4)") == "");
    BOOST_TEST(ask("INSERT INTO rounds_wish VALUES ('k', 'writer', false, 'infinity')") == "");
    BOOST_TEST(ask("BEGIN; SELECT FROM rounds WHERE key = 'k' FOR UPDATE") == "");
    BOOST_TEST(PQsendQuery(withdraws.get(), "SELECT rounds_withdraw(ARRAY['k'::bytea], 'writer')") == 1);
    auto const waits = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = " + std::to_string(PQbackendPID(withdraws.get()));
    makes_tables.run_to([&] { return d.ask(waits) == "1"; });
    BOOST_TEST(ask("SELECT * FROM rounds_share('k', 'v', 1000, 'reader', false, true)") == "");
    BOOST_TEST(ask("COMMIT") == "");
    pg::result const withdrawn(PQgetResult(withdraws.get()), PQclear);
    BOOST_TEST(std::string(PQresultErrorMessage(withdrawn.get())) == "");
    BOOST_TEST(d.ask("SELECT count(*) FROM rounds_wish") == "0");
}

BOOST_AUTO_TEST_SUITE_END()
