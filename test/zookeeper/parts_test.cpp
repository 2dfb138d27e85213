// Its parts, without a server.

#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/history.hpp"
#include "stores/zookeeper/layout.hpp"
#include "stores/zookeeper/refusal.hpp"
#include "stores/zookeeper/uses.hpp"
#include "stores/zookeeper/waiting.hpp"
#include "testing/node_client.hpp"

#include <redlock/error.hpp>
#include <redlock/zookeeper.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::zk;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(parts)

namespace {

std::string refused(std::string const& url)
{
    try {
        parse_address(url, {});
    } catch (std::invalid_argument const& e) {
        return e.what();
    }
    return "taken";
}

/// Counts how often it is asked whether it is to be sent.
class counted final : public node_operation {
public:
    counted(node_command::kind what, std::string key, std::size_t& looked_at) : keys_{std::move(key)}, looked_at_(looked_at)
    {
        command_ = {.what = what, .keys = keys_, .value = "v", .ttl = 1s};
        not_after = clock::time_point::max();
    }

    node_command const& command() const noexcept override { return command_; }
    bool withdrawn() const noexcept override { return ++looked_at_, is_withdrawn; }
    void mark_sent(std::uint32_t) noexcept override {}
    std::uint32_t sent_on() const noexcept override { return 0; }
    std::uint32_t unanswered_on() const noexcept override { return 0; }
    void complete(node_reply) override {}

