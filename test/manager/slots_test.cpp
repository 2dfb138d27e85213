// acquire_any: any one of several resources, which is a semaphore made of exclusive locks.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(acquire_any_of_slots)

namespace {

std::vector<std::string> names_of(resource_set const& s) { return {s.begin(), s.end()}; }

template <std::size_t Servers>
struct slots_on : lock_world {
    slots_on() : lock_world(Servers)
    {
        for (auto* m : {&locks, &second, &third}) {
            *m = manager();
            acquire(**m, "warm-up of " + std::to_string(m - &locks));
        }
        run_for(1ms);
        each([](auto& s) { s.requests.clear(); });
    }

    outcome any(lock_manager& by, std::size_t count = 3, acquire_options o = {})
    {
        return acquire_any(by, slots("mailer", count), o);
    }

    /// Acquires all three slots.
    std::deque<outcome> take_all(lock_manager& by)
    {
        std::deque<outcome> held;
        for (int i = 0; i < 3; ++i)
            held.push_back(any(by, 3, {.ttl = 60s}));
        return held;
    }

    static inline acquire_options const long_wait{.ttl = 60s, .wait = 10min};

    outcome start(lock_manager& by, acquire_options options = long_wait, asio::cancellation_slot slot = {})
    {
        return outcome([&](auto& o) { start_acquire_any(o, by, slots("mailer", 3), options, slot); });
    }

    /// Takes one of @p count slots for five milliseconds, again and again, while @p won returns true.
    void keep_taking_any(lock_manager& by, std::size_t count, std::function<bool()> won)
    {
        by.async_acquire_any(slots("mailer", count), long_wait, [=, this, &by](error_code ec, lock l) {
            if (ec || !won())
                return;
            at(now + 5ms, [=, this, &by, held = std::make_shared<lock>(std::move(l))] {
                held->async_release([](error_code) {});
                keep_taking_any(by, count, won);
            });
        });
    }

    /// A foreign client takes slot @p number on server @p server.
    void take(std::size_t server, std::size_t number, clock::duration life = 1h)
    {
        (*this)[server].entries["lock:mailer:" + std::to_string(number)] = {"foreign", now + life};
    }

    /// A foreign client takes slot n on server s if @p taken returns true for (s, n).
    template <class Condition>
    void take_where(Condition taken)
    {
        for (std::size_t s = 0; s < Servers; ++s)
            for (std::size_t n = 1; n <= 3; ++n)
                if (taken(s, n))
                    take(s, n);
    }

    /// Number of the keys of slots on all servers.
    std::size_t slot_keys(std::size_t count = 3)
    {
        std::size_t n = 0;
        for (auto const& name : slots("mailer", count))
            n += keys("lock:" + name);
        return n;
    }

    std::size_t asked(std::size_t server = 0) { return (*this)[server].count(kind::acquire); }

    std::unique_ptr<lock_manager> locks, second, third;
};

using three = slots_on<3>;
using five = slots_on<5>;

std::size_t done(std::deque<lock_world::outcome> const& all)
{
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](auto& o) { return o.done; }));
}

}  // namespace

BOOST_AUTO_TEST_CASE(slots_returns_names_with_numbers)
{
    BOOST_TEST(names_of(slots("mailer", 1)) == std::vector<std::string>{"mailer:1"});
    BOOST_TEST(names_of(slots("mailer", 3)) == (std::vector<std::string>{"mailer:1", "mailer:2", "mailer:3"}));
    BOOST_TEST(slots("mailer", 64).size() == 64u);
    BOOST_TEST(slots("mailer", 0).size() == 0u);
}

// Success

