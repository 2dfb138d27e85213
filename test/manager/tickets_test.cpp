// Locks that outlive the process that acquired them.

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

// What one process has left, and another one that may go on with it.
template <std::size_t Servers>
struct detached_lock : and_another<manager_of<Servers>> {
    lock_ticket leave(acquire_options options = {}, resource_set names = "stock")
    {
        auto won = this->w.acquire(*this->locks, std::move(names), options);
        BOOST_REQUIRE(won.held.held());
        this->w.run_for(1ms);
        return won.held.detach();
    }

    /// About "stock".
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

BOOST_AUTO_TEST_SUITE(detaching)

BOOST_FIXTURE_TEST_CASE(a_detached_lock_stays_on_the_servers_until_its_ttl_is_over, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(the_ticket_says_what_was_locked, detached_lock<3>)
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
    // It can be written down, and put together again.
    auto const names = ticket.resources.names();
    lock_ticket const again{.resources = std::vector<std::string>(names.begin(), names.end()),
                            .token = ticket.token,
                            .fencing_token = fencing_token};
    BOOST_TEST((again == ticket));
}

BOOST_AUTO_TEST_CASE(the_end_of_the_manager_leaves_its_keys)
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
        BOOST_TEST((f.w.now - begun < 10ms));  // there is nothing to wait for
        won.held = {};
        BOOST_TEST(f.w.keys_after(4s) == 3u);
        BOOST_TEST(resume(f.w, *f.other, ticket).held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(what_is_not_held_is_not_detached, detached_lock<3>)
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
    BOOST_TEST(w.keys_after(1ms, "lock:c") == 0u);  // it is given back as ever
}

BOOST_FIXTURE_TEST_CASE(of_several_handles_none_is_detached, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock");
    auto more = won.held.share();

    BOOST_TEST((refusal_of(won.held) == errc::contended));
    BOOST_TEST(won.held.held());
    more = {};
    BOOST_TEST((won.held.detach().resources == resource_set("stock")));
    BOOST_TEST(w.keys_after(1s) == 3u);
}

BOOST_FIXTURE_TEST_CASE(nobody_joins_what_is_detached, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock", {.mode = mode::shared});
    won.held.detach();

    BOOST_TEST(won.held.share().empty());
    auto const next = w.acquire(*locks, "stock", {.mode = mode::shared});
    BOOST_TEST(next.held.held());
    BOOST_TEST(next.held.token() != won.held.token());
}

BOOST_FIXTURE_TEST_CASE(what_may_be_upgraded_or_was_is_not_detached, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(a_handle_of_a_scope_is_detached_unless_it_has_parts, detached_lock<3>)
{
    lock_scope const scope(*locks);
    auto const acquire = [&](resource_set names) {
        return w.outcome_of({}, [&](auto& o, auto how) { scope.async_acquire(names, how, w.into(o)); });
    };
    auto a = acquire("a"), b = acquire("b"), both = acquire({"a", "b"});
    BOOST_TEST((refusal_of(both.held) == errc::invalid_argument));
    both.held = {};

    BOOST_TEST((a.held.detach().resources == resource_set("a")));

    BOOST_TEST((acquire("a").ec == errc::contended));  // the scope has it not any more
    BOOST_TEST(b.held.held());
}

BOOST_AUTO_TEST_CASE(locks_that_end_with_a_session_are_not_detached)
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
               == "redlock: cannot resume \"stock\": server-1 ends its locks with its session, so that no other "
                  "process can go on with them");
    BOOST_TEST((release(w, *locks, ticket) == errc::unsupported));
    BOOST_TEST(w[0].count(kind::extend) + w[0].count(kind::release) == 0u);
}

BOOST_FIXTURE_TEST_CASE(what_is_under_way_ends_as_for_a_lock_that_is_released, detached_lock<3>)
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

// The answer to a renewal neither revives the lock nor gives it back, whenever it comes.
BOOST_AUTO_TEST_CASE(a_renewal_under_way_is_in_vain)
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

