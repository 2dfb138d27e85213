// Connections of a database node, with fake sessions instead of a server.

#include "stores/kit/connections.hpp"
#include "support/virtual_clock.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using redlock::test::virtual_clock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(connections_to_databases)

namespace {

struct fake_session final : stores::kit::session {
    explicit fake_session(owner& o) : owner_(o) {}

    void come(stores::kit::introduction server)
    {
        server_ = std::move(server);
        BOOST_TEST(!owner_.check_server(*this, server_).error);
        is_up = true;
        owner_.up(*this);
    }
    void go()
    {
        is_up = false;
        owner_.down(*this, true, {.untouched = true, .error = errc::node_unreachable});
    }

    void open() override {}
    void close() override {}
    void abandon() override {}
    void cut(node_reply) override { go(); }
    bool up() const noexcept override { return is_up; }
    bool busy() const noexcept override { return true; }  // the test reconnects it
    stores::kit::introduction const& server() const noexcept override { return server_; }
    std::optional<clock::time_point> waiting_since() const override
    {
        return silent_since ? silent_since : is_waiting ? std::optional(clock::now()) : std::nullopt;
    }
    void carry_out(node_command const&, bool, std::function<void(node_reply)>) override {}
    void end(stores::kit::backend const& b, std::function<void(bool)>) override { ended.push_back(b.id); }
    void ask_durability(std::function<void(bool)> done) override
    {
        ++looks;
        done(is_durable);
    }
    void clean() override {}

    bool is_up = false, is_waiting = false, is_durable = true;
    int looks = 0;
    std::optional<clock::time_point> silent_since;
    std::vector<std::int64_t> ended;

private:
    owner& owner_;
    stores::kit::introduction server_;
};

stores::kit::introduction const durable_for_long{
    .backend = {7}, .system = "one", .started = "at noon", .durable = true, .since = "ever", .age = 1h, .uptime = 1h};

struct two_connections final : stores::kit::connections::owner {
    explicit two_connections(stores::kit::introduction server_now = durable_for_long)
        : all({.name = "db", .kind = "sql", .connections = 2, .timeout = 500ms, .make_session = make()}, {},
              context_of(), *this)
    {
        all.start(context.get_executor(), alive);
        links[0]->come(server_now);
        server_now.backend.id = 8;
        links[1]->come(server_now);
    }
    ~two_connections() { all.close(); }

    std::function<std::shared_ptr<stores::kit::session>(asio::any_io_executor, std::size_t,
                                                        stores::kit::session::owner&)>
    make()
    {
        return [this](auto, std::size_t, stores::kit::session::owner& o) {
            return links.emplace_back(std::make_shared<fake_session>(o));
        };
    }
    static store_context context_of()
    {
        return {.claim = [](std::string const&, std::string const&) { return std::string(); }};
    }

    /// The first connection ends. Then it connects to this life of the server.
    void reconnect(char const* started, bool durable, std::chrono::milliseconds uptime = 1h)
    {
        links[0]->go();
        auto server_now = durable_for_long;
        server_now.backend.id = 9;
        server_now.started = started;
        server_now.durable = durable;
        server_now.uptime = uptime;
        links[0]->come(server_now);
    }

    void connected(server_identity const& s) override { server = s; }
    void notified(std::string_view) override {}
    void changes_missed() override {}
    void state_changed() override {}
    void looked() override {}

    asio::io_context context;
    std::shared_ptr<int> const alive = std::make_shared<int>();
    std::vector<std::shared_ptr<fake_session>> links;
    server_identity server;
    stores::kit::connections all;
};

}  // namespace

