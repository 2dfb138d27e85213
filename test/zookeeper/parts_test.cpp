// The parts of the ZooKeeper node, without a server.

#include "stores/kit/history.hpp"
#include "stores/kit/pending_queue.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/layout.hpp"
#include "stores/zookeeper/refusal.hpp"
#include "stores/zookeeper/uses.hpp"
#include "support/counted_operation.hpp"
#include "testing/node_client.hpp"

#include <redlock/error.hpp>
#include <redlock/zookeeper.hpp>

#include <boost/test/unit_test.hpp>
#include <zookeeper/zookeeper.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::stores::zookeeper;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(parts)

namespace {

using waiting = stores::kit::pending_queue<stores::kit::operation>;

struct waiting_for_zookeeper : test::counted_operations {
    static constexpr std::size_t few = 8;  // how often it may look at each operation

    waiting w;
    stores::kit::finished over;
};

}  // namespace

BOOST_AUTO_TEST_CASE(parse_address_reads_members_user_chroot_and_options)
{
    auto const a =
        parse_address("zookeeper://us%40er:p%3aw@Alpha:1234,[::1],10.0.0.1/my/locks?session=30s&timeout=250ms", {});

    BOOST_TEST(a.name == "zookeeper://alpha:1234,[::1]:2181,10.0.0.1:2181/my/locks");
    BOOST_TEST(a.user == "us@er");
    BOOST_TEST(a.password == "p:w");
    BOOST_TEST(a.members.size() == 3u);
    BOOST_TEST(a.options.chroot == "/my/locks");
    BOOST_TEST((a.options.session == 30s && a.options.timeout == 250ms));
    auto const other = parse_address("zookeeper://h", {.session = 5s, .chroot = "/p"});
    BOOST_TEST((other.options.session == 5s && other.options.chroot == "/p"));
}

