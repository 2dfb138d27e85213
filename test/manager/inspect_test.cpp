#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(inspections)

namespace {

std::pair<error_code, lock_info> inspect(lock_world& w, lock_manager& locks, std::string resource)
{
    std::optional<std::pair<error_code, lock_info>> result;
    locks.async_inspect(std::move(resource),
                        [&](error_code ec, lock_info info) { result.emplace(ec, std::move(info)); });
    w.run_to([&] { return result.has_value(); });
    return *result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(inspect_reports_owner_remaining_time_and_nodes)
{
    lock_world w(3);
    auto locks = w.manager({.owner = "web-1"});
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_for(1s);
    w[2].entries.clear();
    w[1].find("lock:stock")->expires = w.now + 5s;

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST(info.resource == "stock");
    BOOST_TEST(info.locked);
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST((info.remaining > 4900ms && info.remaining <= 5s));  // after that, one node has the key
    BOOST_TEST(info.nodes.size() == 3u);
    BOOST_TEST(info.nodes[0].locked);
    BOOST_TEST((info.nodes[0].remaining > 8900ms));
    BOOST_TEST(!info.nodes[2].locked);
}

BOOST_FIXTURE_TEST_CASE(inspect_of_a_key_on_a_minority_reports_not_locked, manager_of<3>)
{
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST(!info.locked);
    BOOST_TEST(info.nodes[0].locked);
    BOOST_TEST(info.nodes[0].owner == "");
}

BOOST_FIXTURE_TEST_CASE(inspect_without_a_majority_returns_no_quorum_and_known_nodes, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[0].hung = w[1].hung = true;

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST((ec == errc::no_quorum));
    BOOST_TEST((info.nodes[0].error == errc::node_timeout));
    BOOST_TEST(info.nodes[2].locked);
    BOOST_TEST((inspect(w, *locks, "").first == errc::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