BOOST_AUTO_TEST_CASE(end_is_not_called_for_backends_of_an_earlier_server_life)
{
    two_connections c;
    c.links[0]->go();
    BOOST_TEST(c.all.may_still_execute(c.links[0]->number));
    c.links[0]->come(
        {.backend = {8}, .system = "one", .started = "at one", .durable = true, .since = "ever", .age = 1h});
    c.links[1]->go();  // the node notices the end of this connection later
    BOOST_TEST(!c.all.may_still_execute(c.links[1]->number));
    c.links[0]->go();
    c.links[1]->come(
        {.backend = {9}, .system = "one", .started = "at one", .durable = true, .since = "ever", .age = 1h});
    BOOST_TEST(c.links[1]->ended == std::vector<std::int64_t>{8}, boost::test_tools::per_element());
    BOOST_TEST(c.links[0]->ended.empty());
}

BOOST_AUTO_TEST_CASE(check_server_of_another_database_reports_a_restart)
{
    two_connections c;
    BOOST_TEST(c.server.durable);
    c.links[0]->go();
    c.links[0]->come({.backend = {7},
                      .system = "two",
                      .started = "at ten",
                      .durable = true,
                      .since = "long ago",
                      .age = 1h,
                      .uptime = 1h});
    BOOST_TEST(!c.links[1]->up());  // locks of both databases would not exclude each other
    BOOST_TEST(!c.server.durable);
    BOOST_TEST(c.server.restarted);
    BOOST_TEST((clock::now() - c.server.began < 1min));
}

BOOST_AUTO_TEST_CASE(check_server_of_a_restarted_durable_server_reports_durable)
{
    two_connections c;
    c.reconnect("at noon", true);
    BOOST_TEST(!c.server.restarted);
    c.reconnect("at one", true, 0s);
    BOOST_TEST((c.server.restarted && c.server.durable));
}

BOOST_AUTO_TEST_CASE(check_server_of_a_restarted_undurable_server_reports_undurable)
{
    two_connections c;
    c.reconnect("at noon", false);
    c.reconnect("at one", true, 0s);
    BOOST_TEST((c.server.restarted && !c.server.durable));
    c.reconnect("at one", true, 1min);
    BOOST_TEST(!c.server.durable);
}

BOOST_AUTO_TEST_CASE(check_server_restarted_after_undurable_settings_reports_undurable)
{
    two_connections c;
    c.reconnect("at noon", false);
    c.reconnect("at noon", true);
    c.reconnect("at one", true, 0s);
    BOOST_TEST((c.server.restarted && !c.server.durable));
}

BOOST_AUTO_TEST_CASE(check_server_after_an_observed_restart_uses_the_clients_clock)
{
    two_connections c;
    auto const before = clock::now();
    c.reconnect("at noon", false);
    c.reconnect("at one", false, 10min);  // the server's wall clock was set forward
    BOOST_TEST((c.server.restarted && c.server.began >= before));
}

BOOST_AUTO_TEST_CASE(check_server_of_a_young_server_with_old_tables_uses_its_start)
{
    auto server_now = durable_for_long;
    server_now.durable = false;
    server_now.age = 50s;
    server_now.uptime = 5s;
    two_connections c(server_now);
    BOOST_TEST((!c.server.restarted && !c.server.durable && c.server.began >= clock::now() - 10s));
}

BOOST_AUTO_TEST_CASE(check_links_to_a_busy_server_notices_that_it_is_not_durable)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    for (auto const& link : c.links)
        link->is_waiting = true;
    c.links[1]->is_durable = false;
    BOOST_TEST(time.run_to(c.context, [&] { return c.links[1]->looks > 0; }));
    c.reconnect("at one", true, 0s);
    BOOST_TEST((c.server.restarted && !c.server.durable));
}

BOOST_AUTO_TEST_CASE(check_links_with_a_silent_connection_ends_only_this_one)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    c.links[0]->silent_since = time.now();
    c.links[1]->is_waiting = true;
    BOOST_TEST(time.run_to(c.context, [&] { return !c.links[0]->is_up; }));
    BOOST_TEST(c.links[1]->is_up);
}

BOOST_AUTO_TEST_CASE(check_links_once_a_second_asks_one_of_two_connections)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    time.run_for(c.context, 10s);
    BOOST_TEST((c.links[0]->looks == 5 && c.links[1]->looks == 5));
}

BOOST_AUTO_TEST_SUITE_END()
