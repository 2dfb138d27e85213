// `detach` leaves a lock on the servers. Another process resumes or releases it with its ticket.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

namespace {

lock_world::outcome resume(lock_world& w, lock_manager& by, lock_ticket const& ticket, acquire_options options = {})
{
    return w.outcome_of(options, [&](auto& o, auto how) { by.async_resume(ticket, how, w.into(o)); });
}

error_code release(lock_world& w, lock_manager& by, lock_ticket const& ticket)
{
    return lock_world::call(w, {}, [&](auto done) { by.async_release(ticket, std::move(done)); }).end();
}

lock_ticket ticket_of(lock const& l, mode how) { return {.resources = "stock", .token = l.token(), .mode = how}; }

/// One manager detaches a lock, and another one may resume it.
template <std::size_t Servers>
struct detached_lock : and_another<manager_of<Servers>> {
    lock_ticket leave(acquire_options options = {}, resource_set names = "stock")
    {
        auto won = this->w.acquire(*this->locks, std::move(names), options);
        BOOST_REQUIRE(won.held.held());
        this->w.run_for(1ms);
        return won.held.detach();
    }

    /// Requests about "stock" on all servers.
    std::size_t requests(kind what)
    {
        std::size_t all = 0;
        this->w.each([&](auto& s) {
            all += static_cast<std::size_t>(std::count_if(s.requests.begin(), s.requests.end(), [&](auto& r) {
                return r.what == what && r.key == "lock:stock";
            }));
        });
        return all;
    }
};

error_code refusal_of(lock& l)
{
    error_code ec;
    BOOST_TEST((l.detach(ec) == lock_ticket()));
    BOOST_CHECK_EXCEPTION(l.detach(), system_error, [&](auto& e) { return e.code() == ec; });
    return ec;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(lock_detach)

BOOST_FIXTURE_TEST_CASE(detach_keeps_the_keys_until_the_ttl_ends, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    won.held.detach();

    BOOST_TEST(!won.held.held());
    BOOST_TEST(!won.held.empty());
    won.held = {};
    BOOST_TEST(w.keys_after(2900ms) == 3u);
    BOOST_TEST(w.keys_after(200ms) == 0u);
    BOOST_TEST(requests(kind::extend) == 0u);
    BOOST_TEST(requests(kind::release) == 0u);
    auto const stats = locks->stats();
    BOOST_TEST(stats.held == 0u);
    BOOST_TEST(stats.detached == 1u);
    BOOST_TEST(stats.released == 0u);
}

// A process does not answer for a while. Another one takes its lock over with the ticket, which its client has.
BOOST_AUTO_TEST_CASE(acquire_that_may_be_resumed_leaves_the_keys_after_a_loss)
{
    for (bool const may_be_resumed : {true, false}) {
        for (auto const* const way : {"it is lost", "it is given back late", "it is lost and released"}) {
            detached_lock<3> f;
            auto won = f.w.acquire(*f.locks, "stock", {.ttl = 1s, .may_be_resumed = may_be_resumed});
            lock_ticket const ticket{.resources = "stock", .token = won.held.token()};
            auto moved = resume(f.w, *f.other, ticket, {.ttl = 60s});
            BOOST_TEST(!moved.ec);
            if (way == std::string("it is given back late"))
                f.w.now += 2s;  // the process stood still, and gives back the handle first
            else
                f.w.run_for(2s);
            if (way == std::string("it is lost and released"))
                BOOST_TEST((f.w.release(won.held) == errc::not_held));
            won.held = {};
            BOOST_TEST(f.w.keys_after(10s) == (may_be_resumed ? 3u : 0u));
            BOOST_TEST(moved.held.held());
            BOOST_TEST(f.w.release(moved.held).failed() == !may_be_resumed);
            BOOST_TEST(f.w.keys_after(100ms) == 0u);
        }
    }
}

// If the keys are gone on a majority, another process has released the lock.
BOOST_AUTO_TEST_CASE(renewal_of_a_lock_that_may_be_resumed_heals_only_if_confirmed)
{
    for (auto const mode : {mode::exclusive, mode::shared}) {
        detached_lock<3> f;
        auto won = f.w.acquire(*f.locks, "stock",
                               {.ttl = 3s, .renew = renewal::automatic, .mode = mode, .may_be_resumed = true});
        f.w[0].entries.erase("lock:stock");
        BOOST_TEST(f.w.keys_after(2s) == 3u);
        BOOST_TEST(won.held.held());
        for (std::size_t i = 0; i < 3; ++i)
            f.w[i].entries.erase("lock:stock");
        BOOST_TEST(f.w.keys_after(10s) == 0u);
        BOOST_TEST(!won.held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(detach_returns_a_ticket_with_names_token_and_mode, detached_lock<3>)
{
    locks = w.manager({.fencing = true});
    auto won = w.acquire(*locks, {"stock", "order"}, {});
    auto const fencing_token = won.held.fencing_token();

    auto const ticket = won.held.detach();

    BOOST_TEST((ticket.resources == resource_set{"order", "stock"}));
    BOOST_TEST(ticket.token == won.held.token());
    BOOST_TEST((ticket.mode == mode::exclusive));
    BOOST_TEST(ticket.fencing_token == fencing_token);
    BOOST_TEST(fencing_token != 0u);
    auto const reader = w.acquire(*locks, "list", {.mode = mode::shared}).held.detach();
    BOOST_TEST((reader.mode == mode::shared));
    // A ticket can be stored as text, and built again from its members.
    auto const names = ticket.resources.names();
    lock_ticket const again{.resources = std::vector<std::string>(names.begin(), names.end()),
                            .token = ticket.token,
                            .fencing_token = fencing_token};
    BOOST_TEST((again == ticket));
}

BOOST_AUTO_TEST_CASE(detach_keeps_the_keys_after_the_end_of_the_manager)
{
    for (bool const destroyed : {false, true}) {
        detached_lock<3> f;
        auto won = f.w.acquire(*f.locks, "stock", {.ttl = 5s});
        auto const ticket = won.held.detach();

        auto const begun = f.w.now;
        if (destroyed)
            f.locks.reset();
        else
            BOOST_TEST(!f.w.shutdown(*f.locks));
        BOOST_TEST((f.w.now - begun < 10ms));  // the manager has nothing to wait for
        won.held = {};
        BOOST_TEST(f.w.keys_after(4s) == 3u);
        BOOST_TEST(resume(f.w, *f.other, ticket).held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(detach_of_a_lock_that_is_not_held_is_refused, detached_lock<3>)
{
    lock empty;
    BOOST_TEST((refusal_of(empty) == errc::not_held));

    auto released = w.acquire(*locks, "a");
    w.release(released.held);
    BOOST_TEST((refusal_of(released.held) == errc::not_held));

    auto detached = w.acquire(*locks, "b");
    detached.held.detach();
    BOOST_TEST((refusal_of(detached.held) == errc::not_held));

    auto lost = w.acquire(*locks, "c", {.ttl = 1s});
    BOOST_TEST(w.keys_after(960ms, "lock:c") == 3u);
    BOOST_TEST((refusal_of(lost.held) == errc::lost));
    lost.held = {};
    BOOST_TEST(w.keys_after(1ms, "lock:c") == 0u);  // the destructor still deletes the keys of a lost lock
}

BOOST_FIXTURE_TEST_CASE(detach_of_a_shared_handle_is_refused, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock");
    auto more = won.held.share();

    BOOST_TEST((refusal_of(won.held) == errc::contended));
    BOOST_TEST(won.held.held());
    more = {};
    BOOST_TEST((won.held.detach().resources == resource_set("stock")));
    BOOST_TEST(w.keys_after(1s) == 3u);
}

BOOST_FIXTURE_TEST_CASE(detach_of_a_reader_prevents_joins, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock", {.mode = mode::shared});
    won.held.detach();

    BOOST_TEST(won.held.share().empty());
    auto const next = w.acquire(*locks, "stock", {.mode = mode::shared});
    BOOST_TEST(next.held.held());
    BOOST_TEST(next.held.token() != won.held.token());
}

BOOST_FIXTURE_TEST_CASE(detach_of_an_upgradeable_or_upgraded_lock_is_refused, detached_lock<3>)
{
    auto may_be = w.acquire(*locks, "a", {.mode = mode::upgradeable});
    BOOST_TEST((refusal_of(may_be.held) == errc::invalid_argument));
    BOOST_TEST(may_be.held.held());

    auto was = w.acquire(*locks, "b", {.mode = mode::shared});
    BOOST_TEST(!w.upgrade(was.held));
    BOOST_TEST((refusal_of(was.held) == errc::invalid_argument));
    BOOST_TEST(!w.downgrade(was.held));
    BOOST_TEST((refusal_of(was.held) == errc::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(detach_of_a_scope_handle_with_parts_is_refused, detached_lock<3>)
{
    lock_scope const scope(*locks);
    auto const acquire = [&](resource_set names) {
        return w.outcome_of({}, [&](auto& o, auto how) { scope.async_acquire(names, how, w.into(o)); });
    };
    auto a = acquire("a"), b = acquire("b"), both = acquire({"a", "b"});
    BOOST_TEST((refusal_of(both.held) == errc::invalid_argument));
    both.held = {};

    BOOST_TEST((a.held.detach().resources == resource_set("a")));

    BOOST_TEST((acquire("a").ec == errc::contended));  // the scope does not hold it any more
    BOOST_TEST(b.held.held());
}

BOOST_AUTO_TEST_CASE(detach_of_a_session_lock_returns_unsupported)
{
    lock_world w(3);
    w[1].limits = {.ends_with_session = true};
    auto const locks = w.manager();
    auto won = w.acquire(*locks, "stock");

    BOOST_TEST((refusal_of(won.held) == errc::unsupported));

    BOOST_TEST(won.held.held());
    lock_ticket const ticket{.resources = "stock", .token = won.held.token()};
    auto const resumed = resume(w, *locks, ticket);
    BOOST_TEST((resumed.ec == errc::unsupported));
    BOOST_TEST(resumed.report.message
               == "redlock: cannot resume \"stock\": server-1 ends its locks with its session, so no other "
                  "process can resume them");
    BOOST_TEST((release(w, *locks, ticket) == errc::unsupported));
    BOOST_TEST(w[0].count(kind::extend) + w[0].count(kind::release) == 0u);
}

BOOST_FIXTURE_TEST_CASE(detach_aborts_wait_lost_and_ends_an_extension_with_not_held, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s});
    auto const valid_until = won.held.valid_until();
    auto waited = w.start_wait_lost(won.held), extended = w.start_extend(won.held, 10s);
    w.run_for(150us);

    won.held.detach();
    w.run_for(1ms);

    BOOST_TEST((waited.ec == asio::error::operation_aborted));
    BOOST_TEST((extended.ec == errc::not_held));
    BOOST_TEST((w.extend(won.held, 10s) == errc::not_held));
    BOOST_TEST((w.release(won.held) == errc::not_held));
    BOOST_TEST((won.held.valid_until() == valid_until));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

// The reply to a pending renewal has no effect after the detach.
BOOST_AUTO_TEST_CASE(detach_during_a_renewal_keeps_the_keys_and_ignores_the_reply)
{
    for (auto const after : {950ms, 980ms, 1000ms, 1010ms, 1020ms}) {
        detached_lock<3> f;
        auto& w = f.w;
        w.each([](auto& s) { s.request_delay = s.reply_delay = 10ms; });
        auto won = w.acquire(*f.locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
        auto const valid_until = won.held.valid_until();
        w.run_for(after);
        auto const renewals = f.locks->stats().renewals;

        auto const ticket = won.held.detach();
        w.run_for(1s);

        BOOST_TEST(!won.held.held());
        if (renewals == 0)
            BOOST_TEST((won.held.valid_until() == valid_until));
        BOOST_TEST(f.locks->stats().renewals == renewals);
        BOOST_TEST(w.keys("lock:stock") == 3u);
        BOOST_TEST(f.requests(kind::release) == 0u);
        BOOST_TEST(f.requests(kind::extend) <= 3u);
        BOOST_TEST(resume(w, *f.other, ticket).held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(detach_withdraws_unsent_requests, detached_lock<3>)
{
    w[2].connecting = true;
    auto won = w.acquire(*locks, "stock");
    won.held.detach();
    w.run_for(5ms);
    w[2].connecting = false;
    BOOST_TEST(w.keys_after(100ms) == 2u);
    BOOST_TEST(w[2].count(kind::acquire) == 0u);
}

BOOST_FIXTURE_TEST_CASE(detach_keeps_a_waiter_of_the_same_manager_waiting, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    auto next = w.start(*locks, "stock", {.wait = 1min});
    w.run_for(100ms);

    auto const ticket = won.held.detach();
    BOOST_TEST(!w.done_after(1s, next));
    auto resumed = resume(w, *other, ticket);
    BOOST_TEST(!w.done_after(1s, next));
    w.release(resumed, 50ms);
    BOOST_TEST(next.held.held());
}

BOOST_AUTO_TEST_CASE(detach_after_the_end_of_the_context_returns_not_held)
{
    lock survivor;
    {
        lock_world w(3);
        auto const locks = w.manager();
        survivor = std::move(w.acquire(*locks, "stock").held);
    }
    BOOST_TEST((refusal_of(survivor) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(detach_right_before_the_end_of_the_context_is_harmless, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock");
    won.held.detach();
    locks.reset();
    other.reset();
}

// One thread detaches a handle while another one destroys its copy. The copy either prevents the detach, or is gone.
BOOST_AUTO_TEST_CASE(detach_and_destroy_on_two_threads_agree, *boost::unit_test::label("threads"))
{
    asio::io_context context;
    auto const busy = asio::make_work_guard(context);
    lock_manager locks(context, {.nodes = {"memory://tickets-threads"}});
    std::thread loop([&] { context.run(); });
    std::size_t detached = 0;
    for (int i = 0; i < 300; ++i) {
        auto held = locks.async_acquire("of " + std::to_string(i), {.ttl = 1min}, asio::use_future).get();
        auto more = held.share();
        std::atomic<int> ready{0};
        auto const together = [&ready] {
            ++ready;
            while (ready < 2) {
            }
        };
        std::thread other([&] {
            together();
            more = {};
        });
        error_code ec;
        together();
        auto const ticket = held.detach(ec);
        other.join();
        detached += !ec;
        BOOST_TEST((!ec || ec == errc::contended));
        BOOST_TEST(held.held() == ec.failed());
        BOOST_TEST(ticket.token.empty() == ec.failed());
        held = {};
    }
    locks.async_shutdown(asio::use_future).get();
    BOOST_TEST(locks.stats().detached == detached);
    BOOST_TEST(memory_server::at("tickets-threads")->size() == detached);
    context.stop();
    loop.join();
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lock_resume)

BOOST_FIXTURE_TEST_CASE(resume_by_another_manager_holds_the_lock, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 10s});
    w.run_for(8s);

    auto resumed = resume(w, *other, ticket, {.ttl = 20s});

    BOOST_TEST(!resumed.ec);
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(resumed.held.token() == ticket.token);
    BOOST_TEST(resumed.held.resource() == "stock");
    BOOST_TEST(resumed.report.rounds == 1u);
    BOOST_TEST(resumed.report.nodes.size() == 3u);
    BOOST_TEST((resumed.report.nodes[0].round_trip == 200us));
    BOOST_TEST(resumed.report.message == "resumed");
    BOOST_TEST(other->stats().acquired == 1u);
    w.run_for(15s);
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    BOOST_TEST(!w.release(resumed.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

// Rule 1 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(resume_validity_counts_from_before_the_first_byte, detached_lock<3>)
{
    auto const ticket = leave();
    w.acquire(*other, "warm-up");
    w.each([](auto& s) { s.request_delay = s.reply_delay = 20ms; });
    auto const begun = w.now;
    BOOST_TEST((resume(w, *other, ticket, {.ttl = 5s}).held.valid_until() == begun + 5s - 52ms));
}

BOOST_FIXTURE_TEST_CASE(resume_with_renew_renews_and_heals, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 2s});
    auto resumed = resume(w, *other, ticket, {.ttl = 2s, .renew = renewal::automatic});
    w[1].entries.clear();

    w.run_for(10s);

    BOOST_TEST(resumed.held.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(!w.release(resumed.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_with_max_hold_loses_the_lock_in_time, detached_lock<3>)
{
    auto resumed = resume(w, *other, leave(), {.ttl = 2s, .renew = renewal::automatic, .max_hold = 5s});
    auto const begun = w.now;
    auto told = w.start_wait_lost(resumed.held);
    w.run_until(begun + 4s);
    BOOST_TEST(resumed.held.held());
    w.run_until(begun + 5s);
    BOOST_TEST(!resumed.held.held());
    BOOST_TEST((told.ec == errc::lost));
}

BOOST_FIXTURE_TEST_CASE(resume_returns_the_fencing_token_of_the_ticket, detached_lock<3>)
{
    locks = w.manager({.fencing = true});
    other = w.manager({.fencing = true});
    auto const ticket = leave();
    auto const raises = requests(kind::raise);

    auto resumed = resume(w, *other, ticket);

    BOOST_TEST(resumed.held.fencing_token() == ticket.fencing_token);
    BOOST_TEST(requests(kind::raise) == raises);
    w.release(resumed.held);
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() > ticket.fencing_token);
}

BOOST_FIXTURE_TEST_CASE(resume_after_the_ttl_returns_lost, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 1s});
    w.run_for(1100ms);

    auto const gone = resume(w, *other, ticket, {.wait = 1min});

    BOOST_TEST((gone.ec == errc::lost));
    BOOST_TEST(!gone.held.held());
    BOOST_TEST(gone.report.message == "redlock: cannot resume \"stock\": the lock was lost");
    BOOST_TEST(w.keys_after(1ms) == 0u);  // no key is set again
    auto const next = w.acquire(*locks, "stock");
    BOOST_TEST((resume(w, *other, ticket).ec == errc::lost));
    BOOST_TEST(next.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);  // the keys of the next holder
}

BOOST_FIXTURE_TEST_CASE(resume_without_a_majority_of_keys_deletes_the_others, detached_lock<5>)
{
    auto const ticket = leave();
    for (auto i : {0, 1, 2})
        w[static_cast<std::size_t>(i)].entries.clear();
    w[2].entries["lock:stock"] = {"foreign", w.now + 1h};

    BOOST_TEST((resume(w, *other, ticket).ec == errc::lost));
    w.run_for(10ms);

    BOOST_TEST(w.keys("lock:stock") == 1u);
    BOOST_TEST(w[2].find("lock:stock") != nullptr);
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_minority_of_keys_missing_succeeds, detached_lock<5>)
{
    auto const ticket = leave();
    w[0].entries.clear();
    w[1].entries.clear();
    auto resumed = resume(w, *other, ticket);
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);  // only renewals set missing keys again
    BOOST_TEST(!w.release(resumed.held));
    for (auto& s : w.servers)  // a late request of the first process may have set the key on any node
        BOOST_TEST(s->count(kind::release) == 1u);
}

BOOST_FIXTURE_TEST_CASE(resume_without_a_majority_of_answers_deletes_nothing, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 5s});
    w[0].hung = w[1].hung = true;

    auto const failed = resume(w, *other, ticket, {.ttl = 5s});

    BOOST_TEST((failed.ec == errc::no_quorum));
    w[0].hung = w[1].hung = false;
    BOOST_TEST(w.keys_after(3s) == 3u);
    BOOST_TEST(requests(kind::release) == 0u);
    BOOST_TEST(resume(w, *other, ticket).held.held());
}

// The first process does not answer, and its client moves the lock. Then the process runs again.
BOOST_AUTO_TEST_CASE(resume_with_a_new_token_makes_the_old_one_void)
{
    for (auto const how : {mode::exclusive, mode::shared}) {
        detached_lock<3> f;
        auto won = f.w.acquire(*f.locks, "stock", {.ttl = 3s, .renew = renewal::automatic, .mode = how});
        auto const ticket = ticket_of(won.held, how);
        auto moved = resume(f.w, *f.other, ticket, {.ttl = 60s, .new_token = "moved"});
        BOOST_TEST(moved.held.held());
        BOOST_TEST(moved.held.token() == "moved");

        BOOST_TEST(f.w.keys_after(2s) == 3u);
        BOOST_TEST(!won.held.held());
        f.w.release(won.held);
        won.held = {};
        BOOST_TEST((release(f.w, *f.locks, ticket) == errc::not_held));
        BOOST_TEST((resume(f.w, *f.locks, ticket).ec == errc::lost));
        BOOST_TEST((resume(f.w, *f.locks, ticket, {.new_token = "late"}).ec == errc::lost));
        BOOST_TEST(f.w.keys_after(20s) == 3u);
        BOOST_TEST((f.w.acquire(*f.locks, "stock").ec == errc::contended));
        BOOST_TEST(moved.held.held());
        BOOST_TEST(!f.w.release(moved.held));
        BOOST_TEST(f.w.keys_after(100ms) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_new_token_replaces_all_names, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 5s}, {"order", "stock"});
    auto moved = resume(w, *other, ticket, {.ttl = 20s, .new_token = "moved"});
    BOOST_TEST(moved.held.held());
    for (auto const* const key : {"lock:order", "lock:stock"})
        BOOST_TEST(w[0].entries[key].value == "moved");
    BOOST_TEST(!w.release(moved.held));
    BOOST_TEST(w.keys_after(100ms) == 0u);
}

// The answers are lost, but the nodes have the new token. The client knows only the old lock, which must not end early.
BOOST_FIXTURE_TEST_CASE(resume_with_a_new_token_that_fails_deletes_nothing, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 5s});
    w[0].mute = w[1].mute = true;
    BOOST_TEST((resume(w, *other, ticket, {.ttl = 5s, .new_token = "moved"}).ec == errc::no_quorum));
    w[0].mute = w[1].mute = false;
    BOOST_TEST(w.keys_after(3s) == 3u);
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    BOOST_TEST(w.keys_after(3s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_new_token_can_be_repeated, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 5s});
    w[0].mute = w[1].mute = true;
    BOOST_TEST((resume(w, *other, ticket, {.ttl = 5s, .new_token = "moved"}).ec == errc::no_quorum));
    w[0].mute = w[1].mute = false;
    auto moved = resume(w, *other, ticket, {.ttl = 5s, .new_token = "moved"});
    BOOST_TEST(moved.held.held());
    BOOST_TEST(!w.release(moved.held));
    BOOST_TEST(w.keys_after(100ms) == 0u);
}

// A node without the new token would keep the old one until its time to live is over.
BOOST_FIXTURE_TEST_CASE(resume_with_a_new_token_deletes_the_old_one, detached_lock<5>)
{
    auto const ticket = leave({.ttl = 60s});
    w[0].hung = true;
    w[1].mute = true;
    auto moved = resume(w, *other, ticket, {.ttl = 5s, .renew = renewal::automatic, .new_token = "moved"});
    BOOST_TEST(moved.held.held());
    w[0].hung = w[1].mute = false;
    w.run_for(5s);
    for (auto const& s : w.servers)
        BOOST_TEST(s->entries["lock:stock"].value == "moved");
    BOOST_TEST(!w.release(moved.held));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_after_another_move_returns_lost, detached_lock<5>)
{
    auto const ticket = leave({.ttl = 60s});
    w[3].hung = w[4].hung = true;
    auto first = resume(w, *other, ticket, {.ttl = 60s, .new_token = "first"});
    BOOST_TEST(first.held.held());
    w[3].hung = w[4].hung = false;
    w.run_for(10ms);
    BOOST_TEST((resume(w, *locks, ticket, {.ttl = 5s, .new_token = "second"}).ec == errc::lost));
    w.run_for(1s);
    BOOST_TEST(first.held.held());
    BOOST_TEST(!w.release(first.held));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

// The client was told about neither move, so it may still use the first lock.
BOOST_FIXTURE_TEST_CASE(resume_that_loses_to_another_move_deletes_nothing, detached_lock<5>)
{
    auto const ticket = leave({.ttl = 60s});
    for (std::size_t i = 0; i < 5; ++i)
        (i < 3 ? w[i].mute : w[i].hung) = true;
    BOOST_TEST((resume(w, *other, ticket, {.new_token = "first"}).ec == errc::no_quorum));
    for (std::size_t i = 0; i < 5; ++i)
        w[i].mute = w[i].hung = false;
    BOOST_TEST((resume(w, *locks, ticket, {.new_token = "second"}).ec == errc::lost));
    BOOST_TEST(w.keys_after(1s) == 5u);
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_wrong_new_token_returns_invalid_argument, detached_lock<3>)
{
    auto const ticket = leave();
    auto const message = [&](std::string_view token) {
        auto const refused = resume(w, *other, ticket, {.new_token = token});
        BOOST_TEST((refused.ec == errc::invalid_argument));
        return refused.report.message;
    };
    BOOST_TEST(message(ticket.token)
               == "redlock: cannot resume \"stock\": new_token is the ticket's token, but must be another one");
    BOOST_TEST(message(std::string(513, 'x'))
               == "redlock: cannot resume \"stock\": new_token has more than 512 bytes, but must have 1 to 512");
    BOOST_TEST(
        message(":=shared").ends_with("new_token is \":=shared\", which marks a shared lock and is not a token"));
    auto const acquired = w.acquire(*other, "order", {.new_token = "x"});
    BOOST_TEST((acquired.ec == errc::invalid_argument));
    BOOST_TEST(acquired.report.message.ends_with("new_token is set, but only async_resume takes one"));
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_new_token_needs_nodes_that_replace, detached_lock<3>)
{
    auto const ticket = leave();
    w[1].replaces = false;
    auto const old = w.manager();
    auto const refused = resume(w, *old, ticket, {.new_token = "moved"});
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message
               == "redlock: cannot resume \"stock\": server-1 cannot replace the token of a lock "
                  "(acquire_options::new_token)");
    BOOST_TEST(resume(w, *old, ticket).held.held());
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_wait_tries_until_a_majority_answers, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 10s});
    w[0].reachable = w[1].reachable = false;
    auto const begun = w.now;
    auto failed = resume(w, *other, ticket, {.wait = 2s});
    BOOST_TEST((failed.ec == errc::no_quorum));
    BOOST_TEST((w.now - begun >= 2s));
    BOOST_TEST(failed.report.rounds > 3u);

    lock_world::outcome waiter;
    other->async_resume(ticket, {.wait = 1min}, w.into(waiter));
    BOOST_TEST(!w.done_after(1s, waiter));
    w[0].reachable = true;
    BOOST_TEST(w.held_after(500ms, waiter));
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(resume_does_not_count_restarted_nodes, detached_lock<3>)
{
    w.each([&](auto& s) { s.identity = {.durable = false, .began = w.now - 1h}; });
    locks = w.manager();
    other = w.manager();
    auto const ticket = leave({.ttl = 50s});
    w.acquire(*other, "warm-up");
    // A late request may have set the key after the restart. In between, another client may have held the lock, which
    // the nodes have forgotten.
    for (auto i : {0, 1}) {
        auto& s = w[static_cast<std::size_t>(i)];
        auto const kept = s.entries["lock:stock"];
        s.restart();
        s.entries["lock:stock"] = kept;
    }

    auto const refused = resume(w, *other, ticket, {.wait = 1s});

    BOOST_TEST((refused.ec == errc::quarantined));
    BOOST_TEST((refused.report.quarantine > 50s));
    BOOST_TEST(other->stats().quarantined == 1u);
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

BOOST_AUTO_TEST_CASE(resume_with_a_late_majority_returns_validity_exhausted)
{
    detached_lock<3> f;
    auto const ticket = f.leave({.ttl = 10s});
    auto other = f.w.manager({.node_timeout = 190ms});
    f.w.acquire(*other, "warm-up");
    f.w.each([](auto& s) { s.reply_delay = 170ms; });

    auto const late = resume(f.w, *other, ticket, {.ttl = 200ms});

    BOOST_TEST((late.ec == errc::validity_exhausted));
    BOOST_TEST(f.requests(kind::release) == 0u);
    BOOST_TEST(resume(f.w, *other, ticket, {.ttl = 5s}).held.held());
}

BOOST_FIXTURE_TEST_CASE(resume_and_release_with_a_bad_ticket_are_refused, detached_lock<3>)
{
    lock_ticket const good{.resources = "stock", .token = "t"};
    auto const refusal = [&](lock_ticket t, acquire_options o = {}) {
        auto const r = resume(w, *other, t, o);
        BOOST_TEST((r.ec == errc::invalid_argument));
        if (o.ttl == acquire_options().ttl && o.mode == mode::exclusive)
            BOOST_TEST((release(w, *other, t) == errc::invalid_argument));
        return r.report.message.substr(r.report.message.find(": ", std::string("redlock: ").size()) + 2);
    };
    auto const with = [&](auto change) {
        auto t = good;
        change(t);
        return t;
    };
    BOOST_TEST(refusal(with([](auto& t) { t.resources = {}; }))
               == "0 resources are named, but 1 to 256 can be locked together");
    BOOST_TEST(refusal(with([](auto& t) { t.resources = "a:=gone"; }))
               == "resource, behind the prefix, holds \":=gone\", which marks other keys than locks");
    BOOST_TEST(refusal(with([](auto& t) { t.token.clear(); })) == "ticket.token has 0 bytes, but must have 1 to 512");
    BOOST_TEST(refusal(with([](auto& t) { t.token.assign(513, 't'); }))
               == "ticket.token has more than 512 bytes, but must have 1 to 512");
    BOOST_TEST(refusal(with([](auto& t) { t.token = ":=shared"; }))
               == "ticket.token is \":=shared\", which marks a shared lock and is not a token");
    BOOST_TEST(refusal(with([](auto& t) { t.mode = mode::upgradeable; }))
               == "ticket.mode is upgradeable, but must be exclusive or shared: the right to an upgrade ends with its "
                  "process");
    BOOST_TEST(refusal(with([](auto& t) {
                   t.mode = mode::shared, t.resources = {"a", "b"};
               }))
               == "ticket.mode is shared, but 2 resources are named; one is shared at a time");
    BOOST_TEST(refusal(with([](auto& t) { t.fencing_token = std::uint64_t(1) << 53; }))
               == "ticket.fencing_token is 9007199254740992, but must be below 9007199254740992");
    BOOST_TEST(refusal(good, {.ttl = 1ms}) == "ttl is 1 ms, but must be 20 ms to max_ttl, which is 60000 ms");
    BOOST_TEST(refusal(good, {.mode = mode::shared})
               == "mode is shared, but the ticket's mode is exclusive; leave mode out");
    BOOST_TEST(requests(kind::extend) + requests(kind::release) == 0u);

    auto const reader = with([](auto& t) { t.mode = mode::shared; });
    // These tickets are valid, but no node has the keys.
    BOOST_TEST((resume(w, *other, reader, {.mode = mode::shared}).ec == errc::lost));
    BOOST_TEST((resume(w, *other, with([](auto& t) { t.token.assign(512, 't'); })).ec == errc::lost));
}

BOOST_AUTO_TEST_CASE(resume_of_a_set_with_a_node_without_sets_returns_unsupported)
{
    lock_world w(3);
    w[2].locks_several = false;
    auto const locks = w.manager();
    auto const refused = resume(w, *locks, {.resources = {"a", "b"}, .token = "t"});
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message
               == "redlock: cannot resume \"a\" and 1 more: server-2 cannot lock several resources at once");
}

BOOST_FIXTURE_TEST_CASE(resume_with_a_throwing_token_throws_the_reason, detached_lock<3>)
{
    auto const resumed = run(w, other->async_resume({.resources = "stock", .token = "t"}, asio::use_awaitable));
    BOOST_TEST(message_of(resumed.failure) == "redlock: cannot resume \"stock\": the lock was lost");
}

BOOST_FIXTURE_TEST_CASE(resume_of_a_lock_of_a_foreign_client_succeeds, detached_lock<3>)
{
    w.each([&](auto& s) { s.entries["lock:stock"] = {"my-value", w.now + 5s}; });
    auto resumed = resume(w, *other, {.resources = "stock", .token = "my-value"}, {.ttl = 10s});
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(w.keys_after(6s) == 3u);
    BOOST_TEST(!w.release(resumed.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_of_a_reader_keeps_the_other_readers, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 3s, .mode = mode::shared});
    auto beside = w.acquire(*other, "stock", {.ttl = 20s, .mode = mode::shared});

    auto resumed = resume(w, *other, ticket, {.ttl = 10s});

    BOOST_TEST(resumed.held.held());
    BOOST_TEST((resumed.held.mode() == mode::shared));
    w.run_for(5s);
    BOOST_TEST(w[0].readers["lock:stock"].size() == 2u);
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    w.release(resumed, 1ms);
    BOOST_TEST(w[0].readers["lock:stock"].size() == 1u);
    BOOST_TEST(beside.held.held());
    BOOST_TEST((resume(w, *other, ticket).ec == errc::lost));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

// A late request of the first process could undo the upgrade of the second one.
BOOST_FIXTURE_TEST_CASE(upgrade_of_a_resumed_reader_is_refused, detached_lock<3>)
{
    auto resumed = resume(w, *other, leave({.mode = mode::shared}));
    BOOST_TEST((w.upgrade(resumed.held) == errc::invalid_argument));
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(requests(kind::upgrade) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_of_a_set_with_one_key_missing_returns_lost, detached_lock<3>)
{
    auto const ticket = leave({}, {"a", "b"});
    BOOST_TEST(resume(w, *other, ticket, {.ttl = 20s}).held.held());
    auto const second = leave({}, {"a", "b"});
    w[0].entries.erase("lock:b");
    w[1].entries.erase("lock:b");
    BOOST_TEST((resume(w, *other, second).ec == errc::lost));
    BOOST_TEST(w.keys_after(1ms, "lock:a") == 0u);  // also on the nodes without "b"
    BOOST_TEST(w.keys_after(1ms, "lock:b") == 0u);
}

// The first process may have asked for a longer ttl than the second one.
BOOST_FIXTURE_TEST_CASE(release_of_a_resumed_lock_is_repeated_for_max_ttl, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 60s});
    auto resumed = resume(w, *other, ticket, {.ttl = 1s});
    w.run_for(1ms);
    w[2].reachable = false;
    w.release(resumed, 30s);
    BOOST_TEST(other->stats().cleaning == 1u);
    w[2].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(resume_of_one_ticket_twice_succeeds, detached_lock<3>)
{
    auto const ticket = leave();
    auto one = resume(w, *locks, ticket, {.ttl = 5s, .renew = renewal::automatic});
    auto two = resume(w, *other, ticket);
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());

    w.release(two, 2s);
    BOOST_TEST(!one.held.held());  // its renewal has found the loss
}

BOOST_FIXTURE_TEST_CASE(detach_of_a_resumed_lock_returns_the_same_ticket, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 2s});
    auto const again = resume(w, *other, ticket, {.ttl = 10s}).held.detach();
    BOOST_TEST((again == ticket));
    BOOST_TEST(w.keys_after(9s) == 3u);
    BOOST_TEST(resume(w, *locks, again).held.held());
}

BOOST_FIXTURE_TEST_CASE(resume_waits_for_the_first_connection, detached_lock<3>)
{
    auto const ticket = leave();
    auto fresh = w.manager();
    w.each([](auto& s) { s.connecting = true; });
    w.at(w.now + 400ms, [&] { w.each([](auto& s) { s.connecting = false; }); });
    auto const resumed = resume(w, *fresh, ticket);
    BOOST_TEST(resumed.held.held());

    auto another = w.manager();
    w.each([](auto& s) { s.connecting = true; });
    w.at(w.now + 400ms, [&] { w.each([](auto& s) { s.connecting = false; }); });
    BOOST_TEST(!release(w, *another, ticket));
}

BOOST_AUTO_TEST_CASE(resume_cancelled_at_any_moment_keeps_the_ticket_valid)
{
    using type = asio::cancellation_type;
    enum class when { connecting, in_flight, between };
    for (auto const progress : {when::connecting, when::in_flight, when::between}) {
        for (auto const how : {type::total, type::partial, type::terminal}) {
            detached_lock<3> f;
            auto& w = f.w;
            auto const ticket = f.leave({.ttl = 10s});
            if (progress == when::connecting)
                w.each([](auto& s) { s.connecting = true; });
            else
                w.acquire(*f.other, "warm-up");
            w.each([&](auto& s) { s.refusal = progress == when::between ? errc::node_busy : error_code(); });
            asio::cancellation_signal cancel;
            lock_world::outcome o;
            f.other->async_resume(ticket, {.wait = 1min}, asio::bind_cancellation_slot(cancel.slot(), w.into(o)));
            BOOST_TEST(!w.done_after(progress == when::between ? 2ms : 150us, o));

            cancel.emit(how);
            w.context.restart();
            w.context.poll();

            bool const goes_on = progress == when::in_flight && how == type::total;
            BOOST_TEST(o.done == !goes_on);
            w.each([](auto& s) { s.connecting = false, s.refusal = {}; });
            w.run_for(1s);
            BOOST_TEST(o.calls == 1);
            BOOST_TEST(o.held.held() == goes_on);
            if (!goes_on)
                BOOST_TEST((o.ec == asio::error::operation_aborted));
            BOOST_TEST(f.requests(kind::release) == 0u);
            BOOST_TEST(w.keys("lock:stock") == 3u);
            BOOST_TEST(resume(w, *f.locks, ticket).held.held());
        }
    }
}

BOOST_FIXTURE_TEST_CASE(resume_with_total_cancellation_finishes_its_round, detached_lock<3>)
{
    auto const ticket = leave();
    w.acquire(*other, "warm-up");
    w.each([](auto& s) { s.hung = true; });
    asio::cancellation_signal cancel;
    lock_world::outcome o;
    other->async_resume(ticket, {.wait = 1min}, asio::bind_cancellation_slot(cancel.slot(), w.into(o)));
    w.run_for(1ms);
    cancel.emit(asio::cancellation_type::total);
    w.run_for(100ms);
    BOOST_TEST((o.ec == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_CASE(resume_is_aborted_when_the_manager_ends)
{
    for (bool const destroyed : {false, true}) {
        for (auto const after : {0us, 50us, 150us, 5000us}) {
            detached_lock<3> f;
            auto& w = f.w;
            auto const ticket = f.leave({.ttl = 10s});
            w.each([&](auto& s) { s.hung = after > 1ms; });
            lock_world::outcome o;
            f.other->async_resume(ticket, {.wait = 1min}, w.into(o));
            w.run_for(after);

            if (destroyed)
                f.other.reset();
            else
                f.other->async_shutdown([](error_code) {});
            w.run_for(2s);

            BOOST_TEST(o.calls == 1);
            BOOST_TEST((o.ec == asio::error::operation_aborted));
            BOOST_TEST(f.requests(kind::release) == 0u);
            if (!destroyed)
                BOOST_TEST((resume(w, *f.other, ticket).ec == asio::error::operation_aborted));
            w.each([](auto& s) { s.hung = false; });
            w.run_for(10ms);
            BOOST_TEST(resume(w, *f.locks, ticket).held.held());
        }
    }
}

BOOST_AUTO_TEST_CASE(resume_and_release_may_be_pending_when_the_context_ends)
{
    for (auto const after : {0us, 50us, 150us, 100'000us}) {  // the last value falls between two rounds
        detached_lock<3> f;
        auto const ticket = f.leave();
        f.w.each([](auto& s) { s.mute = true; });
        f.other->async_resume(ticket, {.wait = 1min}, [](error_code, lock) { BOOST_ERROR("called"); });
        if (after < 1ms) {
            f.other->async_release(ticket, [](error_code) { BOOST_ERROR("called"); });
            f.locks->async_release(ticket, [](error_code) { BOOST_ERROR("called"); });
        }
        f.w.run_for(after);
    }
    std::unique_ptr<lock_manager> survivor;
    {
        lock_world w(3);
        survivor = w.manager();
    }
    lock_ticket const ticket{.resources = "stock", .token = "t"};
    error_code resumed, released;
    survivor->async_resume(ticket, [&](error_code ec, lock) { resumed = ec; });
    survivor->async_release(ticket, [&](error_code ec) { released = ec; });
    BOOST_TEST((resumed == asio::error::operation_aborted));
    BOOST_TEST((released == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(ticket_release)

BOOST_FIXTURE_TEST_CASE(release_by_ticket_of_another_process_deletes_the_keys, detached_lock<3>)
{
    auto const ticket = leave();
    BOOST_TEST(!release(w, *other, ticket));
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(requests(kind::release) == 3u);
    BOOST_TEST((release(w, *other, ticket) == errc::not_held));
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

// Rule 7 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_by_ticket_does_not_delete_keys_of_the_next_holder, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 1s});
    w.run_for(1100ms);
    auto const next = w.acquire(*locks, "stock");
    BOOST_TEST((release(w, *other, ticket) == errc::not_held));
    BOOST_TEST(next.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

BOOST_FIXTURE_TEST_CASE(release_by_ticket_without_a_majority_continues_in_the_background, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 50s});
    w.acquire(*other, "warm-up");
    w[1].reachable = w[2].reachable = false;
    BOOST_TEST((release(w, *other, ticket) == errc::no_quorum));
    BOOST_TEST(w.keys_after(30s) == 2u);
    w[1].reachable = w[2].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_by_ticket_of_a_reader_keeps_the_other_readers, detached_lock<3>)
{
    auto const ticket = leave({.mode = mode::shared});
    auto beside = w.acquire(*other, "stock", {.mode = mode::shared});
    BOOST_TEST(!release(w, *other, ticket));
    w.run_for(1ms);
    BOOST_TEST(w[0].readers["lock:stock"].size() == 1u);
    BOOST_TEST(!w.extend(beside.held, 20s));
}

BOOST_FIXTURE_TEST_CASE(release_by_ticket_wakes_a_waiter_of_the_same_manager, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 30s});
    auto next = w.start(*other, "stock", {.wait = 1min});
    w.run_for(100ms);
    BOOST_TEST(!release(w, *other, ticket));
    BOOST_TEST(w.held_after(10ms, next));
}

BOOST_AUTO_TEST_CASE(release_by_ticket_cancelled_still_deletes_the_keys)
{
    using type = asio::cancellation_type;
    for (bool const connecting : {false, true}) {
        for (auto const how : {type::total, type::partial, type::terminal}) {
            detached_lock<3> f;
            auto& w = f.w;
            auto const ticket = f.leave({.ttl = 10s});
            w.each([&](auto& s) { s.connecting = connecting; });
            if (!connecting)
                w.acquire(*f.other, "warm-up");
            asio::cancellation_signal cancel;
            std::optional<error_code> result;
            f.other->async_release(ticket,
                                   asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { result = ec; }));
            w.run_for(50us);
            cancel.emit(how);
            w.context.restart();
            w.context.poll();
            BOOST_TEST(result.has_value() == (how != type::total));
            w.each([](auto& s) { s.connecting = false; });
            w.run_for(1s);
            BOOST_TEST(
                (result == (how == type::total ? error_code() : make_error_code(asio::error::operation_aborted))));
            BOOST_TEST(w.keys("lock:stock") == 0u);
        }
    }
}

BOOST_AUTO_TEST_CASE(release_by_ticket_is_finished_when_the_manager_ends)
{
    for (bool const destroyed : {false, true}) {
        for (bool const connecting : {false, true}) {
            detached_lock<3> f;
            auto& w = f.w;
            auto const ticket = f.leave({.ttl = 10s});
            w.each([&](auto& s) { s.connecting = connecting; });
            std::optional<error_code> result;
            f.other->async_release(ticket, [&](error_code ec) { result = ec; });
            w.run_for(50us);
            if (destroyed)
                f.other.reset();
            else
                f.other->async_shutdown([](error_code) {});
            w.run_for(10ms);
            w.each([](auto& s) { s.connecting = false; });
            w.run_for(2s);
            BOOST_TEST((result == error_code()));
            BOOST_TEST(w.keys("lock:stock") == 0u);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(release_by_ticket_after_shutdown_is_aborted, detached_lock<3>)
{
    auto const ticket = leave();
    w.shutdown(*other);
    BOOST_TEST((release(w, *other, ticket) == asio::error::operation_aborted));
    BOOST_TEST(w.keys_after(1s) == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