BOOST_AUTO_TEST_CASE(zookeeper_with_options_out_of_range_throws)
{
    BOOST_CHECK_THROW(zookeeper({.session = 1ms}), std::invalid_argument);
    BOOST_CHECK_THROW(zookeeper({.timeout = 0ms}), std::invalid_argument);
    BOOST_CHECK_THROW(zookeeper({.chroot = "relative"}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(to_content_of_to_text_returns_the_same_content)
{
    for (std::string const value : {"", "v", "v\n1", "1\nv", "\n"}) {
        auto const read = to_content(to_text(content{value, 1500ms}));
        BOOST_TEST(read.value == value);
        BOOST_TEST((read.ttl == 1500ms));
    }
    BOOST_TEST(to_content("by hand").value == "by hand");
    BOOST_TEST(!to_content("by hand").ttl.has_value());
    BOOST_TEST(!to_content("by\nhand").ttl.has_value());
}

BOOST_AUTO_TEST_CASE(layout_escapes_names_without_collisions)
{
    layout const l{"/f"};

    BOOST_TEST(l.lock("lock:a.b/c") == "/f/locks/lock:a%2eb%2fc");
    BOOST_TEST(l.holder("a", "v=w") == "/f/locks/a=v%3dw");
    BOOST_TEST(l.lock("a=v") != l.holder("a", "v"));
    BOOST_TEST(l.lock("..") == "/f/locks/%2e%2e");
    BOOST_TEST(l.lock("%2e") != l.lock("."));
    BOOST_TEST(l.wanted("a", "0123456789abcdef:a/b\x1f") == "/f/wanted/a/0123456789abcdef:a%2fb%1f");
    for (std::string const bytes : {"a/b\x1f\xff'%_\\", "%2f", "..", ""})
        BOOST_TEST(from_name(to_name(bytes)) == bytes);
    BOOST_TEST(from_name("by%hand") == "by%hand");
    BOOST_TEST(l.session(-1) == "/f/sessions/ffffffffffffffff");
}

BOOST_AUTO_TEST_CASE(refusal_is_untouched_only_if_the_server_did_nothing)
{
    BOOST_TEST(!refusal(ZCONNECTIONLOSS).untouched);
    BOOST_TEST(!refusal(ZOPERATIONTIMEOUT).untouched);
    BOOST_TEST(!refusal(ZCLOSING).untouched);
    BOOST_TEST(refusal(ZNOAUTH).untouched);
    BOOST_TEST((refusal(ZNOAUTH).error == errc::permission_denied));
    BOOST_TEST((refusal(-125).untouched && refusal(-125).error == errc::node_refuses_writes));
    BOOST_TEST((refusal(ZTHROTTLEDOP).error == errc::node_busy));
    BOOST_TEST((refusal(ZSESSIONEXPIRED).untouched && refusal(ZSESSIONEXPIRED).error == errc::connection_lost));
}

BOOST_AUTO_TEST_CASE(note_connection_with_an_older_change_reports_a_restart)
{
    stores::kit::history h;
    h.note_connection("one", 10, clock::now());
    h.heard(20);
    h.heard(15);
    h.note_connection("one", 21, clock::now());
    BOOST_TEST(!h.identity().restarted);

    h.heard(40);
    h.note_connection("one", 30, clock::now());
    BOOST_TEST((h.identity().restarted && !h.identity().durable));

    stores::kit::history other;
    other.note_connection("one", 10, clock::now());
    other.note_connection("two", 50, clock::now());
    BOOST_TEST(other.identity().restarted);
}

BOOST_AUTO_TEST_CASE(promise_ignores_uses_that_the_leader_may_not_know)
{
    auto const at = [start = clock::now()](std::chrono::seconds s) { return start + s; };
    uses u;
    u.begin(at(0s));
    BOOST_TEST((u.promise(at(1s), 12s) == 6s));
    for (auto const s : {2s, 4s, 6s, 8s})
        u.add(at(s), 12s);
    BOOST_TEST((u.promise(at(9s), 12s) == 6s));  // the use at 6 s came a quarter of the timeout earlier

    u.add(at(20s), 12s);  // the client was paused
    BOOST_TEST((u.promise(at(20s), 12s) == 0s));
    BOOST_TEST((u.promise(at(22s), 12s) <= 0s));
    BOOST_TEST((u.promise(at(23s), 12s) == 6s));
}

BOOST_AUTO_TEST_CASE(take_returns_operations_on_one_key_one_by_one)
{
    using testing::request;
    auto const acquire = [](std::vector<std::string> keys) {
        return std::make_shared<request>(node_command{.what = commands::acquire{}, .ttl = 1s}, std::move(keys), "v");
    };
    waiting w;
    stores::kit::finished over;
    auto const first = acquire({"a", "b"}), second = acquire({"b"}), third = acquire({"b", "c"}),
               fourth = acquire({"c"}), fifth = acquire({"d"});
    for (auto const& r : {first, second, third, fourth, fifth})
        w.add(r);

    // The third operation came before the fourth.
    BOOST_TEST((w.take(clock::now(), over) == std::vector<stores::kit::operation>{first, fifth}));
    BOOST_TEST(w.take(clock::now(), over).empty());
    w.free(*first);
    BOOST_TEST((w.take(clock::now(), over) == std::vector<stores::kit::operation>{second}));
    second->is_withdrawn = third->is_withdrawn = true;
    w.free(*second);
    BOOST_TEST((w.take(clock::now(), over) == std::vector<stores::kit::operation>{fourth}));
    BOOST_TEST(over.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(take_with_thousands_under_way_or_waiting_looks_at_each_a_few_times, waiting_for_zookeeper)
{
    // The server has stopped, and answers nothing.
    for (auto const what : {node_command::kind::extend, node_command::kind::release}) {
        for (std::size_t i = 0; i < count; ++i) {
            w.add(make({.what = testing::command_of(what)}, i));
            BOOST_TEST_REQUIRE(w.take(clock::now(), over).size() == (what == node_command::kind::extend ? 1u : 0u));
        }
    }

    for (std::size_t i = 0; i < count; ++i) {
        w.free(*all[i]);
        BOOST_TEST_REQUIRE(w.take(clock::now(), over).size() == 1u);
    }

    BOOST_TEST(looks <= few * count);
}

BOOST_FIXTURE_TEST_CASE(refuse_without_a_connection_looks_at_each_a_few_times, waiting_for_zookeeper)
{
    node_reply const trouble{.untouched = true, .error = errc::node_unreachable};
    for (std::size_t i = 0; i < count; ++i) {
        w.add(make({.what = commands::release{}}, i));
        w.refuse(trouble, false, over);
    }
    w.add(make({.what = commands::extend{}}, 0));
    w.refuse(trouble, false, over);
    BOOST_TEST_REQUIRE(over.size() == 1u);
    BOOST_TEST((over[0].first == all.back()));

    all.front()->is_withdrawn = true;
    w.refuse(trouble, true, over);
    BOOST_TEST(over.size() == 2u);
    BOOST_TEST(w.take(clock::now(), over).size() == count - 1);

    BOOST_TEST(looks <= few * count);
}

BOOST_AUTO_TEST_SUITE_END()
