// Notifications about changes of several keys, over a scripted link.

#include "runtime/manual_runtime.hpp"
#include "stores/redis/redis_node.hpp"
#include "support/asked_operation.hpp"
#include "support/counted_operation.hpp"
#include "support/redis_replies.hpp"
#include "support/scripted_link.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using namespace redlock::test::replies;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(tracking_of_several_keys)

namespace {

stores::redis::reply const forbidden = refused("NOPERM this user has no permissions to run the 'exists' command");

// A connected node that records the changes it reports.
struct connected_node {
    connected_node()
    {
        node->start(context.get_executor(), {.connected = [](server_identity const&) {},
                                             .changed = [this](std::string_view key) { changed.emplace_back(key); }});
        node->submit(std::make_shared<asked_operation>());
        pass();
        link->says(server({}).answers(link->asked->request));
        pass();
    }
    ~connected_node() { node->close(); }

    void pass() { clock->advance(context, {}); }

    // @return the first word of each command that was sent
    std::vector<std::string> wait_for(std::vector<std::string> keys)
    {
        node_command c{.what = node_command::kind::acquire, .watch = true, .contender = "me", .ttl = 5s};
        asked = std::make_shared<asked_operation>(c, std::move(keys));
        node->submit(asked);
        pass();
        std::vector<std::string> words;
        for (auto const& sent : take_commands(link->asked->request.bytes()))
            words.push_back(sent[0]);
        return words;
    }

    void reads(stores::redis::reply r) { link->asked->put(std::move(r)); }
    void reads_tracked(int taken)
    {
        reads(word("OK"));
        reads(number(taken));
    }
    void hands_out_denial()
    {
        reads(denied());
        hands_out();
    }
    void hears_of(std::string const& key) { link->told->change_read(key); }
    void hands_out() { link->told->answered(std::exchange(link->asked, {})); }

    // A denial: the key with this number is taken.
    static stores::redis::reply denied(std::string number = "0", std::string turn = "-2")
    {
        return list(stores::redis::resp::type::array, {"0", std::move(number), "5000", std::move(turn)});
    }

