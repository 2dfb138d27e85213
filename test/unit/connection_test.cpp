// Connections over a scripted transport. The test sets the time.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/connection.hpp"
#include "stores/redis/redis_node.hpp"
#include "stores/redis/scripts.hpp"
#include "support/counted_operation.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_transport.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace std::chrono_literals;

namespace {

/// Records all batches that were sent on the current connection.
struct recording_transport final : scripted_transport {
    void send(std::shared_ptr<stores::redis::batch> const& b) override { sent.push_back(b); }
    // After a connection without an answer, PING goes before the greeting.
    void greets(replies::server server = replies::server({}))
    {
        if (asked->request.commands() == 1) {
            says({{.type = stores::redis::resp::type::simple_string, .text = "PONG", .elements = {}}});
            asked = sent.back();
            sent.pop_back();
        }
        says(server.answers(asked->request));
    }
    void ends()
    {
        sent.clear();
        scripted_transport::ends();
    }

    std::string address() const override { return here; }
    std::vector<std::string> addresses() const override { return all; }
    void prefer(std::string other) override { here = std::move(other); }

    std::vector<std::shared_ptr<stores::redis::batch>> sent;
    std::string here;              ///< the address of the next connection
    std::vector<std::string> all;  ///< the addresses of the name
};

// A server with this run id and word, which has been running for @p up.
replies::server server_of(std::string const& id, std::string const& word, std::chrono::seconds up, char began = 'r',
                          std::chrono::seconds age = 0s)
{
    replies::version v;
    v.answer = [=](command const& asked) -> std::optional<stores::redis::reply> {
        if (asked[0] == "INFO" && asked[1] == "server")
            return replies::text("redis_version:7.0.15\r\nrun_id:" + id
                                 + "\r\nuptime_in_seconds:" + std::to_string(up.count()) + "\r\n");
        if (asked[0] == "EVALSHA" && asked.size() > 8)
            return replies::list(replies::type::array,
                                 {word, std::string(1, began), std::to_string(age / 1ms), "0", "", id});
        return std::nullopt;
    };
    return replies::server(v);
}

struct fixture : stores::redis::connection::owner {
    fixture()
    {
        c.start(runtime::make_manual_runtime(context.get_executor(), clock));
        c.open();
    }

    node_reply check_server(stores::redis::introduction const&) override { return refusal; }
    void connected(server_identity const& server) override
    {
        ++connections;
        met = server;
    }
    void disconnected() override { ++disconnections; }
    void answered(stores::redis::batch&) override {}
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void log(log_level, std::string const& what) const override { last_line = what; }

    /// Answers the latest batch.
    void answers_look(std::function<std::optional<stores::redis::reply>(command const&)> answer = [](command const&) {
        return std::nullopt;
    })
    {
        auto const asked = transport->sent.back();
        replies::version v;
        v.answer = std::move(answer);
        for (auto& r : replies::server(v).answers(asked->request))
            asked->put(std::move(r));
        transport->told->answered(asked);
    }

    void pass(clock::duration d) { clock->advance(context, d); }

    void greets_and_looks()
    {
        transport->greets();
        answers_look();
        pass(1s);
    }

