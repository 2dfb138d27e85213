// The events that an observer receives for each outcome, in their order.

#include "support/during_faults.hpp"
#include "support/balance.hpp"
#include "support/event_recorder.hpp"
#include "support/manager_test.hpp"

#include <cstddef>
#include <cstdint>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(observer_events)

namespace {

/// Servers, and a connected manager whose observer writes a line for each event.
template <std::size_t Servers>
struct observed {
    explicit observed(manager_options settings = {}) : locks(w.connected(with_diary(std::move(settings))))
    {
        w.run_for(100ms);
        told->read();
    }

    manager_options with_diary(manager_options settings)
    {
        settings.observer = told;
        return settings;
    }

    /// Runs the world for 1 ms. @return the lines since the last call
    std::string read()
    {
        w.run_for(1ms);
        return in_lines(told->read());
    }

    lock_world w{Servers};
    std::shared_ptr<event_recorder> told = std::make_shared<event_recorder>();
    std::unique_ptr<lock_manager> locks;
};

struct observed_with_fencing : observed<3> {
    observed_with_fencing() : observed({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(observer_receives_each_step_of_acquire_and_release, observed<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(300ms);
    w.release(won.held);

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: ++? won after 200 us",
                   "2 acquired: stock after 200 us, waited 0 us, 1 rounds",
                   "2 released: stock after 300 ms, valid for 687 ms",
               }));
}

BOOST_AUTO_TEST_CASE(acquire_with_a_context_hands_it_to_the_observer)
{
    struct watcher : observer {
        std::vector<std::shared_ptr<void const>> seen;
        void acquisition_begun(events::acquisition_begun const& e) override { seen.push_back(e.context); }
    };
    lock_world w(3);
    auto const told = std::make_shared<watcher>();
    auto const locks = w.manager({.observer = told});
    std::shared_ptr<void const> const context = std::make_shared<int>(7);

    w.acquire(*locks, "stock", {.context = &context});
    w.acquire(*locks, "another");

    BOOST_TEST((told->seen == std::vector<std::shared_ptr<void const>>{context, nullptr}));
    told->seen.clear();
    BOOST_TEST(context.use_count() == 1);
}

BOOST_FIXTURE_TEST_CASE(observer_of_the_first_acquire_receives_node_up_events, manager_of<3>)
{
    auto const told = std::make_shared<event_recorder>();
    auto const observed = w.manager({.observer = told});

    w.acquire(*observed, "stock");

    BOOST_TEST(in_lines(told->read())
               == in_lines({
                   "1 begins: stock",
                   "server-0 is up",
                   "server-1 is up",
                   "server-2 is up",
                   "1 round 1: ++? won after 200 us",
                   "1 acquired: stock after 400 us, waited 200 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_contended_acquire_receives_not_acquired, observed<3>)
{
    auto const other = w.connected();
    auto const taken = w.acquire(*other, "stock");

    w.acquire(*locks, "stock");

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: --? contended after 200 us",
                   "2 not acquired: stock contended after 200 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_acquire_with_nodes_down_receives_no_quorum, observed<3>)
{
    w[1].reachable = false;
    w[2].mute = true;

    w.acquire(*locks, "stock");

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "server-1 is down: no connection to the node",
                   "2 round 1: +xx no_quorum after 50000 us",
                   "2 not acquired: stock no_quorum after 50000 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_acquire_on_slow_nodes_receives_validity_exhausted, observed<3>)
{
    w.each([](auto& s) { s.reply_delay = 45ms; });

    w.acquire(*locks, "stock", {.ttl = 55ms});

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: ++? validity_exhausted after 45100 us",
                   "2 not acquired: stock validity_exhausted after 45100 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_acquire_on_restarted_nodes_receives_quarantined, observed<3>)
{
    w[0].restart();
    w[1].restart();

    w.acquire(*locks, "stock");

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "server-0 is up",
                   "server-0 is quarantined for 60000 ms",
                   "server-1 is up",
                   "server-1 is quarantined for 60000 ms",
                   "2 round 1: xx? quarantined after 200 us",
                   "2 not acquired: stock quarantined after 200 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_cancelled_acquire_receives_aborted, observed<3>)
{
    auto const taken = w.acquire(*locks, "stock", {.renew = renewal::automatic});
    asio::cancellation_signal signal;
    auto waits = w.start(*locks, "stock", {.wait = wait_forever}, signal.slot());
    w.run_for(500ms);
    told->read();

    signal.emit(asio::cancellation_type::terminal);

    BOOST_TEST(read() == in_lines({"3 not acquired: stock aborted after 500000 us, 0 rounds"}));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_queue_receives_handed_over, observed<3>)
{
    auto first = w.acquire(*locks, "stock");
    auto second = w.start(*locks, "stock", {.wait = 1min});
    auto third = w.start(*locks, "stock", {.wait = 1min});
    w.run_for(10ms);
    told->read();

    w.release(first.held);
    w.end_of(second);
    w.release(second.held);
    w.end_of(third);

    BOOST_TEST(read()
               == in_lines({
                   "2 released: stock after 10 ms, valid for 9887 ms",
                   "2 handed over: stock",
                   "3 round 1: ++? won after 200 us",
                   "3 acquired: stock after 10200 us, waited 10000 us, 1 rounds",
                   "3 released: stock after 0 ms, valid for 9897 ms",
                   "3 handed over: stock",
                   "4 round 1: ++? won after 200 us",
                   "4 acquired: stock after 10400 us, waited 10200 us, 1 rounds, behind 1",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_two_readers_receives_joined_and_one_released, observed<3>)
{
    auto one = w.acquire(*locks, "stock", {.mode = mode::shared});
    auto other = w.acquire(*locks, "stock", {.mode = mode::shared});
    w.release(one.held);
    w.release(other.held);

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: ++? won after 200 us",
                   "2 acquired: stock after 200 us, waited 0 us, 1 rounds",
                   "3 begins: stock",
                   "3 joins 2: stock after 0 us, waited 0 us, 0 rounds",
                   "2 released: stock after 0 ms, valid for 9897 ms",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_sets_and_acquire_any_receives_their_names, observed<3>)
{
    auto all = w.acquire(*locks, {"a", "b"});
    auto one = w.acquire_any(*locks, {"b", "c"});
    w.release(all.held);
    w.release(one.held);

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: a+b",
                   "2 round 1: ++? won after 200 us",
                   "2 acquired: a+b after 200 us, waited 0 us, 1 rounds",
                   "3 begins: b+c, any",
                   "3 round 1: ++? won after 200 us",
                   "3 acquired: c after 200 us, waited 0 us, 1 rounds",
                   "2 released: a+b after 0 ms, valid for 9897 ms",
                   "3 released: c after 0 ms, valid for 9897 ms",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_fencing_receives_the_second_round, observed_with_fencing)
{
    w[0].counters["lock:stock"] = 7;
    w[0].counts_by = 5;

    auto const won = w.acquire(*locks, "stock");

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: ++? won after 200 us",
                   "2 round 1 for a token: ++? won after 200 us",
                   "2 acquired: stock after 400 us, waited 0 us, 1 rounds",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_extend_receives_extended_and_extension_failed, observed<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    told->read();

    w.extend(won.held, 2s);
    w.each([](auto& s) { s.reachable = false; });
    w.extend(won.held, 2s);

    BOOST_TEST(read()
               == in_lines({
                   "2 extended with 987 ms left, valid for 1977 ms",
                   "server-0 is down: no connection to the node",
                   "server-1 is down: no connection to the node",
                   "2 not extended: no_quorum, valid for 1977 ms: 0 of 3 granted, 0 denied, 2 needed; no vote from "
                   "server-0 (no connection to the node), "
                   "server-1 (no connection to the node), server-2 (no connection to the node)",
                   "server-2 is down: no connection to the node",
               }));
}

BOOST_FIXTURE_TEST_CASE(observer_of_failing_renewals_receives_their_begin_and_end, observed<3>)
{
    auto const won = w.acquire(*locks, "stock", {.ttl = 6s, .renew = renewal::automatic});
    told->read();
    w.each([](auto& s) { s.reachable = false; });
    w.run_for(4s);
    w.each([](auto& s) { s.reachable = true; });
    w.run_for(1s);

    auto all = told->read();
    std::erase_if(all, [](auto& l) { return l.starts_with("server"); });

    BOOST_TEST_REQUIRE(all.size() >= 4u);
    BOOST_TEST(all[0].starts_with("2 not renewed: no_quorum, valid for "), all[0]);
    BOOST_TEST(all[1].starts_with("renewals fail, first 2: "), all[1]);
    BOOST_TEST(all[all.size() - 2].starts_with("2 renewed with 1"), all[all.size() - 2]);
    auto const failures = std::count_if(all.begin(), all.end(), [](auto& l) { return l.starts_with("2 not renewed"); });
    BOOST_TEST(all.back().ends_with(fmt::format(" ms: {} failed, 0 lost", failures)), all.back());
    BOOST_TEST(static_cast<std::size_t>(failures) == all.size() - 3);
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_lost_lock_receives_no_released, observed<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    told->read();

    w.run_for(2s);
    w.release(won.held);

    BOOST_TEST(read() == in_lines({"2 lost: stock after 937 ms: expired: its validity is about to end"}));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_loss_receives_its_reason, observed<3>)
{
    auto const limited = w.acquire(*locks, "limited", {.renew = renewal::automatic, .max_hold = 1s});
    auto const deleted = w.acquire(*locks, "deleted", {.ttl = 3s, .renew = renewal::automatic});
    w.each([](auto& s) { s.entries.erase("lock:deleted"); });
    told->read();
    w.run_for(2s);

    auto all = told->read();
    std::erase_if(all, [](auto& l) { return l.find(" lost: ") == l.npos; });
    BOOST_TEST_REQUIRE(all.size() == 2u);  // the time of the renewal decides their order
    std::sort(all.begin(), all.end());
    BOOST_TEST(all[0] == "2 lost: limited after 949 ms: max_hold: max_hold is about to be over");
    BOOST_TEST(all[1].ends_with(": refused: a majority of the nodes no longer has it"), all[1]);
    auto const s = locks->stats();
    BOOST_TEST(s.lost_max_hold == 1u);
    BOOST_TEST(s.lost_refused == 1u);
    BOOST_TEST(s.lost_expired == 0u);
    BOOST_TEST(is_balanced(s));
}

BOOST_FIXTURE_TEST_CASE(stats_count_a_late_renewal, observed<3>)
{
    auto const won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.each([](auto& s) { s.reachable = false; });
    w.run_for(2500ms);
    BOOST_TEST(locks->stats().renewals == 0u);
    w.each([](auto& s) { s.reachable = true; });
    w.run_for(2s);

    auto const s = locks->stats();
    BOOST_TEST(s.renewals >= 2u);
    BOOST_TEST(s.renewals_late == 1u);
    BOOST_TEST(s.renewal_slack.quantile(0) < 600ms);
    BOOST_TEST(s.renewal_slack.quantile(1) > 1500ms);
    BOOST_TEST(is_balanced(s));
}

BOOST_FIXTURE_TEST_CASE(stats_of_renewals_are_not_late_if_nodes_promise_less, observed<3>)
{
    w.each([](auto& s) { s.session = 10s; });
    auto const won = w.acquire(*locks, "stock", {.ttl = 60s, .renew = renewal::automatic});
    w.run_for(30s);

    BOOST_TEST(locks->stats().renewals >= 7u);
    BOOST_TEST(locks->stats().renewals_late == 0u);
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_destroyed_handle_receives_released, observed<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    told->read();

    won.held = {};

    BOOST_TEST(read() == in_lines({"2 released: stock after 0 ms, valid for 987 ms"}));
}

BOOST_FIXTURE_TEST_CASE(observer_of_detach_and_resume_receives_detached_and_acquired, observed<3>)
{
    auto won = w.acquire(*locks, "stock");
    auto const ticket = won.held.detach();
    auto const told_other = std::make_shared<event_recorder>();
    auto const other = w.connected({.observer = told_other});
    told_other->read();

    auto const resume = [&](auto& o, auto how) { other->async_resume(ticket, how, w.into(o)); };
    auto resumed = w.outcome_of({.ttl = 1s}, resume);
    w.release(resumed.held);
    w.outcome_of({.ttl = 1s}, resume);

    BOOST_TEST(read()
               == in_lines({
                   "2 begins: stock",
                   "2 round 1: ++? won after 200 us",
                   "2 acquired: stock after 200 us, waited 0 us, 1 rounds",
                   "2 detached: stock after 0 ms, valid for 9897 ms",
               }));
    BOOST_TEST(in_lines(told_other->read())
               == in_lines({
                   "2 begins: stock, resumes",
                   "2 round 1: ++? won after 200 us",
                   "2 acquired: stock after 200 us, waited 0 us, 1 rounds",
                   "2 released: stock after 0 ms, valid for 987 ms",
                   "3 begins: stock, resumes",
                   "3 round 1: --? lost after 200 us",
                   "3 not acquired: stock lost after 200 us, 1 rounds",
               }));
    BOOST_TEST(other->stats().failed == 1u);
}

BOOST_FIXTURE_TEST_CASE(observer_of_nodes_receives_each_change_once, observed<3>)
{
    auto const of_nodes = [this] {
        w.acquire(*locks, "stock");
        w.acquire(*locks, "stock");
        w.run_for(1s);
        auto all = told->read();
        std::erase_if(all, [](auto& l) { return !l.starts_with("server"); });
        return in_lines(all);
    };
    BOOST_TEST(of_nodes() == in_lines({}));

    w[2].reachable = false;
    BOOST_TEST(of_nodes() == in_lines({"server-2 is down: no connection to the node"}));
    w[2].reachable = true;
    w[2].break_connections();
    BOOST_TEST(of_nodes() == in_lines({"server-2 is up"}));
    w[1].refusal = errc::node_loading;
    BOOST_TEST(of_nodes() == in_lines({"server-1 refuses: the server is starting up or shutting down"}));
    w[1].refusal = errc::node_read_only;
    BOOST_TEST(of_nodes() == in_lines({"server-1 refuses: the server is a replica, or read-only"}));
    w[1].refusal = {};
    BOOST_TEST(of_nodes() == in_lines({"server-1 is up"}));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_quarantine_receives_its_end_in_time, observed<3>)
{
    w[0].restart();
    w.acquire(*locks, "stock");
    w.run_for(1s);
    auto all = told->read();
    std::erase_if(all, [](auto& l) { return !l.starts_with("server"); });
    BOOST_TEST(in_lines(all) == in_lines({"server-0 is up", "server-0 is quarantined for 60000 ms"}));

    w.run_for(58s);
    BOOST_TEST(read() == in_lines({}));
    w.run_for(1s);
    BOOST_TEST(read() == in_lines({"server-0 is trusted"}));
}

BOOST_FIXTURE_TEST_CASE(observer_of_a_late_clean_up_receives_pending_and_left_keys, observed<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 5s});
    w.run_for(1s);
    told->read();
    w[2].reachable = false;
    w[2].break_connections();

    w.release(won, 10ms);
    BOOST_TEST(read()
               == in_lines({
                   "2 released: stock after 1000 ms, valid for 3947 ms",
                   "server-2 is down: no connection to the node",
                   "clean-up behind on server-2: no connection to the node, 3 pending",
               }));
    w.shutdown(*locks);

    auto const all = told->read();
    BOOST_TEST_REQUIRE(!all.empty());
    BOOST_TEST(all.back() == "1 keys left");
}

BOOST_FIXTURE_TEST_CASE(observer_of_invalid_arguments_receives_nothing, observed<3>)
{
    auto const refused = w.acquire(*locks, "stock", {.ttl = 1ms});

    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(read() == in_lines({}));
    BOOST_TEST(locks->stats().begun == 1u);
    BOOST_TEST(locks->stats().failed == 0u);
}

BOOST_FIXTURE_TEST_CASE(observer_receives_nothing_after_shutdown, observed<3>)
{
    auto held = w.acquire(*locks, "stock");
    auto waits = w.start(*locks, "stock", {.wait = wait_forever});
    w.run_for(10ms);
    told->read();
    auto closed = w.start_shutdown(*locks);
    w.run_for(10ms);
    BOOST_TEST(!closed.ec.has_value());

    w.release(held.held);
    closed.end();
    auto const at_the_end = told->read();
    w.acquire(*locks, "stock");

    BOOST_TEST(in_lines(at_the_end)
               == in_lines({
                   "3 not acquired: stock aborted after 10000 us, 0 rounds",
                   "2 released: stock after 20 ms, valid for 9877 ms",
               }));
    BOOST_TEST(read() == in_lines({}));
}

namespace {

/// Calls `when_acquired` once, when an acquisition has won.
class acquired_hook : public event_recorder {
public:
    std::function<void()> when_acquired;

    void acquired(events::acquired const& e) override
    {
        event_recorder::acquired(e);
        if (auto const call = std::exchange(when_acquired, nullptr))
            call();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(observer_that_throws_does_not_affect_the_lock, manager_of<3>)
{
    auto const told = std::make_shared<acquired_hook>();
    told->when_acquired = [] { throw std::runtime_error("disk full"); };
    auto const observed = w.manager({.observer = told});

    auto won = w.acquire(*observed, "stock");

    BOOST_TEST(!won.ec);
    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(told->read().back() == "1 released: stock after 0 ms, valid for 9897 ms");
}

BOOST_FIXTURE_TEST_CASE(observer_that_always_throws_is_logged_once, manager_of<3>)
{
    struct thrower : observer {
        void acquisition_begun(events::acquisition_begun const&) override { throw std::runtime_error("disk full"); }
        void acquired(events::acquired const&) override { throw 1; }
        void log_line(events::log_line const&) override { throw std::runtime_error("disk full"); }
    };
    std::vector<std::string> lines;
    auto const observed = w.manager({.log = [&](log_level, std::string_view l) { lines.emplace_back(l); },
                                     .observer = std::make_shared<thrower>()});

    for (int i = 0; i < 3; ++i) {
        auto won = w.acquire(*observed, "stock");
        BOOST_TEST(!won.ec);
        w.release(won.held);
    }

    BOOST_TEST(in_lines(lines)
               == in_lines({"manager_options::observer has thrown: disk full. Its later exceptions are not logged"}));
}

BOOST_AUTO_TEST_CASE(observers_with_one_that_throws_calls_the_others)
{
    struct thrower : observer {
        void keys_left(events::keys_left const&) override { throw std::runtime_error("disk full"); }
    };
    auto const told = std::make_shared<event_recorder>();
    auto const all = observers({std::make_shared<thrower>(), nullptr, told});

    BOOST_CHECK_THROW(all->keys_left({.when = {}, .keys = 7}), std::runtime_error);

    BOOST_TEST(in_lines(told->read()) == in_lines({"7 keys left"}));
}

BOOST_FIXTURE_TEST_CASE(observer_may_call_the_manager, manager_of<3>)
{
    auto const told = std::make_shared<acquired_hook>();
    auto const observed = w.manager({.observer = told});
    lock_world::outcome inner;
    told->when_acquired = [&] { w.start_acquire(inner, *observed, "another", {}); };

    auto const won = w.acquire(*observed, "stock");
    w.end_of(inner);

    BOOST_TEST(!won.ec);
    BOOST_TEST(!inner.ec);
    BOOST_TEST(told->read().back() == "2 acquired: another after 200 us, waited 0 us, 1 rounds");
}

BOOST_FIXTURE_TEST_CASE(observer_may_destroy_the_manager, manager_of<3>)
{
    auto const told = std::make_shared<acquired_hook>();
    auto observed = w.manager({.observer = told});
    told->when_acquired = [&] { observed.reset(); };

    auto won = w.acquire(*observed, "stock");
    w.run_for(10ms);
    BOOST_TEST(observed == nullptr);
    w.drop(won, 10ms);

    BOOST_TEST(told->read().back().starts_with("1 released: stock"));
    BOOST_TEST(told.use_count() == 1);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(observer_receives_nothing_after_the_context_is_gone)
{
    auto const told = std::make_shared<event_recorder>();
    auto w = std::make_unique<lock_world>(3);
    auto observed = w->manager({.observer = told});
    auto won = w->acquire(*observed, "stock");
    lock_world::outcome waits;
    w->start_acquire(waits, *observed, "stock", {.wait = wait_forever});
    told->read();

    w.reset();
    won.held = {};
    waits.held = {};
    observed.reset();

    BOOST_TEST(told->read().empty());
    BOOST_TEST(told.use_count() == 1);
}

namespace {

/// Counts the events that begin and end acquisitions and locks.
struct balance : observer {
    std::uint64_t begun = 0, acquired_ = 0, joined = 0, not_acquired_ = 0, ended = 0;

    void acquisition_begun(events::acquisition_begun const&) override { ++begun; }
    void acquired(events::acquired const& e) override { ++(e.joined ? joined : acquired_); }
    void not_acquired(events::not_acquired const&) override { ++not_acquired_; }
    void lost(events::lost const&) override { ++ended; }
    void released(events::released const&) override { ++ended; }
    void detached(events::detached const&) override { ++ended; }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(observer_events_agree_with_stats, manager_of<3>)
{
    auto const told = std::make_shared<balance>();
    auto const observed = w.manager({.observer = told});
    auto const all = acquire_during_faults(w, *observed);

    auto const s = observed->stats();
    BOOST_TEST(s.held > 0u);
    BOOST_TEST(s.lost > 0u);
    BOOST_TEST(s.joined > 0u);
    BOOST_TEST(s.detached > 0u);
    BOOST_TEST(s.no_quorum > 0u);
    BOOST_TEST(s.begun == 400u);
    BOOST_TEST(is_balanced(s));
    BOOST_TEST(told->begun == s.begun);
    BOOST_TEST(told->acquired_ == s.acquired);
    BOOST_TEST(told->joined == s.joined);
    BOOST_TEST(told->not_acquired_ == s.begun - s.acquired - s.joined);
    BOOST_TEST(told->ended == s.acquired - s.held);
}

BOOST_AUTO_TEST_SUITE_END()