    bool is_withdrawn = false;

private:
    std::vector<std::string> const keys_;
    std::size_t& looked_at_;
    node_command command_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(an_address_is_understood)
{
    auto const a = parse_address("zookeeper://us%40er:p%3aw@Alpha:1234,[::1],10.0.0.1/my/locks?session=30s&timeout=250ms", {});

    BOOST_TEST(a.name == "zookeeper://alpha:1234,[::1]:2181,10.0.0.1:2181/my/locks");
    BOOST_TEST(a.user == "us@er");
    BOOST_TEST(a.password == "p:w");
    BOOST_TEST(a.members.size() == 3u);
    BOOST_TEST(a.options.chroot == "/my/locks");
    BOOST_TEST((a.options.session == 30s && a.options.timeout == 250ms));
    auto const other = parse_address("zookeeper://h", {.session = 5s, .chroot = "/p"});
    BOOST_TEST((other.options.session == 5s && other.options.chroot == "/p"));
}

BOOST_AUTO_TEST_CASE(an_address_that_is_wrong_is_refused_without_its_secrets)
{
    for (auto const* url : {"zookeeper://", "zookeeper://a,,b", "zookeeper://a:0", "zookeeper://a:65536", "zookeeper://[::1", "zookeeper://[alpha]",
                            "zookeeper://u@a", "zookeeper://:secret@a", "zookeeper://u:@a", "zookeeper://u:secret%2@a", "zookeeper://u:se/cret@a",
                            "zookeeper://u:secret", "zookeeper://u:1?secret@a", "zookeeper://a?session=99ms", "zookeeper://a?session=3601s",
                            "zookeeper://a?timeout=0ms", "zookeeper://a?timeout=2", "zookeeper://a?timeout=2m", "zookeeper://a/x%0", "zookeeper://a/x/",
                            "zookeeper://a//x", "zookeeper://a/x/..", "zookeeper://a/%01"}) {
        auto const what = refused(url);
        BOOST_TEST(what != "taken", url);
        BOOST_TEST(what.find("secret") == what.npos, url);
    }
    BOOST_TEST(refused("zookeeper://a?sesion=2s").find("\"sesion\" is none of its parameters") != std::string::npos);
    BOOST_CHECK_THROW(zookeeper({.session = 1ms}), std::invalid_argument);
    BOOST_CHECK_THROW(zookeeper({.timeout = 0ms}), std::invalid_argument);
    BOOST_CHECK_THROW(zookeeper({.chroot = "relative"}), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(what_a_lock_s_node_holds_is_read_again)
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

BOOST_AUTO_TEST_CASE(a_name_is_no_other_s_and_one_that_zookeeper_takes)
{
    layout const l{"/f"};

    BOOST_TEST(l.lock("lock:a.b/c") == "/f/locks/lock:a%2eb%2fc");
    BOOST_TEST(l.holder("a", "v=w") == "/f/locks/a=v%3dw");
    BOOST_TEST(l.lock("a=v") != l.holder("a", "v"));
    BOOST_TEST(l.lock("..") == "/f/locks/%2e%2e");
    BOOST_TEST(l.lock("%2e") != l.lock("."));
    BOOST_TEST(l.session(-1) == "/f/sessions/ffffffffffffffff");
}

BOOST_AUTO_TEST_CASE(what_may_have_been_done_is_told_from_what_was_not)
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

BOOST_AUTO_TEST_CASE(an_ensemble_that_goes_back_has_forgotten)
{
    history h;
    h.meet({.id = "one", .zxid = 10}, clock::now());
    h.heard(20);
    h.heard(15);
    h.meet({.id = "one", .zxid = 21}, clock::now());
    BOOST_TEST(!h.identity().restarted);

    h.heard(40);
    h.meet({.id = "one", .zxid = 30}, clock::now());
    BOOST_TEST((h.identity().restarted && !h.identity().durable));

    history other;
    other.meet({.id = "one", .zxid = 10}, clock::now());
    other.meet({.id = "two", .zxid = 50}, clock::now());
    BOOST_TEST(other.identity().restarted);
}

BOOST_AUTO_TEST_CASE(what_is_promised_does_not_count_on_what_the_leader_may_not_have_heard)
{
    auto const at = [start = clock::now()](std::chrono::seconds s) { return start + s; };
    uses u;
    u.begin(at(0s));
    BOOST_TEST((u.promise(at(1s), 12s) == 6s));
    for (auto const s : {2s, 4s, 6s, 8s})
        u.add(at(s), 12s);
    BOOST_TEST((u.promise(at(9s), 12s) == 6s));  // 6 s was three seconds before that, which is a quarter

    u.add(at(20s), 12s);  // it stood still
    BOOST_TEST((u.promise(at(20s), 12s) == 0s));
    BOOST_TEST((u.promise(at(22s), 12s) <= 0s));
    BOOST_TEST((u.promise(at(23s), 12s) == 6s));
}

BOOST_AUTO_TEST_CASE(what_is_about_one_key_goes_one_after_the_other)
{
    using testing::request;
    auto const acquire = [](std::vector<std::string> keys) {
        return std::make_shared<request>(node_command{.what = node_command::kind::acquire, .ttl = 1s}, std::move(keys), "v");
    };
    waiting w;
    waiting::finished over;
    auto const first = acquire({"a", "b"}), second = acquire({"b"}), third = acquire({"b", "c"}), fourth = acquire({"c"}), fifth = acquire({"d"});
    for (auto const& r : {first, second, third, fourth, fifth})
        w.add(r);

    BOOST_TEST((w.take(clock::now(), over) == std::vector<waiting::operation>{first, fifth}));  // the third was before the fourth
    BOOST_TEST(w.take(clock::now(), over).empty());
    w.free(*first);
    BOOST_TEST((w.take(clock::now(), over) == std::vector<waiting::operation>{second}));
    second->is_withdrawn = third->is_withdrawn = true;
    w.free(*second);
    BOOST_TEST((w.take(clock::now(), over) == std::vector<waiting::operation>{fourth}));
    BOOST_TEST(over.size() == 1u);
}

BOOST_AUTO_TEST_CASE(take_with_thousands_under_way_or_waiting_looks_at_each_a_few_times)
{
    constexpr std::size_t locks = 3'000;
    std::size_t looked_at = 0;
    std::vector<std::shared_ptr<counted>> extensions, releases;
    waiting w;
    waiting::finished over;
    auto const add = [&](node_command::kind what, std::vector<std::shared_ptr<counted>>& to) {
        for (std::size_t i = 0; i < locks; ++i) {
            to.push_back(std::make_shared<counted>(what, "lock:" + std::to_string(i), looked_at));
            w.add(to.back());
            BOOST_TEST_REQUIRE(w.take(clock::now(), over).size() == (what == node_command::kind::extend ? 1u : 0u));
        }
    };
    add(node_command::kind::extend, extensions);  // the server has stopped: none is answered
    add(node_command::kind::release, releases);

    for (auto const& e : extensions) {
        w.free(*e);
        BOOST_TEST_REQUIRE(w.take(clock::now(), over).size() == 1u);
    }

    BOOST_TEST(looked_at <= 4 * locks);
}

BOOST_AUTO_TEST_CASE(refuse_without_a_connection_looks_at_each_a_few_times)
{
    constexpr std::size_t locks = 3'000;
    std::size_t looked_at = 0;
    std::vector<std::shared_ptr<counted>> releases;
    waiting w;
    waiting::finished over;
    node_reply const trouble{.untouched = true, .error = errc::node_unreachable};
    for (std::size_t i = 0; i < locks; ++i) {
        releases.push_back(std::make_shared<counted>(node_command::kind::release, "lock:" + std::to_string(i), looked_at));
        w.add(releases.back());
        w.refuse(trouble, false, over);
    }
    auto const extension = std::make_shared<counted>(node_command::kind::extend, "lock:0", looked_at);
    w.add(extension);
    w.refuse(trouble, false, over);
    BOOST_TEST_REQUIRE(over.size() == 1u);
    BOOST_TEST((over[0].first == extension));

    releases[0]->is_withdrawn = true;
    w.refuse(trouble, true, over);
    BOOST_TEST(over.size() == 2u);
    BOOST_TEST(w.take(clock::now(), over).size() == locks - 1);

    BOOST_TEST(looked_at <= 4 * locks);
}

BOOST_AUTO_TEST_SUITE_END()