    void reconnects(replies::server server = replies::server({}))
    {
        transport->ends();
        pass(500ms);
        transport->greets(std::move(server));
    }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::shared_ptr<recording_transport> transport = std::make_shared<recording_transport>();
    node_reply refusal;
    server_identity met;
    int connections = 0, disconnections = 0;
    mutable std::string last_line;
    stores::redis::connection c{
        net::parse_url("redis://s"), {.nodes = {}, .node_timeout = 50ms, .connect_timeout = 1s}, *this, transport};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(connection, fixture)

BOOST_AUTO_TEST_CASE(connection_with_an_accepted_greeting_is_up)
{
    BOOST_TEST(!c.up());
    transport->greets();
    BOOST_TEST(c.up());
    BOOST_TEST(transport->kept);
    BOOST_TEST(connections == 1);
    BOOST_TEST(c.number() == 1u);
}

BOOST_AUTO_TEST_CASE(connection_to_a_refused_server_ends_and_is_tried_again)
{
    refusal = {.error = errc::duplicate_node, .text = "it is another"};
    transport->greets();
    BOOST_TEST(!c.up());
    BOOST_TEST(transport->cuts == 1);
    transport->ends();
    BOOST_TEST(c.trouble().error == make_error_code(errc::duplicate_node));
    BOOST_TEST(c.trouble().text == "it is another");
    BOOST_TEST(disconnections == 1);
    pass(500ms);
    BOOST_TEST(transport->opened == 2);
}

BOOST_AUTO_TEST_CASE(connection_to_a_silent_server_ends)
{
    pass(1900ms);
    BOOST_TEST(transport->cuts == 0);
    pass(200ms);
    BOOST_TEST(transport->cuts == 1);
}

BOOST_AUTO_TEST_CASE(answered_after_the_end_of_the_connection_changes_nothing)
{
    auto const late = transport->asked;
    transport->ends();
    for (auto& r : replies::server({}).answers(late->request))
        late->put(std::move(r));
    transport->told->answered(late);
    BOOST_TEST(!c.up());
    BOOST_TEST(connections == 0);
}

BOOST_AUTO_TEST_CASE(reconnection_pauses_grow_until_a_connection_lasts)
{
    for (int i = 0; i < 10; ++i) {
        transport->ends();
        pass(500ms);
    }
    BOOST_TEST(transport->opened == 11);
    transport->ends();
    pass(200ms);
    BOOST_TEST(transport->opened == 11);
    pass(300ms);
    BOOST_TEST(transport->opened == 12);
    transport->greets();
    pass(600ms);
    transport->ends();
    pass(10ms);
    BOOST_TEST(transport->opened == 13);
}

// A proxy that does not know HELLO answers PING. A server that is being stopped may do so once.
BOOST_AUTO_TEST_CASE(connection_that_ends_at_hello_after_an_answer_to_ping_is_unsupported)
{
    auto const pings = [&] {
        pass(500ms);
        BOOST_TEST_REQUIRE(transport->asked->request.commands() == 1u);
        transport->says({{.type = stores::redis::resp::type::simple_string, .text = "PONG", .elements = {}}});
    };
    transport->ends();
    for (int i = 0; i < 2; ++i) {
        BOOST_TEST((c.trouble().error == errc::node_unreachable));
        pings();
        transport->ends();
    }
    BOOST_TEST((c.trouble().error == errc::unsupported_server));
    pings();
    pass(3s);  // it does not answer HELLO either, and this client ends the connection
    BOOST_TEST(transport->cuts == 1);
    transport->ends();
    BOOST_TEST((c.trouble().error == errc::node_unreachable));
    pass(1s);
    transport->greets();
    BOOST_TEST(c.up());
}

// A server with too many clients answers any command so, and hangs up. That says nothing about HELLO.
BOOST_AUTO_TEST_CASE(connection_that_is_refused_at_ping_has_the_reason_of_the_server)
{
    for (int i = 0; i < 4; ++i) {
        transport->ends();
        pass(1s);
        if (transport->asked->request.commands() == 1)
            transport->says({{.type = stores::redis::resp::type::simple_error,
                              .text = "ERR max number of clients reached",
                              .elements = {}}});
        BOOST_TEST((c.trouble().error != errc::unsupported_server));
    }
    BOOST_TEST(c.trouble().text == "ERR max number of clients reached");
    transport->ends();
    pass(1s);
    transport->greets();
    BOOST_TEST(c.up());
}

BOOST_AUTO_TEST_CASE(connection_that_no_longer_answers_ends)
{
    greets_and_looks();
    BOOST_TEST(transport->sent.size() == 2u);  // the connection asks for a sign of life
    pass(1s);
    pass(10ms);
    BOOST_TEST(transport->cuts == 1);
    BOOST_TEST(last_line == "it has stopped answering");
}

// After a pause of the process, the event loop runs alarms before it reads replies.
BOOST_AUTO_TEST_CASE(connection_of_a_paused_process_reads_before_it_ends)
{
    greets_and_looks();
    auto const sign = transport->sent.back();
    pass(1s);
    transport->told->answered(sign);
    pass(10ms);
    BOOST_TEST(transport->cuts == 0);
    BOOST_TEST(transport->sent.size() == 3u);
}

BOOST_AUTO_TEST_CASE(may_still_execute_after_the_server_killed_the_client_is_false)
{
    transport->greets();
    reconnects();
    BOOST_TEST(c.number() == 2u);
    BOOST_TEST(c.may_still_execute(1));
    BOOST_REQUIRE(!transport->sent.empty());
    auto const kill = transport->sent.front();
    BOOST_TEST(kill->request.bytes().find("KILL") != std::string::npos);
    kill->put(replies::number(1));
    transport->told->answered(kill);
    BOOST_TEST(!c.may_still_execute(1));
}

BOOST_AUTO_TEST_CASE(reconnects_to_a_restarted_server_without_killing_a_client)
{
    transport->greets();
    replies::version restarted;
    restarted.answer = [](command const& asked) -> std::optional<stores::redis::reply> {
        if (asked[0] == "INFO" && asked[1] == "server")
            return replies::text("redis_version:7.0.15\r\nrun_id:another\r\nuptime_in_seconds:1\r\n");
        return std::nullopt;
    };
    reconnects(replies::server(restarted));
    BOOST_TEST(c.up());
    for (auto const& b : transport->sent)  // the ids of clients begin again, so no client is killed
        BOOST_TEST(b->request.bytes().find("KILL") == std::string::npos);
    BOOST_TEST(c.may_still_execute(1));
}

BOOST_AUTO_TEST_CASE(look_that_finds_another_word_ends_the_connection)
{
    greets_and_looks();
    answers_look();
    BOOST_TEST(transport->cuts == 0);
    pass(1s);
    answers_look([](command const& asked) {
        return asked[0] == "EVALSHA"
                   ? std::optional(replies::list(replies::type::array, {"beef", "r", "0", "0", "", "abc"}))
                   : std::nullopt;
    });
    BOOST_TEST(transport->cuts == 1);
    BOOST_TEST(last_line == "its record is gone or begins anew, so it may have forgotten locks");
}

BOOST_AUTO_TEST_CASE(look_that_finds_a_replica_ends_the_connection)
{
    greets_and_looks();
    answers_look(replies::refuses("EVALSHA", "READONLY You can't write against a read only replica."));
    BOOST_TEST(transport->cuts == 1);
}

BOOST_AUTO_TEST_CASE(look_that_finds_an_eviction_policy_ends_the_connection)
{
    greets_and_looks();
    answers_look([](command const& asked) {
        return asked == command{"INFO", "memory"}
                   ? std::optional(replies::text("maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n"))
                   : std::nullopt;
    });
    BOOST_TEST(transport->cuts == 1);
    BOOST_TEST(last_line.find("its maxmemory-policy is allkeys-lru") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(look_at_a_server_without_the_script_loads_it)
{
    greets_and_looks();
    answers_look(replies::refuses("EVALSHA", "NOSCRIPT No matching script. Please use EVAL."));
    BOOST_TEST(transport->cuts == 0);
    BOOST_TEST_REQUIRE(transport->sent.size() == 3u);
    BOOST_TEST((take_commands(transport->sent.back()->request.bytes()).at(0)
                == command{"SCRIPT", "LOAD", std::string(stores::redis::record_script.source)}));
}

BOOST_AUTO_TEST_CASE(look_without_permission_for_the_record_ends_the_connection)
{
    greets_and_looks();
    answers_look(replies::refuses("EVALSHA", "NOPERM No permissions to access a key"));
    BOOST_TEST(transport->cuts == 1);
}

BOOST_AUTO_TEST_CASE(look_that_finds_another_policy_signs_it_at_once)
{
    greets_and_looks();
    auto const before = transport->sent.size();
    answers_look([](command const& asked) {
        return asked[0] == "CONFIG" ? std::optional(
                   replies::list(replies::type::map, {"no-appendfsync-on-rewrite", "no", "appendfsync", "always"}))
                                    : std::nullopt;
    });
    BOOST_TEST_REQUIRE(transport->sent.size() == before + 1);
    BOOST_TEST(take_commands(transport->sent.back()->request.bytes()).back().at(7) == "1");
}

BOOST_AUTO_TEST_CASE(trusts_a_batch_only_with_the_word_of_the_record)
{
    transport->greets();
    stores::redis::batch with_votes;
    with_votes.request.push("SET", "key", "value");
    with_votes.put(replies::word("OK"));
    c.ask_for_word(with_votes);
    BOOST_TEST(!c.trusts(with_votes));  // the answer is lost
    with_votes.put(replies::text("f00d r abc 0 - 0||"));
    BOOST_TEST(c.trusts(with_votes));
    for (auto const& other : {replies::text("beef r abc 0 - 0||"), replies::nothing(), replies::refused("NOPERM no")}) {
        with_votes.replies.back() = other;
        BOOST_TEST(!c.trusts(with_votes));
    }
}

BOOST_AUTO_TEST_CASE(greeting_with_another_word_counts_as_a_restart)
{
    transport->greets();
    auto const before = met;
    replies::version other;
    other.answer = [](command const& asked) {
        return asked[0] == "EVALSHA" && asked.size() > 8
                   ? std::optional(replies::list(replies::type::array, {"beef", "F", "0", "0", "", "abc"}))
                   : std::nullopt;
    };
    reconnects(replies::server(other));
    BOOST_TEST(c.up());
    BOOST_TEST((met.restarted && met.began > before.began));
}

BOOST_AUTO_TEST_CASE(connection_to_a_name_looks_at_all_its_addresses_once)
{
    transport->all = {"10.0.0.1", "10.0.0.2"};
    transport->here = "10.0.0.1";
    transport->greets();
    BOOST_TEST((!c.up() && transport->cuts == 1 && transport->here == "10.0.0.2"));
    transport->ends();
    BOOST_TEST(transport->opened == 2);
    BOOST_TEST(disconnections == 0);
    transport->greets();
    BOOST_TEST(c.up());
    reconnects();
    BOOST_TEST((c.up() && transport->cuts == 1));
    transport->ends();
    pass(500ms);
    transport->greets(server_of("restarted", "beef", 1s));  // the other address may lead to another server now
    BOOST_TEST((!c.up() && transport->here == "10.0.0.1"));
}

BOOST_AUTO_TEST_CASE(connection_to_a_name_of_several_servers_is_refused_until_it_has_one)
{
    transport->all = {"10.0.0.1", "10.0.0.2"};
    transport->here = "10.0.0.1";
    for (int i = 0; i < 2; ++i) {
        transport->greets();
        transport->ends();
        transport->greets(server_of("other", "beef", 1s));
        BOOST_TEST(!c.up());
        transport->ends();
        BOOST_TEST((c.trouble().error == errc::unsupported_server));
        BOOST_TEST(
            c.trouble().text.find("leads to several servers, at 10.0.0.2 and 10.0.0.1: a node must be one server")
            != std::string::npos);
        pass(10s);
        transport->here = "10.0.0.1";
    }
    transport->all = {"10.0.0.1"};
    transport->greets();
    BOOST_TEST(c.up());
}

BOOST_AUTO_TEST_CASE(connection_to_another_server_that_ran_meanwhile_is_refused_for_max_ttl)
{
    transport->greets(server_of("one", "f00d", 100s));
    for (auto const* id : {"two", "one"}) {  // a balancer
        reconnects(server_of(id, id == std::string("two") ? "beef" : "f00d", 100s));
        BOOST_TEST(!c.up());
        transport->ends();
        BOOST_TEST((c.trouble().error == errc::unsupported_server));
        BOOST_TEST(c.trouble().text.find("several servers answer at its address") == 0u);
        BOOST_TEST(c.trouble().text.find("it votes in 60000 ms") != std::string::npos);
        pass(10s);
    }
    pass(50s);
    transport->greets(server_of("one", "f00d", 160s));
    BOOST_TEST(c.up());
}

BOOST_AUTO_TEST_CASE(connection_to_a_restarted_or_promoted_server_is_accepted)
{
    transport->greets(server_of("one", "f00d", 100s));
    reconnects(server_of("two", "beef", 1s));
    BOOST_TEST(c.up());
    reconnects(server_of("three", "cafe", 1000s, 'p', 1s));
    BOOST_TEST(c.up());
    reconnects(server_of("four", "babe", 1000s, 'p', 100s));  // its promotion is no news
    BOOST_TEST(!c.up());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(founding_node)

namespace {

/// A node whose server says that it is new.
struct new_node {
    new_node()
    {
        node->start(context.get_executor(), {.connected = [](server_identity const&) {},
                                             .learned = [this](server_identity const& s) { learned = s; },
                                             .changed = [](std::string_view) {}});
        submit({.what = commands::connect{}});
        transport->greets(says('f'));
        answers('f');  // the look that follows each greeting
    }
    ~new_node() { node->close(); }

    static replies::server says(char began) { return server_of("one", "f00d", 100s, began, 3s); }

    std::shared_ptr<counted_operation> submit(node_command const& c)
    {
        auto o = operations.make(c, 0);
        node->submit(o);
        clock->advance(context, 1ms);
        return o;
    }
    auto asks() { return submit({.what = commands::found{.only_asks = true}}); }
    auto founds() { return submit({.what = commands::found{}}); }

    /// Answers the oldest batch, from which the record has begun in this way.
    void answers(char began)
    {
        auto const b = transport->sent.front();
        transport->sent.erase(transport->sent.begin());
        for (auto& r : says(began).answers(b->request))
            b->put(std::move(r));
        transport->told->answered(b);
        clock->advance(context, 1ms);
    }

    /// The verdict in the latest question for the record.
    std::string verdict() const
    {
        for (auto const& c : take_commands(transport->sent.back()->request.bytes())) {
            if (c[0] == "EVALSHA" && c[1] == stores::redis::record_script.sha1)
                return c[9];
        }
        return "no question";
    }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::shared_ptr<recording_transport> transport = std::make_shared<recording_transport>();
    std::shared_ptr<redlock::node> node = stores::redis::make_redis_node(
        net::parse_url("redis://s"), {},
        std::make_shared<stores::redis::group>(runtime::make_manual_runtime(context.get_executor(), clock)), transport);
    counted_operations operations;
    std::optional<server_identity> learned;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(submit_of_found_founds_the_word_that_says_again_that_it_is_new, new_node)
{
    auto const asked = asks();
    BOOST_TEST(verdict().empty());
    answers('f');
    BOOST_TEST((asked->reply.vote == vote::granted));

    auto const founded = founds();
    BOOST_TEST(verdict() == "Ff00d");
    answers('F');
    BOOST_TEST((founded->reply.vote == vote::granted));
    BOOST_TEST_REQUIRE(learned.has_value());
    BOOST_TEST(learned->founded);
}

// The answer may be older than the second operation.
BOOST_FIXTURE_TEST_CASE(submit_of_found_during_a_question_asks_again, new_node)
{
    auto const first = asks(), second = asks();
    BOOST_TEST(transport->sent.size() == 1u);
    answers('f');
    BOOST_TEST((first->reply.vote == vote::granted));
    BOOST_TEST(second->answers == 0u);
    answers('F');
    BOOST_TEST((second->reply.vote == vote::denied));
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_without_a_question_before_founds_nothing, new_node)
{
    auto const founded = founds();
    BOOST_TEST(verdict().empty());
    answers('f');
    BOOST_TEST((founded->reply.vote == vote::denied));
}

BOOST_FIXTURE_TEST_CASE(submit_of_found_completes_when_the_link_ends, new_node)
{
    auto const first = asks(), second = asks();
    transport->ends();
    BOOST_TEST((first->reply.error == errc::connection_lost));
    BOOST_TEST((second->reply.error == errc::connection_lost));
}

BOOST_AUTO_TEST_SUITE_END()
