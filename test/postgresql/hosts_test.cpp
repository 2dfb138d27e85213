// Several hosts: one is the primary, or several of them believe that they are.

#include "stores/postgresql/hosts.hpp"
#include "stores/store.hpp"
#include "support/quarantine.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <map>
#include <memory>
#include <optional>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(hosts_of_postgresql, event_loop)

namespace {
struct fake_probe final : stores::kit::session {
    void open() override {}
    void close() override {}
    void abandon() override {}
    void cut(node_reply) override {}
    bool up() const noexcept override { return false; }
    bool busy() const noexcept override { return true; }
    stores::kit::introduction const& server() const noexcept override { return nothing; }
    std::optional<clock::time_point> waiting_since() const override { return {}; }
    void carry_out(node_command const&, bool, std::function<void(node_reply)>) override {}
    void end(stores::kit::backend const&, std::function<void(bool)>) override {}
    void look(std::string, std::function<void(core::memory_record const*)>) override {}
    void clean() override {}

    stores::kit::introduction nothing;
};

// Hosts "a", "b", … with answers from the test.
struct some_hosts {
    explicit some_hosts(std::string const& names)
        : all(std::make_shared<stores::postgresql::hosts>(
            context.get_executor(), [this](stores::postgresql::found const& f, stores::kit::session::owner& o,
                                           stores::postgresql::hosts::report tell) {
                owner = &o;
                tellers[f.name] = std::move(tell);
                return probes[f.name] = std::make_shared<fake_probe>();
            }))
    {
        for (auto const name : names)
            places.push_back({places.size(), std::string(1, name), "127.0.0.1"});
        find();
    }

    void find()
    {
        all->find(places, [this](stores::postgresql::found const* primary, node_reply const& why) {
            answer = primary ? primary->name : why.error.message() + ": " + why.text;
        });
    }
    void is(std::string const& name, std::int64_t timeline, std::string const& system = "one")
    {
        tellers.at(name)({system, timeline});
    }
    void is_down(std::string const& name)
    {
        owner->down(*probes.at(name), false, {.error = errc::node_unreachable, .text = "refused"});
    }
    std::string answered()
    {
        context.restart();
        context.poll();
        return answer;
    }

    asio::io_context context;
    std::vector<stores::postgresql::found> places;
    std::map<std::string, stores::postgresql::hosts::report> tellers;
    std::map<std::string, std::shared_ptr<fake_probe>> probes;
    stores::kit::session::owner* owner = nullptr;
    std::string answer;
    std::shared_ptr<stores::postgresql::hosts> const all;
};

manager_options with_hosts(std::string const& hosts)
{
    return on(fmt::format("postgresql://redlock@{}/postgres", hosts));
}

std::string place_of(postgres_server const& s) { return fmt::format("127.0.0.1:{}", s.port()); }

std::string number_of_locks(postgres_server const& s) { return s.ask("SELECT count(*) FROM redlock_locks"); }

}  // namespace

BOOST_AUTO_TEST_CASE(find_waits_for_all_hosts_and_takes_the_latest_timeline)
{
    some_hosts h("abc");
    h.is("a", 1);
    h.is("b", 0);
    BOOST_TEST(h.answered() == "");
    h.is("c", 2);
    BOOST_TEST(h.answered() == "c");
    BOOST_TEST(h.all->is_outdated("one", 1));
    BOOST_TEST(!h.all->is_outdated("one", 2));
    BOOST_TEST(!h.all->is_outdated("two", 1));
}

BOOST_AUTO_TEST_CASE(find_takes_the_first_of_unrelated_databases)
{
    some_hosts h("ab");
    h.is("a", 1);
    h.is("b", 7, "two");
    BOOST_TEST(h.answered() == "a");
}

BOOST_AUTO_TEST_CASE(find_without_a_primary_says_why_of_each_host)
{
    some_hosts h("ab");
    h.is("b", 0);
    h.is_down("a");
    BOOST_TEST(h.answered() == "the server is a replica, or read-only: a: refused; b: it is a standby");
}

BOOST_AUTO_TEST_CASE(follow_looks_again_when_a_host_is_promoted)
{
    some_hosts h("ab");
    h.is("a", 1);
    h.is("b", 0);
    int looks = 0;
    h.all->follow([&] { return ++looks < 2; });
    h.is("a", 1);
    BOOST_TEST(looks == 0);
    h.is("b", 2);
    BOOST_TEST(looks == 1);
    h.is("b", 3);
    h.is("b", 4);  // the follower has returned false
    BOOST_TEST(looks == 2);
}

BOOST_AUTO_TEST_CASE(acquire_after_a_stopped_primary_goes_on_uses_the_new_one, *only_with_server())
{
    postgres_server old_one({"fsync=off"});
    BOOST_TEST(!r.attempt(with_hosts(place_of(old_one))).ec);
    postgres_server new_one(old_one);
    old_one.pause();
    BOOST_TEST(new_one.ask("SELECT pg_promote()") == "t");
    old_one.resume();

    for (auto const& order :
         {place_of(old_one) + "," + place_of(new_one), place_of(new_one) + "," + place_of(old_one)}) {
        lock_manager locks(r.context, with_hosts(order));
        auto won = acquire_after_quarantine(r, locks, "stock", {.ttl = 20s});
        BOOST_TEST(!won.ec, won.report.message);
        BOOST_TEST(number_of_locks(old_one) == "0");
        BOOST_TEST(number_of_locks(new_one) == "1");
        BOOST_TEST(!r.release(won.held));
    }
}

BOOST_AUTO_TEST_CASE(acquire_after_a_promotion_beside_the_primary_uses_the_new_one, *only_with_server())
{
    postgres_server old_one({"fsync=off"});
    BOOST_TEST(!r.attempt(with_hosts(place_of(old_one))).ec);
    postgres_server new_one(old_one);
    lock_manager locks(r.context, with_hosts(place_of(old_one) + "," + place_of(new_one)));
    auto held = hold(r, locks, "stock", {.ttl = 6s});
    BOOST_TEST(number_of_locks(old_one) == "1");
    BOOST_TEST(new_one.ask("SELECT pg_promote()") == "t");
    BOOST_TEST(r.run_to([&] { return r.extend(held, 6s).failed(); }));
    auto const again = acquire_after_quarantine(r, locks, "stock", {.ttl = 20s, .wait = 20s});
    BOOST_TEST(!again.ec, again.report.message);
    BOOST_TEST(number_of_locks(new_one) == "1");
}

BOOST_AUTO_TEST_CASE(acquire_without_any_host_says_why_of_each, *only_with_server())
{
    auto const one = testbed::free_port(), two = testbed::free_port();
    auto const tried = r.attempt(with_hosts(fmt::format("127.0.0.1:{},127.0.0.1:{}", one, two)));
    BOOST_REQUIRE(!tried.report.nodes.empty());
    BOOST_TEST((tried.report.nodes[0].error == errc::node_unreachable));
    auto const& words = tried.report.nodes[0].message;
    for (auto const port : {one, two})
        BOOST_TEST(words.find(std::to_string(port)) != words.npos, words);
    BOOST_TEST(words.find("refused") != words.npos, words);
}

BOOST_AUTO_TEST_SUITE_END()
