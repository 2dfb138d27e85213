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
        record = server_.record;
        refusal = owner_.check_server(*this, server_);
        is_up = !refusal.error;
        if (is_up)
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
    void look(std::string verdict, std::function<void(core::memory_record const*)> done) override
    {
        ++looks;
        if (verdict == 'F' + record.word)
            record.began = core::beginning::founded;
        done(answers ? &record : nullptr);
    }
    void clean() override {}

    node_reply refusal;
    bool is_up = false, is_waiting = false, answers = true;
    int looks = 0;
    core::memory_record record;  ///< the answer to a look
    std::optional<clock::time_point> silent_since;
    std::vector<std::int64_t> ended;

private:
    owner& owner_;
    stores::kit::introduction server_;
};

stores::kit::introduction const old_server{.backend = {7},
                                           .system = "one",
                                           .started = "at noon",
                                           .record = {.word = "old", .began = core::beginning::anew, .age = 1h}};

struct two_connections final : stores::kit::connections::owner {
    explicit two_connections(stores::kit::introduction server_now = old_server)
        : all({.name = "db", .kind = "sql", .connections = 2, .timeout = 500ms, .make_session = make()}, {},
              context_of(), *this)
    {
        all.start(context.get_executor(), alive);
        sessions[0]->come(server_now);
        server_now.backend.id = 8;
        sessions[1]->come(server_now);
    }
    ~two_connections() { all.close(); }

    std::function<std::shared_ptr<stores::kit::session>(asio::any_io_executor, std::size_t,
                                                        stores::kit::session::owner&)>
    make()
    {
        return [this](auto, std::size_t, stores::kit::session::owner& o) {
            return sessions.emplace_back(std::make_shared<fake_session>(o));
        };
    }
    static store_context context_of()
    {
        return {.claim = [](std::string const&, std::string const&) { return std::string(); }};
    }

    /// The first connection ends. Then it connects to the next life of the server, which has this record.
    void restart(core::memory_record const& record)
    {
        sessions[0]->go();
        auto server_now = old_server;
        server_now.backend.id = 9;
        server_now.started = "at one";
        server_now.record = record;
        sessions[0]->come(server_now);
    }

    void connected(server_identity const& s) override { server = s; }
    void learned(server_identity const& s) override
    {
        ++times_learned;
        server = s;
    }
    void notified(std::string_view) override {}
    void changes_missed() override {}
    void state_changed() override {}
    void looked() override {}

    asio::io_context context;
    std::shared_ptr<int> const alive = std::make_shared<int>();
    std::vector<std::shared_ptr<fake_session>> sessions;
    server_identity server;
    int times_learned = 0;
    stores::kit::connections all;
};

}  // namespace

BOOST_AUTO_TEST_CASE(end_is_not_called_for_backends_of_an_earlier_server_life)
{
    two_connections c;
    auto later = old_server;
    later.started = "at one";
    c.sessions[0]->go();
    BOOST_TEST(c.all.may_still_execute(c.sessions[0]->number));
    later.backend = {8};
    c.sessions[0]->come(later);
    c.sessions[1]->go();  // the node notices the end of this connection later
    BOOST_TEST(!c.all.may_still_execute(c.sessions[1]->number));
    c.sessions[0]->go();
    later.backend = {9};
    c.sessions[1]->come(later);
    BOOST_TEST(c.sessions[1]->ended == std::vector<std::int64_t>{8}, boost::test_tools::per_element());
    BOOST_TEST(c.sessions[0]->ended.empty());
}

BOOST_AUTO_TEST_CASE(check_server_of_another_database_reports_a_restart)
{
    two_connections c;
    BOOST_TEST((clock::now() - c.server.began > 59min));
    c.sessions[0]->go();
    auto another = old_server;
    another.system = "two";
    another.started = "at ten";
    another.record.word = "other";
    another.record.age = 0s;
    c.sessions[0]->come(another);
    BOOST_TEST(c.sessions[0]->up());
    BOOST_TEST(!c.sessions[1]->up());  // locks of both databases would not exclude each other
    BOOST_TEST(c.server.restarted);
    BOOST_TEST((clock::now() - c.server.began < 1min));
}