    asio::io_context context;
    std::shared_ptr<testing::manual_clock> clock = std::make_shared<testing::manual_clock>();
    std::shared_ptr<scripted_link> link = std::make_shared<scripted_link>();
    std::shared_ptr<redlock::node> node = stores::redis::make_redis_node(
        net::parse_url("redis://s"), {.nodes = {}, .restart_guard = restart_guard::off, .record = false},
        std::make_shared<stores::redis::group>(runtime::make_manual_runtime(context.get_executor(), clock)), link);
    std::shared_ptr<asked_operation> asked;
    std::vector<std::string> changed;
};

using keys = std::vector<std::string>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(change_between_tracking_and_script_is_reported, connected_node)
{
    BOOST_TEST((wait_for({"a", "b"}) == keys{"CLIENT", "EXISTS", "EVALSHA"}));
    reads_tracked(1);
    hears_of("a");  // the server notifies once, and the script may already have found the next holder
    hands_out_denial();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST((changed == keys{"a"}));
}

BOOST_FIXTURE_TEST_CASE(change_before_tracking_is_older_than_the_answer, connected_node)
{
    wait_for({"a", "b"});
    hears_of("a");
    reads(word("OK"));
    hears_of("a");
    reads(number(1));
    hands_out_denial();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST(changed.empty());
}

BOOST_FIXTURE_TEST_CASE(change_of_a_free_key_is_not_reported, connected_node)
{
    wait_for({"a", "b"});
    reads_tracked(1);
    hears_of("b");
    hears_of("a");
    reads(denied("0", "900"));  // the holder hands the lock over, so only the end of the hand-overs matters
    hears_of("a:=turn:{a}");
    hands_out();
    BOOST_TEST((changed == keys{"a:=turn:{a}"}));
}

BOOST_FIXTURE_TEST_CASE(script_that_is_unknown_is_loaded_and_tracked_again, connected_node)
{
    wait_for({"a", "b"});
    reads_tracked(1);
    reads(refused("NOSCRIPT No matching script. Please use EVAL."));
    hears_of("a");
    hands_out();
    BOOST_TEST(asked->answers == 0);
    pass();
    BOOST_TEST(link->asked->request.commands() == 4u);
    reads(replies::text("sha"));
    reads(word("OK"));
    hears_of("a");
    reads(number(2));
    hands_out_denial();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST(changed.empty());
}

BOOST_FIXTURE_TEST_CASE(tracking_that_the_server_refuses_is_not_reported_as_watched, connected_node)
{
    wait_for({"a", "b"});
    reads(refused("NOPERM this user has no permissions to run the 'client|caching' command"));
    reads(number(1));
    hands_out_denial();
    BOOST_TEST(asked->answers == 1);
    BOOST_TEST(!asked->reply.watched);
}

// Older access lists do not allow EXISTS, because the library did not use it then.
BOOST_FIXTURE_TEST_CASE(tracking_without_exists_works_for_few_keys_only, connected_node)
{
    wait_for({"a", "b"});
    reads(word("OK"));
    reads(forbidden);
    hands_out_denial();
    BOOST_TEST(asked->answers == 1);
    BOOST_TEST(!asked->reply.watched);

    BOOST_TEST((wait_for({"a", "b"}) == keys{"CLIENT", "EVALSHA"}));
    reads(word("OK"));
    hears_of("a");
    reads(denied());
    hears_of("b");
    hands_out();
    BOOST_TEST(asked->reply.watched);
    BOOST_TEST(changed.empty());

    keys many;
    for (int i = 10; i < 27; ++i)
        many.push_back(fmt::format("k{}", i));
    BOOST_TEST((wait_for(many) == keys{"EVALSHA"}));
    hands_out_denial();
    BOOST_TEST(!asked->reply.watched);
}

// Thousands of operations wait in one batch, and their locks become free while the batch is being read.
BOOST_FIXTURE_TEST_CASE(change_read_for_thousands_of_keys_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    for (std::size_t i = 0; i < of.count; ++i)
        node->submit(of.make({.what = node_command::kind::acquire, .watch = true, .contender = "me"}, i));
    pass();

    for (std::size_t i = 0; i < of.count; ++i) {
        reads(word("OK"));
        reads(denied());
        hears_of("lock:" + std::to_string(i));
    }
    hands_out();

    BOOST_TEST(of.all.back()->answers == 1u);
    BOOST_TEST(of.looks <= of.few * of.count);
}

BOOST_FIXTURE_TEST_CASE(submit_of_releases_without_a_connection_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    link->ends();
    pass();
    link->ends();  // now the node knows the reason
    for (std::size_t i = 0; i < of.count; ++i) {
        node->submit(of.make({.what = node_command::kind::release}, i));
        pass();
    }

    BOOST_TEST(of.all.front()->answers == 0u);
    BOOST_TEST(of.looks <= of.few * of.count);
    clock->advance(context, 2s);
    link->says(server({}).answers(link->asked->request));
    pass();
    BOOST_TEST(link->asked->entries.size() == of.count);
    BOOST_TEST((link->asked->entries.front().operation == of.all.front()));
}

BOOST_FIXTURE_TEST_CASE(submit_to_a_silent_server_examines_each_a_few_times, connected_node)
{
    counted_operations of;
    node->submit(of.make({.what = node_command::kind::release}, 0));
    pass();
    clock->advance(context, 100ms);  // the server does not answer this release
    for (std::size_t i = 1; i < of.count; ++i) {
        node->submit(of.make({.what = node_command::kind::release}, i));
        pass();
    }

    BOOST_TEST(of.looks <= of.few * of.count);
}

BOOST_AUTO_TEST_SUITE_END()