BOOST_FIXTURE_TEST_CASE(acquire_any_holds_the_same_slot_on_all_nodes, three)
{
    auto const one = any(*locks);
    BOOST_REQUIRE(one.held.held());
    run_for(1ms);
    BOOST_TEST(one.held.resources().size() == 1u);
    BOOST_TEST(slots("mailer", 3).names()[static_cast<std::size_t>(one.held.resource().back() - '1')]
               == one.held.resource());
    BOOST_TEST(keys("lock:" + one.held.resource()) == 3u);
    BOOST_TEST(slot_keys() == 3u);
    BOOST_TEST((*this)[0].find("lock:" + one.held.resource())->value == one.held.token());
    BOOST_TEST(one.report.rounds == 1u);
    BOOST_TEST(asked() == 1u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_all_slots_taken_is_contended, three)
{
    std::deque<outcome> held;
    for (auto* by : {locks.get(), second.get(), third.get()})
        held.push_back(any(*by, 3, {.ttl = 20s, .wait = 1s}));
    std::set<std::string> different;
    for (auto const& o : held)
        different.insert(o.held.resource());
    BOOST_TEST(different.size() == 3u);
    for (auto* by : {locks.get(), second.get(), third.get()}) {
        auto const one_more = any(*by);
        BOOST_TEST((one_more.ec == errc::contended));
        BOOST_TEST(!one_more.held.held());
    }
    BOOST_TEST(!release(held.front().held));
    BOOST_TEST(any(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_all_slots_taken_reports_the_shortest_ttl, three)
{
    std::deque<outcome> held;
    for (auto const ttl : {20s, 8s, 30s})
        held.push_back(any(*second, 3, {.ttl = ttl}));
    auto const other = any(*locks), own = any(*second);
    for (auto const* denied : {&other, &own}) {
        BOOST_TEST((denied->ec == errc::contended));
        BOOST_TEST((denied->report.remaining > 7s && denied->report.remaining < 8100ms));
        auto const* const holder = denied == &own ? "this manager holds all of them itself"
                                                  : "somebody else holds the lock";
        BOOST_TEST(denied->report.message
                   == std::string("redlock: cannot hold any of \"mailer:1\" and 2 more: ") + holder);
        BOOST_TEST(denied->report.nodes.size() == 3u);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_of_one_name_is_the_plain_lock, three)
{
    auto const one = any(*locks, 1);
    BOOST_TEST(one.held.resource() == "mailer:1");
    BOOST_TEST((*this)[0].requests.back().keys == 1u);
    BOOST_TEST((acquire(*second, "mailer:1").ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_slot_by_name_excludes_acquire_any, three)
{
    auto by_name = acquire(*second, "mailer:2");
    std::deque<outcome> held;
    for (int i = 0; i < 2; ++i)
        held.push_back(any(*locks));
    BOOST_TEST(std::none_of(held.begin(), held.end(), [](auto& o) { return o.held.resource() == "mailer:2"; }));
    BOOST_TEST((any(*third).ec == errc::contended));
    BOOST_TEST((acquire(*third, held.front().held.resource()).ec == errc::contended));
    BOOST_TEST(!release(by_name.held));
    BOOST_TEST(any(*third).held.resource() == "mailer:2");
}

BOOST_FIXTURE_TEST_CASE(acquire_any_returns_a_lock_that_extends_renews_and_releases, three)
{
    auto kept = any(*locks, 3, {.ttl = 2s, .renew = renewal::automatic}), brief = any(*locks, 3, {.ttl = 2s});
    auto const name = kept.held.resource();
    BOOST_TEST(!extend(brief.held, 10s));
    BOOST_TEST(held_after(5s, kept));
    BOOST_TEST(brief.held.held());
    BOOST_TEST(held_after(10s, kept));
    BOOST_TEST(!brief.held.held());
    (*this)[0].entries.erase("lock:" + name);
    run_for(2s);
    BOOST_TEST(keys("lock:" + name) == 3u);  // a renewal has healed it
    error_code why;
    kept.held.async_wait_lost([&](error_code ec) { why = ec; });
    each([&](auto& s) { s.entries["lock:" + name].value = "foreign"; });
    run_for(5s);
    BOOST_TEST((why == errc::lost));
    each([&](auto& s) { s.entries.erase("lock:" + name); });

    auto again = any(*locks);
    release(again, 1ms);
    BOOST_TEST(slot_keys() == 0u);
    BOOST_TEST((release(again.held) == errc::not_held));
}

// Split votes

BOOST_FIXTURE_TEST_CASE(acquire_any_releases_the_choice_of_a_minority, three)
{
    for (std::size_t odd = 0; odd < 3; ++odd) {
        take_where([&](auto s, auto n) { return (s == odd) == (n == 1); });
        // Slot 1 is free on two servers, slots 2 and 3 are free on server `odd`.
        auto one = any(*locks);
        BOOST_TEST(one.held.resource() == "mailer:1");
        run_for(1ms);
        BOOST_TEST(keys("lock:mailer:1") == 3u);
        BOOST_TEST((*this)[odd].find("lock:mailer:2") == nullptr);
        BOOST_TEST((*this)[odd].find("lock:mailer:3") == nullptr);
        BOOST_TEST(one.held.held());
        BOOST_TEST((one.report.nodes[odd].vote != vote::granted));
        release(one, 1ms);
        BOOST_TEST(keys("lock:mailer:1") == 1u);  // the foreign key
        each([](auto& s) { s.entries.clear(); });
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_a_different_slot_on_each_node_is_contended, three)
{
    take_where([](auto s, auto n) { return n != s + 1; });
    auto const none = any(*locks);
    BOOST_TEST((none.ec == errc::contended));
    run_for(1ms);
    BOOST_TEST(slot_keys() == 6u);  // only the foreign keys
    for (std::size_t s = 0; s < 3; ++s)
        BOOST_TEST((*this)[s].find("lock:mailer:" + std::to_string(s + 1)) == nullptr);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_waits_for_the_majority_after_other_first_answers, five)
{
    // Two servers answer at once and offer slot 2. Three servers answer late and offer slot 1.
    for (std::size_t s = 0; s < 5; ++s) {
        take(s, s < 2 ? 1 : 2);
        (*this)[s].reply_delay = s < 2 ? 100us : 5ms;
    }
    auto const one = any(*locks, 2);
    BOOST_TEST(one.held.resource() == "mailer:1");
    run_for(10ms);
    BOOST_TEST(keys("lock:mailer:1") == 5u);
    BOOST_TEST(keys("lock:mailer:2") == 3u);  // the foreign keys
}

BOOST_FIXTURE_TEST_CASE(acquire_any_releases_the_other_choice_of_a_late_node, three)
{
    take_where([](auto s, auto n) { return (s == 2) == (n < 3); });
    (*this)[2].reply_delay = 20ms;
    auto const one = any(*locks);
    BOOST_REQUIRE(one.held.held());
    BOOST_TEST((*this)[2].find("lock:mailer:3") != nullptr);
    run_for(50ms);
    BOOST_TEST((*this)[2].find("lock:mailer:3") == nullptr);
    BOOST_TEST(one.held.held());
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_keeps_the_equal_choice_of_a_late_node, three)
{
    (*this)[2].reply_delay = 20ms;
    auto one = any(*locks);
    run_for(50ms);
    BOOST_TEST(keys("lock:" + one.held.resource()) == 3u);
    BOOST_TEST((*this)[2].count(kind::release) == 0u);
    release(one, 50ms);
    BOOST_TEST(slot_keys() == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_releases_the_choice_of_a_lost_answer, three)
{
    for (bool const carried_out : {true, false}) {
        take_where([](auto s, auto n) { return (s == 2) == (n < 3); });
        (*this)[2].mute = true;
        (*this)[2].request_delay = carried_out ? 100us : 5ms;
        auto one = any(*locks);
        BOOST_REQUIRE(one.held.held());
        (*this)[2].mute = false;
        (*this)[2].break_connections();
        run_for(5s);
        BOOST_TEST((*this)[2].find("lock:mailer:3") == nullptr);
        BOOST_TEST(one.held.held());
        release(one, 30s);
        BOOST_TEST(locks->stats().cleaning == 0u);
        BOOST_TEST((*this)[2].find("lock:mailer:1")->value == "foreign");
        each([](auto& s) { s.entries.clear(); });
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_a_lost_answer_keeps_the_won_slot, three)
{
    (*this)[2].mute = true;
    auto one = any(*locks);
    (*this)[2].mute = false;
    (*this)[2].break_connections();
    run_for(5s);
    BOOST_TEST(keys("lock:" + one.held.resource()) == 3u);
    release(one, 30s);
    BOOST_TEST(slot_keys() == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_withdraws_unsent_requests_after_the_decision, three)
{
    (*this)[2].connecting = true;
    auto one = any(*locks);
    BOOST_TEST(one.held.held());
    (*this)[2].connecting = false;
    run_for(100ms);
    BOOST_TEST(asked(2) == 0u);
    BOOST_TEST(slot_keys() == 2u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_lost_round_is_cleaned_up_on_late_nodes, three)
{
    take_where([](auto s, auto) { return s < 2; });
    (*this)[2].reply_delay = 20ms;
    BOOST_TEST((any(*locks).ec == errc::contended));
    BOOST_TEST(slot_keys() == 7u);
    run_for(50ms);
    BOOST_TEST(slot_keys() == 6u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_lost_round_reports_the_votes, three)
{
    take_where([](auto s, auto n) { return s > 0 || n != 2; });
    auto const none = any(*locks);
    BOOST_TEST((none.ec == errc::contended));
    BOOST_TEST((none.report.nodes[0].vote == vote::granted));
    BOOST_TEST((none.report.nodes[1].vote == vote::denied));
    run_for(1ms);
    BOOST_TEST(slot_keys() == 8u);
}

// Waiting

// In some orders, a slot that is free on one node comes before the slot that is free on both nodes that answer.
BOOST_FIXTURE_TEST_CASE(acquire_any_finds_a_slot_of_the_majority_behind_one_of_a_minority, three)
{
    (*this)[2].reachable = false;
    for (std::size_t minority = 1; minority <= 3; ++minority) {
        for (std::size_t majority = 1; majority <= 3; ++majority) {
            if (minority == majority)
                continue;
            each([](auto& s) { s.entries.clear(); });
            take_where([&](auto s, auto n) { return n != majority && (s == 1 || (s == 0 && n != minority)); });
            for (auto* by : {locks.get(), second.get(), third.get()}) {
                auto one = any(*by, 3, {.ttl = 30s, .wait = 5s});
                BOOST_TEST(one.held.held());
                BOOST_TEST(one.report.rounds <= 3u);
                drop(one, 10ms);
            }
        }
    }
}

// One node has forgotten a slot, and grants it in a lost round. The release on one more node makes a majority, so the
// waiter need not wait for the third node.
BOOST_FIXTURE_TEST_CASE(acquire_any_that_waits_remembers_the_choice_of_a_node, three)
{
    auto held = take_all(*second);
    auto const name = held.back().held.resource();
    (*this)[0].entries.erase("lock:" + name);
    auto waiter = start(*locks);
    BOOST_TEST(!done_after(1s, waiter));
    BOOST_TEST(asked() < 8u);        // the waiter relies on notifications
    (*this)[2].request_delay = 10s;  // this server receives the release much later
    held.pop_back();
    BOOST_TEST(done_after(50ms, waiter));
    BOOST_TEST(waiter.held.resource() == name);
}

// A node that has granted a slot does not notify of the other slots.
BOOST_FIXTURE_TEST_CASE(acquire_any_asks_again_if_too_few_nodes_notify, three)
{
    auto held = take_all(*second);
    (*this)[0].entries.erase("lock:" + held.back().held.resource());
    (*this)[2].reachable = false;
    auto waiter = start(*locks);
    BOOST_TEST(!done_after(1s, waiter));
    auto const name = held.front().held.resource();
    held.pop_front();
    BOOST_TEST(done_after(2s, waiter));
    BOOST_TEST(waiter.held.resource() == name);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_that_waits_gets_the_first_slot_released_elsewhere, three)
{
    for (std::size_t which = 0; which < 3; ++which) {
        auto held = take_all(*second);
        auto waiter = start(*locks);
        run_for(100ms);
        auto const before = asked();
        run_for(20s);
        BOOST_TEST(asked() == before);  // the waiter relies on notifications, and sends nothing
        auto const name = held[which].held.resource();
        auto const released = now;
        BOOST_TEST(!release(held[which].held));
        end_of(waiter);
        BOOST_TEST(waiter.held.resource() == name);
        BOOST_TEST((waiter.when - released < 5ms));
        waiter.held = {};
        held.clear();
        run_for(10ms);
        BOOST_TEST(slot_keys() == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_in_the_manager_of_all_slots_follows_in_one_round_trip, three)
{
    auto held = take_all(*locks);
    auto const before = asked();
    auto waiter = start(*locks);
    run_for(1s);
    BOOST_TEST(asked() == before);  // the manager holds all slots itself, so it asks no node
    auto const name = held[1].held.resource();
    auto const released = now;
    held[1].held = {};
    end_of(waiter);
    BOOST_TEST(waiter.held.resource() == name);
    BOOST_TEST((waiter.when - released <= 200us));
    BOOST_TEST(asked() == before + 1);
    BOOST_TEST((*this)[0].requests.back().keys == 1u);  // it asks only for the slot that was released
}

BOOST_FIXTURE_TEST_CASE(acquire_any_gets_a_slot_released_by_its_own_manager_at_once, three)
{
    auto own = any(*locks, 3, {.ttl = 60s});
    auto other = any(*second, 3, {.ttl = 60s}), another = any(*second, 3, {.ttl = 60s});
    auto waiter = start(*locks);
    run_for(1s);
    auto const name = own.held.resource();
    auto const released = now;
    own.held = {};
    end_of(waiter);
    BOOST_TEST(waiter.held.resource() == name);
    BOOST_TEST((waiter.when - released <= 200us));
}

// Otherwise the holders of the other slots would yield to a waiter that no longer exists.
BOOST_FIXTURE_TEST_CASE(acquire_any_ends_its_wishes_when_it_gets_a_slot, three)
{
    auto own = any(*locks, 3, {.ttl = 60s});
    auto other = any(*second, 3, {.ttl = 60s}), another = any(*second, 3, {.ttl = 60s});
    auto const wishes = [&] {
        std::size_t n = 0;
        for (auto const& name : slots("mailer", 3))
            n += (*this)[0].wanted["lock:" + name].first.size();
        return n;
    };
    auto one = start(*locks);
    auto two = start(*locks);
    run_for(1s);
    BOOST_TEST(wishes() == 2u);
    own.held = {};
    end_of(one);
    run_for(1s);
    BOOST_TEST(wishes() == 2u);  // the other waiter still waits
    another.held = {};
    end_of(two);
    run_for(1s);
    BOOST_TEST(wishes() == 0u);
    auto third_one = start(*locks);
    run_for(1s);
    BOOST_TEST(wishes() == 1u);
    drop(one, 1s);
    BOOST_TEST(third_one.held.held());
    BOOST_TEST(wishes() == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_gets_the_slot_of_a_crashed_holder_after_its_ttl, three)
{
    for (std::size_t s = 0; s < 3; ++s) {
        take(s, 1);
        take(s, 2, 3s);
        take(s, 3, 5s);
    }
    auto const begun = now;
    auto waiter = start(*locks);
    end_of(waiter);
    BOOST_TEST(waiter.held.resource() == "mailer:2");
    BOOST_TEST((waiter.when - begun < 3100ms));
}

BOOST_FIXTURE_TEST_CASE(acquire_any_sends_nothing_if_slots_are_free_on_different_nodes, three)
{
    for (std::size_t s = 0; s < 3; ++s)
        for (std::size_t n = 1; n <= 3; ++n)
            take(s, n, n == s + 1 ? 2s : 30s);
    auto waiter = start(*locks);
    run_for(1s);
    auto const before = asked();
    run_for(25s);
    BOOST_TEST(asked() == before);
    BOOST_TEST(held_after(10s, waiter));
}

BOOST_FIXTURE_TEST_CASE(acquire_any_by_twenty_waiters_lets_one_ask_and_serves_in_order, three)
{
    auto held = take_all(*second);
    auto const before = asked();
    std::deque<outcome> waiters(20);
    for (auto& o : waiters)
        start_acquire_any(o, *locks, slots("mailer", 3), {.ttl = 60s, .wait = 10min});
    run_for(1s);
    BOOST_TEST(asked() <= before + 3);
    for (auto& o : held)
        o.held = {};
    for (std::size_t i = 0; i < waiters.size(); ++i) {
        BOOST_TEST_REQUIRE(run_to([&] { return waiters[i].done; }));
        BOOST_TEST(waiters[i].held.held());
        if (i >= 2)
            waiters[i - 2].held = {};  // the waiters are served in the order of their calls
    }
    BOOST_TEST(done(waiters) == 20u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_behind_another_times_out_with_the_report_of_the_first, three)
{
    auto held = take_all(*second);
    auto const begun = now;
    auto first = start(*locks, {.ttl = 10s, .wait = 10s});
    auto behind = start(*locks, {.ttl = 10s, .wait = 2s, .explain = true});
    run_for(30s);
    BOOST_TEST((first.ec == errc::contended));
    BOOST_TEST((first.when - begun >= 10s && first.when - begun < 11s));
    BOOST_TEST((behind.ec == errc::contended));
    BOOST_TEST((behind.when - begun >= 2s && behind.when - begun < 3s));
    BOOST_TEST(behind.report.nodes.size() == 3u);
    BOOST_TEST((behind.report.remaining > 50s));
}

// A released slot is handed to the waiter that still needs one, not to one that gets another slot at the same moment.
BOOST_FIXTURE_TEST_CASE(acquire_any_hands_a_release_to_the_waiter_that_still_needs_it, three)
{
    for (auto moment = 200us; moment < 800us; moment += 20us) {
        auto held = take_all(*second);
        auto one = start(*locks);
        auto two = start(*locks);
        run_for(10ms);
        held.pop_front();
        run_to([&] { return one.done; });  // then the second waiter is the next
        auto other = start(*third);
        run_for(20ms);
        held.pop_front();
        run_for(moment);  // the waiters are notified, and ask
        drop(one, 50ms);
        BOOST_TEST(two.done);
        BOOST_TEST(other.done);
        held.clear();
        two.held = {}, other.held = {};
        run_for(2s);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_by_three_managers_is_fair, three)
{
    std::map<lock_manager*, int> won;
    for (int i = 0; i < 6; ++i)
        for (auto* by : {locks.get(), second.get(), third.get()})
            keep_taking_any(*by, 3, [&, by] { return ++won[by] > 0; });
    run_for(20s);
    auto const all = won[locks.get()] + won[second.get()] + won[third.get()];
    auto const rounds = locks->stats().rounds + second->stats().rounds + third->stats().rounds;
    BOOST_TEST(all > 9'000);  // 12,000 are possible if the next holder follows at once
    BOOST_TEST(rounds < 3u * static_cast<unsigned>(all));
    for (auto& [by, n] : won)
        BOOST_TEST(n > all / 6);
}

// A slot is held for 5 ms, and a round trip takes 0.2 ms.
BOOST_FIXTURE_TEST_CASE(acquire_any_with_many_waiters_keeps_the_slots_busy, five)
{
    std::size_t won = 0;
    for (int i = 0; i < 32; ++i)
        keep_taking_any(*locks, 8, [&] { return ++won > 0; });
    run_for(10s);
    BOOST_TEST(won > 15'000u);                               // 16,000 are possible
    BOOST_TEST((*this)[0].requests.size() < 2 * won + 100);  // two requests for each lock, as without contention
}

BOOST_FIXTURE_TEST_CASE(acquire_of_all_slots_is_not_starved_by_acquire_any, three)
{
    bool go_on = true;
    for (int i = 0; i < 4; ++i)
        for (auto* by : {locks.get(), second.get()})
            keep_taking_any(*by, 3, [&] { return go_on; });
    for (auto* by : {locks.get(), third.get()}) {
        run_for(1s);
        auto alone = acquire(*by, slots("mailer", 3), {.ttl = 30s, .wait = 20s});
        BOOST_TEST(alone.held.held());
        BOOST_TEST((alone.report.elapsed < 5s));
        BOOST_TEST((any(*second).ec == errc::contended));
        BOOST_TEST(!release(alone.held));
    }
    go_on = false;
    run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_does_not_pass_a_waiter_for_one_slot_by_name, three)
{
    auto held = acquire(*second, "mailer:2", {.ttl = 60s});
    auto by_name = lock_world::start(*locks, "mailer:2", {.ttl = 60s, .wait = 10min});
    run_for(1s);
    auto one = start(*locks), two = start(*locks);
    BOOST_TEST(held_after(1s, one));
    BOOST_TEST(two.held.held());
    auto const before = asked();
    auto three = start(*locks);
    BOOST_TEST(!done_after(1s, three));
    BOOST_TEST(asked() == before);
    drop(held, 1s);
    BOOST_TEST(by_name.held.held());
    BOOST_TEST(!three.done);
    drop(by_name, 1s);
    BOOST_TEST(three.held.resource() == "mailer:2");
}

// The order

BOOST_FIXTURE_TEST_CASE(acquire_any_prefers_the_previous_slot_of_its_manager, three)
{
    auto one = any(*locks, 8);
    auto const first = one.held.resource();
    one.held = {};
    auto in_the_way = acquire(*second, first);
    one = any(*locks, 8);
    auto const mine = one.held.resource();
    BOOST_TEST(mine != first);
    in_the_way.held = {};
    auto other = any(*second, 8);
    auto const theirs = other.held.resource();
    for (int i = 0; i < 10; ++i) {
        one.held = {}, other.held = {};
        one = any(*locks, 8), other = any(*second, 8);
        BOOST_TEST(one.held.resource() == mine);
        BOOST_TEST(other.held.resource() == theirs);
    }
}

BOOST_AUTO_TEST_CASE(acquire_any_by_new_managers_begins_at_different_slots)
{
    lock_world w(1);
    std::set<std::string> begun;
    for (int i = 0; i < 20; ++i) {
        auto const m = w.manager();
        begun.insert(w.acquire_any(*m, slots("mailer", 64)).held.resource());
    }
    BOOST_TEST(begun.size() > 8u);
}

// Cancellation and shutdown

BOOST_FIXTURE_TEST_CASE(acquire_any_cancelled_at_any_moment_leaves_no_keys, three)
{
    for (auto const type :
         {asio::cancellation_type::terminal, asio::cancellation_type::partial, asio::cancellation_type::total}) {
        for (auto const after : {0us, 50us, 150us, 250us, 350us, 450us, 5000us}) {
            auto held = take_all(*second);
            asio::cancellation_signal first, behind;
            auto one = start(*locks, {.ttl = 60s, .wait = 1min}, first.slot());
            auto two = start(*locks, {.ttl = 60s, .wait = 1min}, behind.slot());
            run_for(5ms);
            held.front().held = {};  // the first waiter asks the nodes
            run_for(after);
            bool const won = one.done;
            first.emit(type);
            behind.emit(type);
            run_for(100ms);
            BOOST_TEST_REQUIRE(one.done);
            BOOST_TEST_REQUIRE(two.done);
            BOOST_TEST((one.held.held() || one.ec == asio::error::operation_aborted));
            BOOST_TEST(one.held.held() >= won);
            BOOST_TEST((two.ec == asio::error::operation_aborted || two.held.held()));
            one.held = {}, two.held = {};
            held.clear();
            run_for(100ms);
            BOOST_TEST(slot_keys() == 0u);
            BOOST_TEST(locks->stats().waiting == 0u);
            BOOST_TEST(locks->stats().cleaning == 0u);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(shutdown_aborts_acquire_any_and_releases_all_slots, three)
{
    auto held = take_all(*locks);
    (*this)[2].reply_delay = 20ms;
    auto waiter = start(*locks);
    run_for(1s);
    auto stopped = start_shutdown(*locks);
    run_for(1s);
    BOOST_TEST((waiter.ec == asio::error::operation_aborted));
    BOOST_TEST(!stopped.ec.has_value());
    held.clear();
    BOOST_TEST(!stopped.end());
    BOOST_TEST(slot_keys() == 0u);
}

// The late node has chosen another slot. The manager releases it before the shutdown completes.
BOOST_FIXTURE_TEST_CASE(shutdown_waits_until_a_late_choice_is_released, three)
{
    take_where([](auto s, auto n) { return (s == 2) == (n < 3); });
    (*this)[2].reply_delay = 30ms;
    auto one = any(*locks);
    BOOST_REQUIRE(one.held.held());
    one.held = {};
    BOOST_TEST(!shutdown(*locks));
    BOOST_TEST((*this)[2].find("lock:mailer:3") == nullptr);
}

// Refusals

BOOST_FIXTURE_TEST_CASE(acquire_any_with_bad_count_or_mode_is_refused, three)
{
    auto const none = any(*locks, 0), many = any(*locks, 65), shared = any(*locks, 3, {.mode = mode::shared}),
               one = any(*locks, 1, {.mode = mode::shared});
    for (auto const* o : {&none, &many, &shared, &one})
        BOOST_TEST((o->ec == errc::invalid_argument));
    BOOST_TEST(none.report.message
               == "redlock: cannot hold \"\": 0 resources are named, but 1 to 64 can be chosen from");
    BOOST_TEST(many.report.message
               == "redlock: cannot hold any of \"mailer:1\" and 64 more: 65 resources are named, but 1 to 64 can be "
                  "chosen from");
    BOOST_TEST(shared.report.message
               == "redlock: cannot hold any of \"mailer:1\" and 2 more: mode is shared, but any one of several "
                  "resources is locked exclusively; to share one, acquire it by its name");
    BOOST_TEST((*this)[0].requests.empty());
    BOOST_TEST(any(*locks, 64).held.held());
}

BOOST_AUTO_TEST_CASE(acquire_any_with_a_node_that_cannot_choose_returns_unsupported)
{
    lock_world w(3);
    w[1].locks_any = false;
    auto const locks = w.manager();
    auto const refused = w.acquire_any(*locks, slots("mailer", 3));
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(
        refused.report.message
        == "redlock: cannot hold any of \"mailer:1\" and 2 more: server-1 cannot lock any one of several resources");
    BOOST_TEST(w.acquire_any(*locks, "mailer:1").held.held());
    BOOST_TEST(w.acquire(*locks, {"a", "b"}).held.held());
    BOOST_TEST(w[0].count(kind::acquire) == 2u);
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_an_unexpected_choice_releases_all_slots, three)
{
    (*this)[0].names_beyond = (*this)[1].names_beyond = 3;
    auto const refused = any(*locks);
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::unexpected_reply));
    run_for(10ms);
    BOOST_TEST(slot_keys() == 0u);
    (*this)[0].names_beyond = 0;
    auto const one = any(*locks);
    BOOST_TEST(one.held.held());
    run_for(10ms);
    BOOST_TEST(slot_keys() >= 2u);
    BOOST_TEST(slot_keys() == keys("lock:" + one.held.resource()));
}

BOOST_FIXTURE_TEST_CASE(acquire_any_does_not_count_restarted_nodes, three)
{
    (*this)[0].restart(), (*this)[1].restart();
    auto const refused = any(*locks);
    BOOST_TEST((refused.ec == errc::quarantined || refused.ec == errc::no_quorum));
    run_for(1ms);
    BOOST_TEST(slot_keys() == 0u);
}

// Tokens

BOOST_AUTO_TEST_CASE(fencing_token_of_a_slot_grows_with_each_acquire_any)
{
    lock_world w(3);
    w.wall_clock = 1'000'000;
    auto const one = w.manager({.fencing = true}), two = w.manager({.fencing = true});
    std::map<std::string, std::uint64_t> highest;
    std::deque<lock_world::outcome> held;
    for (int i = 0; i < 30; ++i) {
        auto o = w.acquire_any(i % 2 == 0 ? *one : *two, slots("mailer", 3));
        BOOST_REQUIRE(o.held.held());
        auto& before = highest[o.held.resource()];
        BOOST_TEST(o.held.fencing_token() > before);
        before = o.held.fencing_token();
        held.push_back(std::move(o));
        if (held.size() == 2)
            held.pop_front();
        w.run_for(10ms);
    }
    // If a counter is ahead of all clocks, a second round draws the token.
    w.each([](auto& s) {
        for (auto const& name : slots("mailer", 3))
            s.counters["lock:" + name] = 50'000'000;
    });
    auto const o = w.acquire_any(*one, slots("mailer", 3));
    BOOST_TEST(o.held.fencing_token() == 50'000'001u);
    BOOST_TEST(o.report.second_rounds == 1u);
}

BOOST_AUTO_TEST_CASE(fencing_token_of_acquire_any_raises_only_the_chosen_counter)
{
    lock_world w(3);
    w.wall_clock = 1'000'000;
    auto const locks = w.manager({.fencing = true});
    auto const o = w.acquire_any(*locks, slots("mailer", 3));
    w.run_for(1ms);
    BOOST_REQUIRE(o.held.held());
    for (auto const& name : slots("mailer", 3))
        BOOST_TEST((w[0].counters["lock:" + name] != 0) == (name == o.held.resource()));
}

namespace {

asio::awaitable<std::size_t> acquire_in_every_form(lock_manager& locks)
{
    std::size_t held = 0;
    auto const count = [&](lock l) { held += l.held() && l.resources().size() == 1; };
    count(co_await locks.async_acquire_any(slots("mailer", 3)));
    count(co_await locks.async_acquire_any(slots("mailer", 3), {.ttl = 10s, .wait = 5s}));
    count(co_await locks.async_acquire_any(slots("mailer", 3), asio::use_awaitable));
    count(co_await locks.async_acquire_any({"tea", "coffee"}, {.ttl = 10s}, asio::use_awaitable));
    auto const body = [&](lock& l) -> asio::awaitable<std::string> { co_return l.resource(); };
    held += (co_await locks.with_any_lock(slots("mailer", 3), {.ttl = 10s}, body)).starts_with("mailer:");
    held += (co_await locks.with_any_lock({"tea", "coffee"}, body)).size() > 2;
    co_return held;
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_any_from_a_coroutine_accepts_each_form_of_names)
{
    asio::io_context context;
    lock_manager locks(context, {.nodes = {"memory://any-1", "memory://any-2", "memory://any-3"}});
    std::size_t held = 0;
    asio::co_spawn(context, acquire_in_every_form(locks), [&](std::exception_ptr failure, std::size_t n) {
        BOOST_TEST(!failure);
        held = n;
        locks.async_shutdown([](error_code) {});
    });
    context.run();
    BOOST_TEST(held == 6u);
}

// Bodies

BOOST_FIXTURE_TEST_CASE(with_any_lock_throws_lost_with_the_name_of_the_slot, three)
{
    std::string which;
    std::exception_ptr failure;
    auto const body = [&](lock& l) -> asio::awaitable<void> {
        which = l.resource();
        co_await uncancellable_work(*this, 30s);
    };
    asio::co_spawn(context, locks->with_any_lock(slots("mailer", 3), {.ttl = 2s, .renew = renewal::none}, body),
                   [&](std::exception_ptr e) { failure = e; });
    run_for(1s);
    BOOST_TEST(keys("lock:" + which) == 3u);
    run_for(1min);
    BOOST_TEST((code_of(failure) == errc::lost));
    try {
        std::rethrow_exception(failure);
    } catch (lock_error const& e) {
        BOOST_TEST(std::string(e.what()).find("under it, \"" + which + "\": ") != std::string::npos);
    }
}

BOOST_FIXTURE_TEST_CASE(with_any_lock_runs_at_most_one_body_for_each_slot, three)
{
    int inside = 0, most = 0, ended = 0;
    auto const body = [&](lock&) -> asio::awaitable<void> {
        most = std::max(most, ++inside);
        co_await uncancellable_work(*this, 10ms);
        --inside;
        ++ended;
    };
    for (int i = 0; i < 10; ++i)
        for (auto* by : {locks.get(), second.get(), third.get()})
            asio::co_spawn(context, by->with_any_lock(slots("mailer", 4), {.ttl = 10s, .wait = 10min}, body),
                           asio::detached);
    run_for(10s);
    BOOST_TEST(ended == 30);
    BOOST_TEST(most == 4);
}

BOOST_AUTO_TEST_SUITE_END()