BOOST_FIXTURE_TEST_CASE(what_was_not_sent_by_then_will_not_be, detached_lock<3>)
{
    w[2].connecting = true;
    auto won = w.acquire(*locks, "stock");
    won.held.detach();
    w.run_for(5ms);
    w[2].connecting = false;
    BOOST_TEST(w.keys_after(100ms) == 2u);
    BOOST_TEST(w[2].count(kind::acquire) == 0u);
}

BOOST_FIXTURE_TEST_CASE(who_waits_in_the_same_manager_is_told_by_the_nodes, detached_lock<3>)
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

BOOST_AUTO_TEST_CASE(a_handle_that_outlives_its_context_is_not_detached)
{
    lock survivor;
    {
        lock_world w(3);
        auto const locks = w.manager();
        survivor = std::move(w.acquire(*locks, "stock").held);
    }
    BOOST_TEST((refusal_of(survivor) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(the_context_may_go_right_behind_it, detached_lock<3>)
{
    auto won = w.acquire(*locks, "stock");
    won.held.detach();
    locks.reset();
    other.reset();
}

// Who is detached and who is given back on other threads is decided once.
BOOST_AUTO_TEST_CASE(threads_may_detach_release_and_share_at_once, *boost::unit_test::label("threads"))
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

BOOST_AUTO_TEST_SUITE(resuming)

BOOST_FIXTURE_TEST_CASE(another_process_goes_on_with_it, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(rule_1_its_validity_counts_from_before_the_first_byte, detached_lock<3>)
{
    auto const ticket = leave();
    w.acquire(*other, "warm-up");
    w.each([](auto& s) { s.request_delay = s.reply_delay = 20ms; });
    auto const begun = w.now;
    BOOST_TEST((resume(w, *other, ticket, {.ttl = 5s}).held.valid_until() == begun + 5s - 52ms));
}

BOOST_FIXTURE_TEST_CASE(it_is_renewed_and_healed_as_any_lock, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(it_is_lost_in_time, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(it_has_the_fencing_token_of_the_ticket, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(what_is_over_is_lost, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 1s});
    w.run_for(1100ms);

    auto const gone = resume(w, *other, ticket, {.wait = 1min});

    BOOST_TEST((gone.ec == errc::lost));
    BOOST_TEST(!gone.held.held());
    BOOST_TEST(gone.report.message == "redlock: cannot resume \"stock\": the lock was lost");
    BOOST_TEST(w.keys_after(1ms) == 0u);  // it is not set again
    auto const next = w.acquire(*locks, "stock");
    BOOST_TEST((resume(w, *other, ticket).ec == errc::lost));
    BOOST_TEST(next.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);  // that is the next one's
}

BOOST_FIXTURE_TEST_CASE(what_a_minority_has_of_it_is_deleted, detached_lock<5>)
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

BOOST_FIXTURE_TEST_CASE(a_minority_that_has_it_not_does_no_harm, detached_lock<5>)
{
    auto const ticket = leave();
    w[0].entries.clear();
    w[1].entries.clear();
    auto resumed = resume(w, *other, ticket);
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);  // nor is it set there: only renewals heal
    BOOST_TEST(!w.release(resumed.held));
    for (auto& s : w.servers)  // each may have it: the first process may have asked for it late
        BOOST_TEST(s->count(kind::release) == 1u);
}

BOOST_FIXTURE_TEST_CASE(without_a_majority_nothing_is_known_and_nothing_deleted, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(with_a_wait_it_is_tried_until_enough_answer, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 10s});
    w[0].reachable = w[1].reachable = false;
    auto const begun = w.now;
    auto failed = resume(w, *other, ticket, {.wait = 2s});
    BOOST_TEST((failed.ec == errc::no_quorum));
    BOOST_TEST((w.now - begun >= 2s));
    BOOST_TEST(failed.report.rounds > 3u);

    lock_world::outcome patient;
    other->async_resume(ticket, {.wait = 1min}, w.into(patient));
    BOOST_TEST(!w.done_after(1s, patient));
    w[0].reachable = true;
    BOOST_TEST(w.held_after(500ms, patient));
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(the_votes_of_restarted_nodes_do_not_count, detached_lock<3>)
{
    w.each([&](auto& s) { s.identity = {.durable = false, .began = w.now - 1h}; });
    locks = w.manager();
    other = w.manager();
    auto const ticket = leave({.ttl = 50s});
    w.acquire(*other, "warm-up");
    for (auto i : {0, 1}) {  // each has what somebody may have brought late, and may have forgotten what came in
                             // between
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

BOOST_AUTO_TEST_CASE(a_majority_that_comes_too_late_is_told)
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

BOOST_FIXTURE_TEST_CASE(arguments_out_of_range_are_refused, detached_lock<3>)
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
               == "ticket.token has 513 bytes, but must have 1 to 512");
    BOOST_TEST(refusal(with([](auto& t) { t.token = ":=shared"; }))
               == "ticket.token is \":=shared\", which says that the lock is shared, and is nobody's");
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
               == "mode is shared, but the ticket's is exclusive, and counts; leave it out");
    BOOST_TEST(requests(kind::extend) + requests(kind::release) == 0u);

    auto const reader = with([](auto& t) { t.mode = mode::shared; });
    BOOST_TEST((resume(w, *other, reader, {.mode = mode::shared}).ec == errc::lost));  // it is not there, but may be
                                                                                       // asked for
    BOOST_TEST((resume(w, *other, with([](auto& t) { t.token.assign(512, 't'); })).ec == errc::lost));
}

BOOST_AUTO_TEST_CASE(what_a_node_cannot_do_is_refused)
{
    lock_world w(3);
    w[2].locks_several = false;
    auto const locks = w.manager();
    auto const refused = resume(w, *locks, {.resources = {"a", "b"}, .token = "t"});
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message
               == "redlock: cannot resume \"a\" and 1 more: server-2 cannot lock several resources at once");
}

BOOST_FIXTURE_TEST_CASE(a_throwing_token_tells_why, detached_lock<3>)
{
    auto const resumed = run(w, other->async_resume({.resources = "stock", .token = "t"}, asio::use_awaitable));
    BOOST_TEST(message_of(resumed.failure) == "redlock: cannot resume \"stock\": the lock was lost");
}

BOOST_FIXTURE_TEST_CASE(what_clients_of_other_kinds_hold_can_be_gone_on_with, detached_lock<3>)
{
    w.each([&](auto& s) { s.entries["lock:stock"] = {"my-value", w.now + 5s}; });
    auto resumed = resume(w, *other, {.resources = "stock", .token = "my-value"}, {.ttl = 10s});
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(w.keys_after(6s) == 3u);
    BOOST_TEST(!w.release(resumed.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_reader_goes_on_among_others, detached_lock<3>)
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

// A late request of the first process could take back what the second one has.
BOOST_FIXTURE_TEST_CASE(a_reader_that_was_resumed_is_not_upgraded, detached_lock<3>)
{
    auto resumed = resume(w, *other, leave({.mode = mode::shared}));
    BOOST_TEST((w.upgrade(resumed.held) == errc::invalid_argument));
    BOOST_TEST(resumed.held.held());
    BOOST_TEST(requests(kind::upgrade) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_set_is_resumed_as_a_whole, detached_lock<3>)
{
    auto const ticket = leave({}, {"a", "b"});
    BOOST_TEST(resume(w, *other, ticket, {.ttl = 20s}).held.held());
    auto const second = leave({}, {"a", "b"});
    w[0].entries.erase("lock:b");
    w[1].entries.erase("lock:b");
    BOOST_TEST((resume(w, *other, second).ec == errc::lost));
    BOOST_TEST(w.keys_after(1ms, "lock:a") == 0u);  // also where b was not there any more
    BOOST_TEST(w.keys_after(1ms, "lock:b") == 0u);
}

// The ttl that the first process asked for may be longer than ours.
BOOST_FIXTURE_TEST_CASE(its_release_is_seen_through_for_as_long_as_any_key_may_live, detached_lock<3>)
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

BOOST_FIXTURE_TEST_CASE(two_who_resume_one_ticket_do_not_exclude_each_other, detached_lock<3>)
{
    auto const ticket = leave();
    auto one = resume(w, *locks, ticket, {.ttl = 5s, .renew = renewal::automatic});
    auto two = resume(w, *other, ticket);
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());

    w.release(two, 2s);
    BOOST_TEST(!one.held.held());  // noticed when it was renewed
}

BOOST_FIXTURE_TEST_CASE(who_resumes_may_detach_again, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 2s});
    auto const again = resume(w, *other, ticket, {.ttl = 10s}).held.detach();
    BOOST_TEST((again == ticket));
    BOOST_TEST(w.keys_after(9s) == 3u);
    BOOST_TEST(resume(w, *locks, again).held.held());
}

BOOST_FIXTURE_TEST_CASE(the_first_connection_takes_as_long_as_it_takes, detached_lock<3>)
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

BOOST_AUTO_TEST_CASE(cancelling_it_leaves_the_ticket_good)
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

BOOST_FIXTURE_TEST_CASE(a_total_cancellation_in_flight_makes_it_the_last_round, detached_lock<3>)
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

BOOST_AUTO_TEST_CASE(the_manager_may_end_at_any_moment)
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

BOOST_AUTO_TEST_CASE(the_context_may_go_at_any_moment)
{
    for (auto const after : {0us, 50us, 150us, 100'000us}) {  // at last between two rounds
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

BOOST_AUTO_TEST_SUITE(releasing_by_ticket)

BOOST_FIXTURE_TEST_CASE(a_lock_of_another_process_is_released, detached_lock<3>)
{
    auto const ticket = leave();
    BOOST_TEST(!release(w, *other, ticket));
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(requests(kind::release) == 3u);
    BOOST_TEST((release(w, *other, ticket) == errc::not_held));
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(rule_7_that_of_somebody_else_is_not_deleted, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 1s});
    w.run_for(1100ms);
    auto const next = w.acquire(*locks, "stock");
    BOOST_TEST((release(w, *other, ticket) == errc::not_held));
    BOOST_TEST(next.held.held());
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

BOOST_FIXTURE_TEST_CASE(without_a_majority_it_goes_on_in_the_background, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 50s});
    w.acquire(*other, "warm-up");
    w[1].reachable = w[2].reachable = false;
    BOOST_TEST((release(w, *other, ticket) == errc::no_quorum));
    BOOST_TEST(w.keys_after(30s) == 2u);
    w[1].reachable = w[2].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_reader_leaves_and_others_stay, detached_lock<3>)
{
    auto const ticket = leave({.mode = mode::shared});
    auto beside = w.acquire(*other, "stock", {.mode = mode::shared});
    BOOST_TEST(!release(w, *other, ticket));
    w.run_for(1ms);
    BOOST_TEST(w[0].readers["lock:stock"].size() == 1u);
    BOOST_TEST(!w.extend(beside.held, 20s));
}

BOOST_FIXTURE_TEST_CASE(who_waits_in_the_same_manager_gets_it, detached_lock<3>)
{
    auto const ticket = leave({.ttl = 30s});
    auto next = w.start(*other, "stock", {.wait = 1min});
    w.run_for(100ms);
    BOOST_TEST(!release(w, *other, ticket));
    BOOST_TEST(w.held_after(10ms, next));
}

BOOST_AUTO_TEST_CASE(cancelling_does_not_stop_it)
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

BOOST_AUTO_TEST_CASE(a_manager_that_ends_sees_it_through)
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

BOOST_FIXTURE_TEST_CASE(a_manager_that_has_ended_releases_nothing, detached_lock<3>)
{
    auto const ticket = leave();
    w.shutdown(*other);
    BOOST_TEST((release(w, *other, ticket) == asio::error::operation_aborted));
    BOOST_TEST(w.keys_after(1s) == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
