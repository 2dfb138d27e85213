#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(memory_servers)

namespace {

struct on_a_loop {
    template <class Future>
    auto run(Future future)
    {
        context.restart();
        while (future.wait_for(0s) != std::future_status::ready)
            context.run_one_for(1s);
        return future.get();
    }

    asio::io_context context;
};

bool refuses(manager_options c, std::string const& why) { return refusal(std::move(c)).find(why) != std::string::npos; }

// Begins to acquire "stock". Returns when the node has denied it and will notify the manager of changes.
std::future<lock> wait_for_stock(asio::io_context& context, lock_manager& locks)
{
    auto waiter = locks.async_acquire("stock", {.wait = 30s}, asio::use_future);
    while (locks.stats().rounds < 2)
        context.run_one();
    context.poll();
    return waiter;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(memory_server_with_one_name_is_shared_by_two_managers, on_a_loop)
{
    lock_manager first(context, {.nodes = {"memory://shared"}});
    lock_manager second(context, {.nodes = {"memory://shared"}});

    auto held = run(first.async_acquire("stock", {}, asio::use_future));
    auto lost = second.async_acquire("stock", {}, asio::use_future);

    BOOST_CHECK_EXCEPTION(static_cast<void>(run(std::move(lost))), system_error,
                          [](auto& e) { return e.code() == errc::contended; });
    BOOST_TEST(memory_server::at("shared")->value("lock:stock").value() == held.token());
    run(held.async_release(asio::use_future));
    BOOST_TEST(run(second.async_acquire("stock", {}, asio::use_future)).held());
}

BOOST_FIXTURE_TEST_CASE(set_session_shorter_than_the_ttl_limits_the_validity, on_a_loop)
{
    auto const server = memory_server::at("session");
    server->set_session(2s);
    lock_manager locks(context, {.nodes = {"memory://session"}});
    auto const before = clock::now();

    auto held = run(locks.async_acquire("stock", {.ttl = 30s}, asio::use_future));

    BOOST_TEST((held.valid_until() > before + 1s));
    BOOST_TEST((held.valid_until() < clock::now() + 2s));
}

BOOST_FIXTURE_TEST_CASE(set_fault_makes_acquire_fail_with_the_matching_error, on_a_loop)
{
    lock_manager locks(context, {.nodes = {"memory://m1", "memory://m2", "memory://m3"}, .node_timeout = 20ms});
    auto const outcome = [&](memory_server::fault a, memory_server::fault b) {
        memory_server::at("m1")->set_fault(a);
        memory_server::at("m2")->set_fault(b);
        attempt_report report;
        try {
            auto held = run(locks.async_acquire("stock", {.ttl = 5s, .explain = true}, asio::use_future));
            report = *held.report();
            run(held.async_release(asio::use_future));
        } catch (lock_error const& e) {
            report = e.report();
        }
        memory_server::at("m1")->set_fault(memory_server::fault::none);
        memory_server::at("m2")->set_fault(memory_server::fault::none);
        return report;
    };
    using fault = memory_server::fault;
    BOOST_TEST(!outcome(fault::none, fault::none).outcome);
    BOOST_TEST(!outcome(fault::none, fault::unreachable).outcome);
    BOOST_TEST(!outcome(fault::hung, fault::none).outcome);
    BOOST_TEST((outcome(fault::unreachable, fault::unreachable).outcome == errc::no_quorum));
    auto const hung = outcome(fault::hung, fault::hung);
    BOOST_TEST((hung.outcome == errc::no_quorum));
    BOOST_TEST((hung.nodes[0].error == errc::node_timeout));
    auto const mute = outcome(fault::mute, fault::mute);
    BOOST_TEST((mute.outcome == errc::no_quorum));
    BOOST_TEST((mute.nodes[0].error == errc::connection_lost));

    run(locks.async_shutdown(asio::use_future));
    for (auto const* name : {"m1", "m2", "m3"})
        BOOST_TEST(memory_server::at(name)->size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(set_delay_keeps_the_order_of_requests, on_a_loop)
{
    auto node = memory_server::at("slow");
    lock_manager locks(context, {.nodes = {"memory://slow"}, .node_timeout = 20ms});
    auto connected = run(locks.async_acquire("warm-up", {}, asio::use_future));
    node->set_delay(200ms);
    auto acquiring = locks.async_acquire("stock", {.ttl = 30s}, asio::use_future);
    context.poll();
    node->set_delay(0ms);
    // The acquisition times out, so the manager sends a release.
    BOOST_CHECK_THROW(static_cast<void>(run(std::move(acquiring))), system_error);
    context.restart();
    context.run_for(300ms);
    BOOST_TEST(!node->value("lock:stock"));
    connected = {};
    run(locks.async_shutdown(asio::use_future));
    BOOST_TEST(node->size() == 0u);
}

BOOST_AUTO_TEST_CASE(memory_server_clear_or_set_notifies_waiters)
{
    auto const node = memory_server::at("notifying");
    std::function<void()> const changes[] = {
        [&] { node->clear(); },
        [&] { node->set("lock:stock", "of another kind", 1ms); },
    };
    for (auto const& change : changes) {
        on_a_loop loop;
        lock_manager locks(loop.context, {.nodes = {"memory://notifying"}});
        node->set("lock:stock", "of another kind", 60s);
        auto waiter = wait_for_stock(loop.context, locks);
        change();
        BOOST_TEST(loop.run(std::move(waiter)).held());
        loop.run(locks.async_shutdown(asio::use_future));
    }
}

BOOST_AUTO_TEST_CASE(memory_server_does_not_notify_a_waiter_whose_context_is_gone)
{
    auto const node = memory_server::at("notifying");
    node->set("lock:stock", "of another kind", 60s);
    for (bool const shut_down : {false, true}) {
        on_a_loop loop;
        lock_manager locks(loop.context, {.nodes = {"memory://notifying"}});
        wait_for_stock(loop.context, locks);
        if (shut_down)
            loop.run(locks.async_shutdown(asio::use_future));
    }
    node->clear();
    BOOST_TEST(node->size() == 0u);
}

BOOST_AUTO_TEST_CASE(lock_manager_with_the_same_node_twice_is_refused)
{
    asio::io_context context;
    memory_server::at("twice");
    auto const refuses = [&](std::vector<std::shared_ptr<redlock::node>> nodes) {
        try {
            lock_manager locks(context.get_executor(), {}, std::move(nodes));
        } catch (std::invalid_argument const& e) {
            return std::string_view(e.what()).find("twice") != std::string_view::npos;
        }
        return false;
    };
    lock_world w(2);
    auto const node = std::make_shared<scripted_node>(w, w[0], "a");
    BOOST_TEST(refuses({node, node}));
    BOOST_TEST(refuses({node, std::make_shared<scripted_node>(w, w[1], "a")}));
}

BOOST_AUTO_TEST_CASE(memory_server_keys_expire_after_their_ttl)
{
    auto node = memory_server::at("expiring");
    node->set("a", "1", 1ms);
    node->set("b", "2", 0ms);
    auto const end = clock::now() + 5ms;
    while (clock::now() < end) {
    }
    BOOST_TEST(node->size() == 1u);
    BOOST_TEST(!node->value("a"));
    BOOST_TEST(node->value("b").value() == "2");
    node->clear();
    BOOST_TEST(node->size() == 0u);
}

BOOST_AUTO_TEST_CASE(lock_manager_with_an_invalid_config_throws)
{
    BOOST_TEST(refuses({}, "nodes is empty"));
    BOOST_TEST(refuses({.nodes = {"redis://ok", "http://x"}}, "nodes[1]"));
    BOOST_TEST(refuses({.nodes = {"redis://h:7000", "memory://a", "h:7000/2"}},
                       "nodes[2] is \"redis://h:7000\", the same server as nodes[0]"));
    BOOST_TEST(refuses({.nodes = {"memory://a"}, .node_timeout = 0ms}, "node_timeout"));
    BOOST_TEST(refuses({.nodes = {"rediss://h"}, .tls = {.ca_file = "/does/not/exist.pem"}}, "/does/not/exist.pem"));
    BOOST_TEST(refusal({.nodes = {"memory://a"}}) == "accepted");
}

BOOST_AUTO_TEST_SUITE_END()
