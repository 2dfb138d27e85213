#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(breaks)

namespace {

lock_info seen(lock_world& w, lock_manager& locks, std::string resource = "stock")
{
    std::optional<lock_info> info;
    locks.async_inspect(std::move(resource), [&](error_code, lock_info i) { info = std::move(i); });
    w.run_to([&] { return info.has_value(); });
    return *info;
}

std::pair<error_code, break_info> break_it(lock_world& w, lock_manager& locks, lock_info what)
{
    std::optional<std::pair<error_code, break_info>> result;
    locks.async_break(std::move(what), [&](error_code ec, break_info i) { result.emplace(ec, std::move(i)); });
    w.run_to([&] { return result.has_value(); });
    return *result;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(break_of_a_held_lock_deletes_it_on_all_nodes, manager_of<3>)
{
    auto other = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});

    auto const [ec, info] = break_it(w, *other, seen(w, *other));

    BOOST_TEST(!ec);
    BOOST_TEST(info.resource == "stock");
    BOOST_TEST(info.deleted == 3u);
    BOOST_TEST(info.nodes.size() == 3u);
    BOOST_TEST(!w.acquire(*other, "stock").ec);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_renewed_lock_makes_its_holder_lose_it, manager_of<3>)
{
    auto other = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});

    break_it(w, *other, seen(w, *other));
    w.run_for(2s);  // the next renewal

    BOOST_TEST(!won.held.held());
    BOOST_TEST(!seen(w, *other).locked);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_lock_that_changed_hands_returns_not_held, manager_of<3>)
{
    auto other = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    auto const before = seen(w, *other);
    w.release(won.held);
    auto next = w.acquire(*locks, "stock", {.ttl = 10s});

    auto const [ec, info] = break_it(w, *other, before);

    BOOST_TEST((ec == errc::not_held));
    BOOST_TEST(info.deleted == 0u);
    BOOST_TEST(next.held.held());
    BOOST_TEST(seen(w, *other).locked);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_free_lock_or_a_bad_name_sends_nothing, manager_of<3>)
{
    auto const requests = w[0].requests.size();
    auto nobody = seen(w, *locks);
    BOOST_TEST((break_it(w, *locks, nobody).first == errc::invalid_argument));
    nobody.resource = "";
    nobody.nodes[0].locked = true;
    nobody.nodes[0].value = "v";
    BOOST_TEST((break_it(w, *locks, nobody).first == errc::invalid_argument));
    BOOST_TEST(w[0].requests.size() == requests + 1);  // the inspection
}

BOOST_FIXTURE_TEST_CASE(break_of_keys_without_a_majority_deletes_each_of_them, manager_of<3>)
{
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};
    w[1].entries["lock:stock"] = {std::string(32, 'a') + ":left", w.now + 1h};

    auto const [ec, info] = break_it(w, *locks, seen(w, *locks));

    BOOST_TEST(!ec);
    BOOST_TEST(info.deleted == 2u);
    BOOST_TEST(w[0].entries.empty());
    BOOST_TEST(w[1].entries.empty());
}

BOOST_FIXTURE_TEST_CASE(break_of_the_majority_spares_a_client_that_acquires, manager_of<3>)
{
    auto const holder = std::string(32, 'a') + ":one", next = std::string(32, 'b') + ":one";
    w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {holder, w.now + 1h};
    w[2].entries["lock:stock"] = {next, w.now + 1h};

    auto const [ec, info] = break_it(w, *locks, seen(w, *locks));

    BOOST_TEST(info.deleted == 2u);
    BOOST_TEST(w[2].entries.contains("lock:stock"));
}

BOOST_FIXTURE_TEST_CASE(break_of_a_shared_lock_deletes_the_readers_that_were_seen, manager_of<3>)
{
    auto other = w.manager();
    auto one = w.acquire(*locks, "stock", {.ttl = 10s, .mode = mode::shared});
    auto const before = seen(w, *other);
    auto two = w.acquire(*other, "stock", {.ttl = 10s, .mode = mode::shared});

    auto const [ec, info] = break_it(w, *other, before);

    BOOST_TEST(!ec);
    BOOST_TEST(info.deleted == 3u);
    auto const after = seen(w, *other);
    BOOST_TEST(after.locked);
    BOOST_TEST_REQUIRE(after.readers.size() == 1u);
    BOOST_TEST(after.readers[0].value == two.held.token());
}

BOOST_FIXTURE_TEST_CASE(break_without_a_majority_returns_no_quorum, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_for(1ms);
    auto const holder = seen(w, *locks);
    w[0].hung = w[1].hung = true;

    auto const [ec, info] = break_it(w, *locks, holder);

    BOOST_TEST((ec == errc::no_quorum));
    BOOST_TEST(info.deleted == 1u);
    BOOST_TEST((info.nodes[0].error == errc::node_timeout));
    BOOST_TEST(!info.nodes[2].error);
}

BOOST_FIXTURE_TEST_CASE(break_during_a_renewal_leaves_one_holder, manager_of<3>)
{
    std::mt19937 random(20);
    auto other = w.manager();
    for (int i = 0; i < 1'000; ++i) {
        auto won = w.acquire(*locks, "stock", {.ttl = 300ms, .renew = renewal::automatic});
        BOOST_TEST_REQUIRE(!won.ec);
        auto const holder = seen(w, *other);
        w.run_for(95ms + random() % 10'000 * 1us);  // the renewal comes after a third of the ttl
        auto const [ec, info] = break_it(w, *other, holder);
        BOOST_TEST_REQUIRE((!ec || ec == errc::not_held));
        auto next = w.acquire(*other, "stock", {.ttl = 300ms, .wait = 1s});
        BOOST_TEST_REQUIRE(!next.ec);
        w.run_for(150ms);
        BOOST_TEST_REQUIRE(!won.held.held());
        BOOST_TEST_REQUIRE(next.held.held());
        w.release(next.held);
    }
}

BOOST_AUTO_TEST_SUITE_END()
