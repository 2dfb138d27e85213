// Notifications about changes of keys, over a scripted transport.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/redis_node.hpp"
#include "support/asked_operation.hpp"
#include "support/counted_operation.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_transport.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace redlock::test::replies;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tracking)

namespace {

stores::redis::reply const forbidden =
    refused("NOPERM this user has no permissions to run the 'client|caching' command");

// A connected node that records the changes it reports.
struct connected_node {
    connected_node()
    {
        node->start(context.get_executor(), {.connected = [](server_identity const&) {},
                                             .changed = [this](std::string_view key) { changed.emplace_back(key); }});
        node->submit(std::make_shared<asked_operation>());
        pass();
        transport->says(server({}).answers(transport->asked->request));
        pass();
    }
    ~connected_node() { node->close(); }

    void pass() { clock->advance(context, {}); }

    using words = std::vector<std::string>;

    // @return each command that was sent, as its first word and its last one
    std::vector<words> sent() const
    {
        std::vector<words> all;
        for (auto const& command : take_commands(transport->asked->request.bytes()))
            all.push_back({command.front(), command.front() == "EVALSHA" ? "" : command.back()});
        return all;
    }

    void wait_for(std::vector<std::string> keys)
    {
        wait_for({.what = commands::acquire{.watch = true, .contender = "me"}, .ttl = 5s}, std::move(keys));
    }
    void wait_for(node_command const& c, std::vector<std::string> keys)
    {
        asked = std::make_shared<asked_operation>(c, std::move(keys));
        node->submit(asked);
        pass();
    }