BOOST_AUTO_TEST_CASE(check_server_of_another_server_that_ran_meanwhile_refuses_both)
{
    virtual_clock time;
    two_connections c;
    c.sessions[0]->go();
    auto another = old_server;
    another.backend.id = 11;
    another.system = "two";
    another.started = "at ten";
    another.record.word = "other";
    for (auto const& server : {another, old_server, another}) {
        c.sessions[0]->come(server);
        BOOST_TEST((c.sessions[0]->refusal.error == errc::unsupported_server));
        BOOST_TEST(c.sessions[0]->refusal.text.find("several servers answer at its address") == 0u);
        BOOST_TEST(!c.sessions[1]->up());
    }
    time.run_for(c.context, 1min);
    c.sessions[0]->come(another);
    BOOST_TEST(c.sessions[0]->up());
}

BOOST_AUTO_TEST_CASE(check_server_of_a_restarted_server_with_its_word_keeps_the_age)
{
    two_connections c;
    auto const before = c.server;
    c.restart({.word = "old", .began = core::beginning::anew, .age = 1h + 1s});
    BOOST_TEST((c.server == before));
}

BOOST_AUTO_TEST_CASE(check_server_of_a_restarted_server_with_another_word_reports_a_restart)
{
    two_connections c;
    c.restart({.word = "new", .began = core::beginning::anew, .age = 0s});
    BOOST_TEST((c.server.restarted && clock::now() - c.server.began < 1min));
}

BOOST_AUTO_TEST_CASE(check_sessions_of_a_busy_server_learns_once_that_it_must_wait)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    for (auto const& one : c.sessions) {
        one->is_waiting = true;
        one->record.wait = 10min;
    }
    BOOST_TEST(time.run_to(c.context, [&] { return c.sessions[0]->looks > 1 && c.sessions[1]->looks > 1; }));
    BOOST_TEST(c.times_learned == 1);
    BOOST_TEST((c.server.waits_until > clock::now() + 9min));
    for (auto const& one : c.sessions)
        one->record.wait = 0s;
    BOOST_TEST(time.run_to(c.context, [&] { return c.times_learned == 2; }));
    BOOST_TEST((c.server.waits_until == clock::time_point()));
}

BOOST_AUTO_TEST_CASE(check_sessions_with_another_word_ends_the_connection)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    c.sessions[0]->record.word = "new";
    BOOST_TEST(time.run_to(c.context, [&] { return !c.sessions[0]->is_up; }));
    BOOST_TEST(c.sessions[1]->is_up);
    BOOST_TEST(c.times_learned == 0);
}

BOOST_AUTO_TEST_CASE(check_sessions_of_a_fresh_record_asks_soon)
{
    virtual_clock time;
    auto fresh = old_server;
    fresh.record = {.word = "new", .began = core::beginning::fresh};
    two_connections c(fresh);
    c.all.open();
    time.run_for(c.context, 200ms);
    BOOST_TEST((c.sessions[0]->looks == 2 && c.sessions[1]->looks == 2));
    time.run_for(c.context, 10s);
    BOOST_TEST(c.sessions[0]->looks < 40);
}

BOOST_AUTO_TEST_CASE(found_of_a_fresh_record_grants_and_tells_it)
{
    auto fresh = old_server;
    fresh.record = {.word = "new", .began = core::beginning::fresh, .age = 1s};
    two_connections c(fresh);
    BOOST_TEST((!c.server.restarted && c.server.fresh));
    node_reply reply;
    auto const put = [&](node_reply r) { reply = std::move(r); };
    c.all.found(*c.sessions[1], {.only_asks = true}, put);
    BOOST_TEST((reply.vote == vote::granted));
    BOOST_TEST(!c.server.founded);
    c.all.found(*c.sessions[1], {}, put);
    BOOST_TEST((reply.vote == vote::granted));
    BOOST_TEST(c.server.founded);
    BOOST_TEST(c.times_learned == 1);
    c.sessions[1]->answers = false;
    c.all.found(*c.sessions[1], {}, put);
    BOOST_TEST((reply.error == errc::connection_lost));
}

BOOST_AUTO_TEST_CASE(check_sessions_with_a_silent_connection_ends_only_this_one)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    c.sessions[0]->silent_since = time.now();
    c.sessions[1]->is_waiting = true;
    BOOST_TEST(time.run_to(c.context, [&] { return !c.sessions[0]->is_up; }));
    BOOST_TEST(c.sessions[1]->is_up);
}

BOOST_AUTO_TEST_CASE(check_sessions_once_a_second_asks_one_of_two_connections)
{
    virtual_clock time;
    two_connections c;
    c.all.open();
    time.run_for(c.context, 10s);
    BOOST_TEST((c.sessions[0]->looks == 5 && c.sessions[1]->looks == 5));
}

BOOST_AUTO_TEST_SUITE_END()