    void reads(stores::redis::reply r) { transport->asked->put(std::move(r)); }
    void reads_tracked(int left)
    {
        reads(word("OK"));
        reads(number(left));
    }
    static stores::redis::reply denied(std::vector<std::string> words)
    {
        return list(stores::redis::resp::type::array, std::move(words));
    }
    static stores::redis::reply denied() { return denied({"5000", "-2", "them"}); }
    void hears_of(std::string const& key) { transport->told->push_arrived(key); }
    void hands_out() { transport->told->answered(std::exchange(transport->asked, {})); }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::shared_ptr<scripted_transport> transport = std::make_shared<scripted_transport>();
    std::shared_ptr<redlock::node> node = stores::redis::make_redis_node(
        net::parse_url("redis://s"), {.nodes = {}, .restart_guard = restart_guard::off, .record = false},
        std::make_shared<stores::redis::group>(runtime::make_manual_runtime(context.get_executor(), clock)), transport);
    std::shared_ptr<asked_operation> asked;
    std::vector<std::string> changed;
};

using keys = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(lock_that_denies_is_tracked_behind_the_answer, connected_node)
{
    wait_for({"a"});
    BOOST_TEST((sent() == std::vector<words>{{"EVALSHA", ""}, {"CLIENT", "YES"}, {"PTTL", "a"}}));
    reads(denied());
    hears_of("a");  // older than what comes next
    reads_tracked(5000);
    hands_out();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST(changed.empty());
}

BOOST_FIXTURE_TEST_CASE(lock_that_is_gone_when_it_is_tracked_has_changed, connected_node)
{
    wait_for({"a"});
    reads(denied());
    reads_tracked(-2);
    hands_out();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST((changed == keys{"a"}));
}

BOOST_FIXTURE_TEST_CASE(change_of_a_tracked_lock_is_reported_after_the_answer, connected_node)
{
    wait_for({"a"});
    reads(denied());
    reads_tracked(5000);
    hears_of("a");
    BOOST_TEST(changed.empty());
    hands_out();
    BOOST_TEST(asked->answers == 1);
    BOOST_TEST((changed == keys{"a"}));
}

// A key that does not exist must not be tracked: the server would remember it for ever.
BOOST_FIXTURE_TEST_CASE(only_keys_that_a_denial_names_are_tracked, connected_node)
{
    struct {
        node_command command;
        keys names;
        stores::redis::reply answer;
        std::vector<keys> tracked;
    } const all[] = {
        {{.what = commands::acquire{.watch = true, .contender = "me"}},
         {"a"},
         denied({"5000", "900", "them"}),
         {{"a:=turn:{a}"}}},
        {{.what = commands::acquire{.watch = true, .contender = "me"}},
         {"a"},
         denied({"5000", "-2", "them", "3"}),
         {{"a:=wanted:{a}:me"}}},
        {{.what = commands::acquire{.watch = true, .contender = "me"}}, {"a"}, denied({"5000", "-2", "them", "2"}), {}},
        {{.what = commands::acquire{.watch = true, .contender = "me"}},
         {"a", "b", "c"},
         denied({"0", "1", "5000", "-2", "2", "5000", "900"}),
         {{"b"}, {"c:=turn:{c}"}}},
        {{.what = commands::acquire{.watch = true, .contender = "me"}, .mode = mode::shared},
         {"a"},
         denied({"5000", "-2", "0", "them"}),
         {{"a"}}},
        {{.what = commands::acquire{.watch = true, .contender = "me"}, .mode = mode::shared},
         {"a"},
         denied({"900", "-2", "1"}),
         {{"a:=wanted:{a}"}}},
        {{.what = commands::inspect{.watch = true}}, {"a"}, denied({"", "-2", "0", "0"}), {}},
        {{.what = commands::inspect{.watch = true}}, {"a"}, denied({"v", "5000", "0", "0"}), {{"a"}}},
        {{.what = commands::inspect{.watch = true}},
         {"a"},
         denied({":=shared", "5000", "1", "1", "me", "1", "v", "5000"}),
         {{"a"}, {"a:=shared:{a}"}}},
    };
    for (auto const& one : all) {
        wait_for(one.command, one.names);
        reads(one.answer);
        if (sent().size() == 3)
            reads_tracked(5000);
        hands_out();
        pass();
        std::vector<words> expected;
        for (auto const& key : one.tracked) {
            expected.push_back({"CLIENT", "YES"});
            expected.push_back({"PTTL", key.front()});
        }
        auto const actual = transport->asked ? sent() : std::vector<words>();
        BOOST_TEST((actual == expected));
        for (std::size_t i = 0; i < one.tracked.size(); ++i)
            reads_tracked(i == 0 ? 900 : -2);  // the first is there, the others have ended meanwhile
        if (transport->asked)
            hands_out();
        BOOST_TEST(changed.size() == std::max<std::size_t>(1, one.tracked.size()) - 1);
        for (std::size_t i = 0; i < changed.size(); ++i)
            BOOST_TEST(changed[i] == one.tracked[i + 1].front());
        changed.clear();
    }
}

// Another reader may leave at any time. Its keys stay, so their time to live would not show it.
BOOST_FIXTURE_TEST_CASE(upgrade_tracks_its_keys_before_the_script_reads_them, connected_node)
{
    wait_for({.what = commands::upgrade{.watch = true, .contender = "me"}, .mode = mode::shared}, {"a"});
    BOOST_TEST((sent()
                == std::vector<words>{
                    {"CLIENT", "YES"}, {"PTTL", "a"}, {"CLIENT", "YES"}, {"PTTL", "a:=shared:{a}"}, {"EVALSHA", ""}}));
    reads_tracked(5000);
    hears_of("a:=shared:{a}");  // older than the answer
    reads_tracked(5000);
    hears_of("a:=shared:{a}");
    reads(denied({"5000"}));
    hands_out();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST((changed == keys{"a:=shared:{a}"}));
}

// The server has remembered the key although it does not exist, and nobody else will ever set a client's place.
BOOST_FIXTURE_TEST_CASE(place_that_is_gone_when_it_is_tracked_is_forgotten, connected_node)
{
    for (auto const* turn : {"-2", "900"}) {
        bool const stands_by = turn == std::string("-2");
        wait_for({"a"});
        reads(stands_by ? denied({"5000", turn, "them", "3"}) : denied({"5000", turn, "them"}));
        reads_tracked(5000);
        hands_out();
        pass();
        auto const key = stands_by ? "a:=wanted:{a}:me" : "a:=turn:{a}";
        BOOST_TEST((sent() == std::vector<words>{{"CLIENT", "YES"}, {"PTTL", key}}));
        reads_tracked(-2);
        hands_out();
        BOOST_TEST((changed == keys{key}));
        BOOST_TEST((sent() == std::vector<words>{{"SADD", "0"}, {"SREM", "0"}}));
        reads(number(1));
        reads(number(1));
        hands_out();
        changed.clear();
    }
}

BOOST_FIXTURE_TEST_CASE(tracking_that_fails_once_is_tried_again, connected_node)
{
    for (auto const* passing : {"MOVED 15495 127.0.0.1:7001", "BUSY Redis is busy running a script."}) {
        wait_for({"a"});
        reads(denied());
        reads(word("OK"));
        reads(refused(passing));
        hands_out();
        BOOST_TEST(!asked->reply.watched);
        BOOST_TEST(changed.empty());
        wait_for({"a"});
        BOOST_TEST(sent().size() == 3u);
        reads(denied());
        reads_tracked(5000);
        hands_out();
        BOOST_TEST(asked->reply.watched);
    }
}

BOOST_FIXTURE_TEST_CASE(script_that_is_unknown_is_loaded_and_tracked_again, connected_node)
{
    wait_for({"a"});
    reads(refused("NOSCRIPT No matching script. Please use EVAL."));
    reads_tracked(-2);
    hands_out();
    BOOST_TEST(asked->answers == 0);
    pass();
    BOOST_TEST(transport->asked->request.commands() == 4u);
    reads(replies::text("sha"));
    reads(denied());
    reads_tracked(5000);
    hands_out();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST(changed.empty());
}

BOOST_FIXTURE_TEST_CASE(tracking_that_the_server_refuses_is_not_reported_as_watched, connected_node)
{
    wait_for({"a"});
    reads(denied());
    reads(forbidden);
    reads(number(5000));
    hands_out();
    BOOST_TEST(asked->answers == 1);
    BOOST_TEST(!asked->reply.watched);
    BOOST_TEST(changed.empty());
    wait_for({"a"});
    BOOST_TEST((sent() == std::vector<words>{{"EVALSHA", ""}}));
    reads(denied());
    hands_out();
    BOOST_TEST(!asked->reply.watched);
}

BOOST_FIXTURE_TEST_CASE(tracking_that_is_refused_later_makes_the_caller_ask_again, connected_node)
{
    wait_for({"a", "b"});
    reads(denied({"0", "0", "5000", "-2"}));
    hands_out();
    BOOST_TEST(asked->reply.watched);
    pass();
    reads(forbidden);
    reads(number(5000));
    hands_out();
    BOOST_TEST((changed == keys{"a"}));
}

// Thousands of operations wait in one batch, and their locks become free while the batch is being read.
BOOST_FIXTURE_TEST_CASE(change_read_for_thousands_of_keys_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    for (std::size_t i = 0; i < of.count; ++i)
        node->submit(of.make({.what = commands::acquire{.watch = true, .contender = "me"}}, i));
    pass();

    for (std::size_t i = 0; i < of.count; ++i) {
        reads(denied());
        reads_tracked(5000);
        hears_of("lock:" + std::to_string(i));
    }
    hands_out();

    BOOST_TEST(of.all.back()->answers == 1u);
    BOOST_TEST(of.looks <= of.few * of.count);
}

BOOST_FIXTURE_TEST_CASE(submit_of_releases_without_a_connection_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    transport->ends();
    pass();
    transport->ends();  // now the node knows the reason
    for (std::size_t i = 0; i < of.count; ++i) {
        node->submit(of.make({.what = commands::release{}}, i));
        pass();
    }

    BOOST_TEST(of.all.front()->answers == 0u);
    BOOST_TEST(of.looks <= of.few * of.count);
    clock->advance(context, 2s);
    transport->says(server({}).answers(transport->asked->request));
    pass();
    BOOST_TEST(transport->asked->entries.size() == of.count);
    BOOST_TEST((transport->asked->entries.front().operation == of.all.front()));
}

BOOST_FIXTURE_TEST_CASE(submit_to_a_silent_server_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    node->submit(of.make({.what = commands::release{}}, 0));
    pass();
    clock->advance(context, 100ms);  // the server does not answer this release
    for (std::size_t i = 1; i < of.count; ++i) {
        node->submit(of.make({.what = commands::release{}}, i));
        pass();
    }

    BOOST_TEST(of.looks <= of.few * of.count);
}

BOOST_AUTO_TEST_SUITE_END()
