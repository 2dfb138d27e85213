// Leader election by `elect`.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(leader_election)

using kind = election_event::kind;

namespace {

constexpr std::chrono::milliseconds second{1'000};

template <class F>
asio::awaitable<void> with_all_cancellations(lock_manager& locks, elect_options options, F body)
{
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await elect(locks, "stock", std::move(options), std::move(body));
}

/// A candidate, and the events that its observer receives.
struct candidate {
    explicit candidate(lock_world& world) : w(world) {}
    template <class F>
    candidate(lock_world& world, lock_manager& locks, elect_options options, F body) : w(world)
    {
        stand(locks, std::move(options), std::move(body));
    }
    candidate(candidate const&) = delete;
    ~candidate()
    {
        cancel.emit(asio::cancellation_type::terminal);
        BOOST_TEST((!stood || w.run_to([&] { return ended; })));
    }

    template <class F>
    void stand(lock_manager& locks, elect_options options, F body)
    {
        stood = true;
        tell = [this](election_event e) {
            BOOST_TEST(!ended);
            BOOST_TEST(e.name == "stock");
            told.push_back(std::move(e));
            when.push_back(w.now);
            if (then)
                then(told.back().what);
        };
        options.observe = tell;
        asio::co_spawn(w.context, with_all_cancellations(locks, std::move(options), std::move(body)),
                       asio::bind_cancellation_slot(cancel.slot(), [this](std::exception_ptr e) {
                           ended = true;
                           failure = e;
                       }));
    }

    std::string event_names() const
    {
        std::string all;
        for (auto const& e : told)
            all += (all.empty() ? "" : ", ") + std::string(to_string(e.what));
        return all;
    }

    std::size_t count(kind k) const
    {
        return static_cast<std::size_t>(std::count_if(told.begin(), told.end(), [k](auto& e) { return e.what == k; }));
    }

    bool is(kind k) const { return !told.empty() && told.back().what == k; }

    /// The pause after each failure.
    std::vector<std::chrono::milliseconds> pauses() const
    {
        std::vector<std::chrono::milliseconds> all;
        for (auto const& e : told) {
            if (e.what == kind::failed)
                all.push_back(e.pause);
        }
        return all;
    }

    /// The time of the last event of kind @p k.
    clock::time_point last(kind k) const
    {
        for (auto i = told.size(); i-- > 0;) {
            if (told[i].what == k)
                return when[i];
        }
        return {};
    }

    /// Runs the world until the next event of kind @p k.
    election_event run_to(kind k)
    {
        auto const before = count(k);
        BOOST_TEST_REQUIRE(w.run_to([&] { return count(k) > before; }));
        return *std::find_if(told.rbegin(), told.rend(), [k](auto& e) { return e.what == k; });
    }

    std::string message() const { return message_of(failure); }

    lock_world& w;
    std::vector<election_event> told;
    std::vector<clock::time_point> when;
    std::function<void(kind)> then;  ///< called for each event
    std::function<void(election_event)> tell;
    bool stood = false;
    bool ended = false;
    std::exception_ptr failure;
    asio::cancellation_signal cancel;
};

/// Checks that no two bodies run at the same time.
struct body_counter {
    struct guard {
        explicit guard(body_counter& s) : on(s) { BOOST_TEST(++on.inside == 1); }
        ~guard() { --on.inside; }
        body_counter& on;
    };
    int inside = 0;
};

// Bodies

auto works_for(virtual_world& w, clock::duration d, elected then)
{
    return [&w, d, then](lock&) -> asio::awaitable<elected> {
        co_await work_for(w, d);
        co_return then;
    };
}

/// Ignores cancellation.
auto works_stubbornly(virtual_world& w, clock::duration d, elected then)
{
    return [&w, d, then](lock&) -> asio::awaitable<elected> {
        co_await uncancellable_work(w, d);
        co_return then;
    };
}

auto works_until_cancelled(virtual_world& w) { return works_for(w, 1000h, elected::done); }

auto returns(elected what)
{
    return [what](lock&) -> asio::awaitable<elected> { co_return what; };
}

auto fails()
{
    return [](lock&) -> asio::awaitable<elected> {
        throw std::runtime_error("the body has failed");
        co_return elected::done;
    };
}

/// Abandons the manager: it sends nothing more, and its keys stay on the servers.
void crash(lock_manager& locks) { std::shared_ptr(detail::access::state_of(locks))->abandon(); }

using one_manager = connected_to<3>;
using two_managers = and_another<connected_to<3>>;

}  // namespace

BOOST_AUTO_TEST_CASE(elect_runs_the_body_while_leading_and_ends_when_done)
{
    lock_world w(3);
    auto const locks = w.connected({.fencing = true});
    std::uint64_t token = 0;
    candidate one(w, *locks, {}, [&](lock& l) -> asio::awaitable<elected> {
        token = l.fencing_token();
        co_await work_for(w, 1min);
        BOOST_TEST(l.held());
        co_return elected::done;
    });
    BOOST_TEST(w.keys_after(59s) == 3u);
    w.run_for(2s);

    BOOST_TEST(one.ended);
    BOOST_TEST(!one.failure);
    BOOST_TEST(one.event_names() == "standing, elected, ended");
    BOOST_TEST(token != 0u);
    BOOST_TEST(one.told[0].fencing_token == 0u);
    BOOST_TEST(one.told[1].fencing_token == token);
    BOOST_TEST(one.told[2].fencing_token == token);
    BOOST_TEST(!one.told[2].error);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

// Failover and turns

BOOST_FIXTURE_TEST_CASE(elect_that_is_done_lets_another_manager_lead_at_once, two_managers)
{
    candidate one(w, *locks, {}, works_for(w, 1h, elected::done));
    one.run_to(kind::elected);
    candidate two(w, *other, {}, works_until_cancelled(w));
    w.run_for(59min);
    BOOST_TEST(two.event_names() == "standing");

    two.run_to(kind::elected);

    BOOST_TEST(one.ended);
    BOOST_TEST((two.last(kind::elected) - one.last(kind::ended) <= 10ms));
}

BOOST_FIXTURE_TEST_CASE(elect_after_a_crashed_leader_wins_when_its_ttl_is_over, two_managers)
{
    candidate one(w, *locks, {}, works_until_cancelled(w));
    one.run_to(kind::elected);
    candidate two(w, *other, {}, works_until_cancelled(w));
    w.run_for(1min);
    auto const crashed = w.now;
    crash(*locks);

    two.run_to(kind::elected);

    BOOST_TEST((w.now - crashed <= 10s + 100ms));
    BOOST_TEST((w.now - crashed >= 6s));  // the last renewal was at most a third of the ttl earlier
    BOOST_TEST(!one.ended);
}

BOOST_FIXTURE_TEST_CASE(elect_after_step_down_stands_again_after_the_pause, two_managers)
{
    body_counter s;
    auto const ten_seconds = [&](lock&) -> asio::awaitable<elected> {
        body_counter::guard const here(s);
        co_await work_for(w, 10s);
        co_return elected::step_down;
    };
    candidate one(w, *locks, {}, ten_seconds);
    one.run_to(kind::elected);
    candidate two(w, *other, {}, ten_seconds);
    BOOST_TEST((one.run_to(kind::stepped_down).pause == 1s));
    auto const stepped_down = w.now;

    two.run_to(kind::elected);
    BOOST_TEST((w.now - stepped_down <= 10ms));
    one.run_to(kind::standing);
    BOOST_TEST((w.now - stepped_down == 1s));

    w.run_for(1min);
    BOOST_TEST(one.count(kind::elected) >= 3u);
    BOOST_TEST(two.count(kind::elected) >= 3u);
}

BOOST_FIXTURE_TEST_CASE(elect_after_step_down_without_rivals_leads_again, one_manager)
{
    candidate one(w, *locks, {.pause_min = 3s}, returns(elected::step_down));
    w.run_for(10s);
    BOOST_TEST(one.count(kind::elected) == 4u);  // at once, and after each of three pauses
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_with_two_candidates_of_one_manager_takes_turns, one_manager)
{
    body_counter s;
    auto const briefly = [&](lock&) -> asio::awaitable<elected> {
        body_counter::guard const here(s);
        co_await work_for(w, 1s);
        co_return elected::step_down;
    };
    candidate one(w, *locks, {}, briefly);
    candidate two(w, *locks, {}, briefly);
    w.run_for(1min);
    BOOST_TEST(one.count(kind::elected) > 10u);
    BOOST_TEST(two.count(kind::elected) > 10u);
}

// Bodies that fail

BOOST_FIXTURE_TEST_CASE(elect_with_a_failing_body_lets_another_process_lead, two_managers)
{
    body_counter s;
    std::string leaders;
    auto const fails_after_work = [&](char name) {
        return [&, name](lock&) -> asio::awaitable<elected> {
            body_counter::guard const here(s);
            leaders += name;
            co_await work_for(w, 100ms);
            throw std::runtime_error("the body has failed");
        };
    };
    candidate one(w, *locks, {}, fails_after_work('1'));
    candidate two(w, *other, {}, fails_after_work('2'));
    w.run_for(3s);
    BOOST_TEST(leaders.substr(0, 2) == "12");
    w.run_for(10min);
    BOOST_TEST(one.count(kind::failed) > 5u);
    BOOST_TEST(two.count(kind::failed) > 5u);
    BOOST_TEST(leaders.find("11111") == leaders.npos);
    BOOST_TEST(leaders.find("22222") == leaders.npos);
}

BOOST_FIXTURE_TEST_CASE(elect_with_a_failing_body_reports_releases_and_pauses, one_manager)
{
    candidate one(w, *locks, {}, fails());
    auto const failed = one.run_to(kind::failed);
    auto const then = w.now;
    BOOST_CHECK_THROW(std::rethrow_exception(failed.exception), std::runtime_error);
    BOOST_TEST(w.keys_after(100ms) == 0u);
    one.run_to(kind::standing);
    BOOST_TEST((w.now - then == failed.pause));
}

BOOST_FIXTURE_TEST_CASE(elect_pauses_double_up_to_pause_max_with_jitter, one_manager)
{
    candidate one(w, *locks, {.pause_min = 1s, .pause_max = 20s}, fails());
    w.run_for(5min);

    auto const pauses = one.pauses();
    BOOST_TEST_REQUIRE(pauses.size() > 10u);
    for (auto i = 0u; i < pauses.size(); ++i) {
        auto const least = i < 4 ? 1s * (1 << i) : 10s;
        BOOST_TEST((pauses[i] >= least && pauses[i] <= 2 * least));
    }
    BOOST_TEST((pauses[5] != pauses[6] || pauses[6] != pauses[7]));
}

BOOST_FIXTURE_TEST_CASE(elect_with_a_body_that_ran_as_long_as_stable_resets_the_pause, one_manager)
{
    int terms = 0;
    elect_options const options{.pause_min = 1s, .pause_max = 10min, .stable = 1min};
    candidate one(w, *locks, options, [&](lock&) -> asio::awaitable<elected> {
        auto const length = ++terms == 4 ? 60s : 59s;
        co_await work_for(w, length);
        throw std::runtime_error("now and then");
    });
    BOOST_TEST_REQUIRE(w.run_to([&] { return one.count(kind::failed) == 5u; }));

    auto const pauses = one.pauses();
    BOOST_TEST((pauses[2] >= 4s && pauses[2] <= 8s));
    BOOST_TEST((pauses[3] >= 1s && pauses[3] <= 2s));
    BOOST_TEST((pauses[4] >= 2s && pauses[4] <= 4s));
}

BOOST_FIXTURE_TEST_CASE(elect_with_a_body_that_cancels_itself_or_releases_has_failed, one_manager)
{
    candidate cancels(w, *locks, {}, [](lock&) -> asio::awaitable<elected> {
        throw system_error(asio::error::operation_aborted);
        co_return elected::done;
    });
    BOOST_TEST((code_of(cancels.run_to(kind::failed).exception) == asio::error::operation_aborted));
    candidate releases(w, *locks, {}, [](lock& l) -> asio::awaitable<elected> {
        co_await l.async_release();
        co_return elected::step_down;
    });
    BOOST_TEST((code_of(releases.run_to(kind::failed).exception) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(elect_with_a_lock_error_thrown_by_the_body_reports_failed, one_manager)
{
    auto const blocker = w.acquire(*locks, "another");
    for (auto const& wrong : {acquire_options{}, acquire_options{.ttl = 1ms}}) {
        candidate c(w, *locks, {}, [&](lock&) -> asio::awaitable<elected> {
            auto const inner = co_await locks->async_acquire("another", wrong);
            co_return elected::done;
        });
        c.run_to(kind::failed);
    }
}

// Losses

BOOST_FIXTURE_TEST_CASE(elect_after_a_loss_cancels_the_body_and_stands_when_it_ended, one_manager)
{
    body_counter s;
    std::optional<clock::time_point> body_ended;
    candidate one(w, *locks, {}, [&](lock&) -> asio::awaitable<elected> {
        body_counter::guard const here(s);
        co_await asio::this_coro::throw_if_cancelled(false);
        if (body_ended)
            co_await work_for(w, 1h);
        co_await asio::steady_timer(w.context, asio::steady_timer::time_point::max())
            .async_wait(asio::as_tuple(asio::use_awaitable));
        co_await uncancellable_work(w, 7s);  // stops slowly
        body_ended = w.now;
        co_return elected::step_down;
    });
    one.run_to(kind::elected);
    w.each([](auto& n) { n.entries.clear(); });
    auto const forgotten = w.now;
    one.run_to(kind::elected);

    BOOST_TEST(one.event_names() == "standing, elected, lost, standing, elected");
    BOOST_TEST_REQUIRE(body_ended.has_value());
    BOOST_TEST((*body_ended - forgotten <= 4s + 7s));  // a renewal is due after a third of the ttl
    BOOST_TEST((one.when[2] >= *body_ended));
    BOOST_TEST((one.told[2].error == errc::lost));
    BOOST_TEST(one.told[2].message.find("a majority of the nodes no longer has it") != std::string::npos);
    BOOST_TEST((one.when[3] == one.when[2]));  // without a pause
}

BOOST_FIXTURE_TEST_CASE(elect_with_a_short_ttl_waits_and_works_in_each_term, two_managers)
{
    int terms = 0, works_done = 0;
    auto const body = [&](lock&) -> asio::awaitable<elected> {
        ++terms;
        co_await work_for(w, 3s);  // longer than the ttl
        co_return ++works_done < 4 ? elected::step_down : elected::done;
    };
    auto blocker = w.acquire(*other, "stock", {.ttl = 5s});
    candidate one(w, *locks, {.ttl = 1s}, body);
    one.run_to(kind::ended);
    BOOST_TEST(!one.failure);
    BOOST_TEST(terms == 4);
    BOOST_TEST(works_done == 4);
    BOOST_TEST(one.count(kind::lost) == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_copies_what_its_options_name, two_managers)
{
    int events = 0;
    auto standing = [&] {
        std::string const group(60, 'g'), note(100, 'n');  // longer than a string keeps without an allocation
        auto const tell = [&events, kept = group](election_event) { events += kept == std::string(60, 'g'); };
        return elect(*locks, "stock", {.group = group, .note = note, .observe = tell}, works_for(w, 1s, elected::done));
    }();
    spawned election(w, std::move(standing));
    w.run_for(500ms);
    lock_info seen;
    other->async_inspect("stock", [&](error_code, lock_info i) { seen = std::move(i); });
    w.run_for(1s);
    BOOST_TEST(seen.note == std::string(100, 'n'));
    BOOST_TEST(election.succeeded());
    BOOST_TEST(events == 3);
    auto const groups = locks->stats().groups;
    BOOST_TEST(std::ranges::any_of(groups, [](auto& g) { return g.name == std::string(60, 'g'); }));
}

BOOST_FIXTURE_TEST_CASE(elect_ignores_the_result_of_a_body_after_a_loss, one_manager)
{
    for (bool const throws : {false, true}) {
        elect_options const brief{.ttl = 1s, .max_hold = 1s};
        candidate c(w, *locks, brief, [&, throws](lock&) -> asio::awaitable<elected> {
            co_await uncancellable_work(w, 2s);
            if (throws)
                throw std::runtime_error("interrupted");
            co_return elected::done;
        });
        BOOST_TEST((c.run_to(kind::lost).exception != nullptr) == throws);
        w.run_for(10s);
        BOOST_TEST(c.count(kind::failed) == 0u);
        BOOST_TEST(c.count(kind::lost) >= 4u);
        BOOST_TEST(!c.ended);
    }
}

BOOST_FIXTURE_TEST_CASE(elect_after_a_loss_ignores_operation_aborted_from_the_body, one_manager)
{
    candidate one(w, *locks, {.ttl = 1s, .max_hold = 1s}, works_until_cancelled(w));
    w.run_for(10s);
    BOOST_TEST(one.count(kind::lost) >= 9u);
    BOOST_TEST(one.count(kind::failed) == 0u);
    BOOST_TEST(!one.told[2].exception);
}

// Nodes that are down

BOOST_FIXTURE_TEST_CASE(elect_with_nodes_down_reports_it_once_and_waits, manager_of<3>)
{
    w.each([](auto& n) { n.reachable = false; });
    candidate one(w, *locks, {}, works_until_cancelled(w));
    w.run_for(10min);

    BOOST_TEST(one.event_names() == "standing, waiting for nodes");
    BOOST_TEST((one.told[1].error == errc::no_quorum));
    BOOST_TEST(one.told[1].message.find("server-1") != std::string::npos);
    BOOST_TEST((one.when[1] - one.when[0] <= 2s));
    w.each([](auto& n) { n.reachable = true; });
    w.run_for(1s);
    BOOST_TEST(one.is(kind::elected));
}

BOOST_FIXTURE_TEST_CASE(elect_while_standing_reports_nodes_down_and_up, two_managers)
{
    candidate one(w, *locks, {.ttl = 60s}, works_until_cancelled(w));
    one.run_to(kind::elected);
    candidate two(w, *other, {}, works_until_cancelled(w));
    w.run_for(1s);
    auto const set_reachable = [&](bool is) {
        w.each([is](auto& n) {
            n.reachable = is;
            n.break_connections();
        });
    };
    set_reachable(false);
    w.run_for(5s);
    BOOST_TEST(two.event_names() == "standing, waiting for nodes");
    set_reachable(true);
    w.run_for(5s);
    BOOST_TEST(two.event_names() == "standing, waiting for nodes, standing");
    BOOST_TEST(one.is(kind::elected));
}

BOOST_AUTO_TEST_CASE(elect_with_restarted_nodes_waits_for_the_end_of_quarantine)
{
    lock_world w(3);
    auto const locks = w.connected({.max_ttl = 30s});
    w.each([](auto& n) { n.restart(); });
    candidate one(w, *locks, {}, works_until_cancelled(w));
    w.run_for(10s);
    BOOST_TEST(one.event_names() == "standing, waiting for nodes");
    BOOST_TEST((one.told[1].error == errc::quarantined));
    BOOST_TEST(one.told[1].message.find("a majority votes again in 30000 ms") != std::string::npos);
    w.run_for(21s);
    BOOST_TEST(one.is(kind::elected));
}

BOOST_FIXTURE_TEST_CASE(elect_in_the_queue_of_its_manager_reports_nodes_down, manager_of<3>)
{
    w.each([](auto& n) { n.reachable = false; });
    candidate one(w, *locks, {}, works_until_cancelled(w));
    candidate two(w, *locks, {}, works_until_cancelled(w));
    w.run_for(10s);
    BOOST_TEST(one.event_names() == "standing, waiting for nodes");
    BOOST_TEST(two.event_names() == "standing, waiting for nodes");
}

BOOST_FIXTURE_TEST_CASE(elect_without_wait_still_waits_for_nodes, connected_to<3>)
{
    w.each([](auto& n) { n.reachable = false; });
    auto const before = locks->stats().rounds;
    candidate one(w, *locks, {.wait = 0s, .pause_min = 5s}, returns(elected::done));
    w.run_for(1min);
    BOOST_TEST(one.event_names() == "standing, waiting for nodes");
    BOOST_TEST(locks->stats().rounds - before >= 6u);
    BOOST_TEST(locks->stats().rounds - before <= 13u);  // one round each 5 to 10 s
    w.each([](auto& n) { n.reachable = true; });
    w.run_for(11s);
    BOOST_TEST(one.ended);
    BOOST_TEST(!one.failure);
}

// Errors that end the election

BOOST_FIXTURE_TEST_CASE(elect_with_a_limited_wait_throws_contended, two_managers)
{
    candidate one(w, *locks, {}, works_until_cancelled(w));
    one.run_to(kind::elected);
    for (auto const wait : {0ms, 3000ms}) {
        auto const began = w.now;
        candidate c(w, *other, {.wait = wait}, works_until_cancelled(w));
        auto const ended = c.run_to(kind::ended);
        BOOST_TEST((w.now - began >= wait));
        BOOST_TEST((w.now - began <= wait + 100ms));
        BOOST_TEST((code_of(c.failure) == errc::contended));
        BOOST_TEST((ended.error == errc::contended));
        BOOST_TEST(c.message().find("\"stock\"") != std::string::npos);
        BOOST_TEST(c.message().find("; wait is " + std::to_string(wait.count()) + " ms") != std::string::npos);
    }
}

BOOST_FIXTURE_TEST_CASE(elect_with_an_invalid_option_throws_an_error_that_names_it, one_manager)
{
    auto const refusal_of = [&](elect_options o) {
        candidate c(w, *locks, std::move(o), works_until_cancelled(w));
        w.run_for(0ms);
        BOOST_TEST(c.ended);
        BOOST_TEST((code_of(c.failure) == errc::invalid_argument));
        BOOST_TEST(c.count(kind::elected) == 0u);
        return c.message();
    };
    BOOST_TEST(refusal_of({.ttl = 5ms})
               == "redlock: cannot stand for \"stock\": ttl is 5 ms, but must be 20 ms to max_ttl, which is 60000 ms");
    BOOST_TEST(
        refusal_of({.pause_min = 0ms}).find("pause_min is 0 ms, but must be 1 ms to pause_max, which is 60000 ms")
        != std::string::npos);
    BOOST_TEST(refusal_of({.at_least = 11s}).find("at_least is 11000 ms, but must be 0 to ttl, which is 10000 ms")
               != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(elect_with_an_empty_name_throws_invalid_argument, one_manager)
{
    BOOST_TEST((run(w, elect(*locks, "", {}, works_until_cancelled(w))).code() == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(elect_with_nodes_without_fencing_throws_unsupported)
{
    lock_world w(3);
    w.each([](auto& n) { n.fences = false; });
    auto const locks = w.manager({.fencing = true});
    candidate one(w, *locks, {}, works_until_cancelled(w));
    w.run_for(0ms);
    BOOST_TEST((code_of(one.failure) == errc::unsupported));
    BOOST_TEST((one.told.back().error == errc::unsupported));
}

namespace {

/// Brings a candidate into each state, and calls @p end there.
template <class End>
void in_each_state(End end)
{
    for (std::string const state : {"standing", "leading", "pausing", "waiting for nodes"}) {
        BOOST_TEST_CONTEXT(state) {
            lock_world w(3);
            auto locks = w.connected(), other = w.connected();
            candidate leader(w);
            if (state == "standing") {
                leader.stand(*other, {}, works_until_cancelled(w));
                leader.run_to(kind::elected);
            }
            if (state == "waiting for nodes")
                w.each([](auto& n) { n.reachable = false; });
            body_counter s;
            candidate one(w, *locks, {}, [&](lock&) -> asio::awaitable<elected> {
                body_counter::guard const here(s);
                if (state == "pausing")
                    throw std::runtime_error("the body has failed");
                co_await asio::this_coro::reset_cancellation_state(asio::enable_partial_cancellation());
                co_await work_for(w, 1000h);
                co_return elected::done;
            });
            w.run_for(500ms);
            BOOST_TEST(one.is(kind::elected) == (state == "leading"));
            BOOST_TEST(one.is(kind::failed) == (state == "pausing"));
            BOOST_TEST(one.is(kind::waiting_for_nodes) == (state == "waiting for nodes"));

            end(w, locks, one);

            BOOST_TEST(s.inside == 0);
            BOOST_TEST((code_of(one.failure) == asio::error::operation_aborted));
            BOOST_TEST(one.is(kind::ended));
            BOOST_TEST((one.told.back().error == asio::error::operation_aborted));
            BOOST_TEST(one.told.back().message == one.message());
            BOOST_TEST(one.count(kind::failed) == (state == "pausing" ? 1u : 0u));
            BOOST_TEST(w.keys_after(1s) == (state == "standing" ? 3u : 0u));
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(elect_cancelled_in_each_state_ends_and_releases)
{
    for (auto const type : {asio::cancellation_type::terminal, asio::cancellation_type::partial})
        in_each_state([type](lock_world& w, auto&, candidate& one) {
            one.cancel.emit(type);
            w.run_for(10ms);
            BOOST_TEST(one.ended);
            BOOST_TEST(one.message() == "redlock: no longer stands for \"stock\": it was cancelled");
        });
}

BOOST_AUTO_TEST_CASE(elect_in_each_state_ends_and_releases_when_the_manager_ends)
{
    for (bool const destroyed : {false, true})
        in_each_state([destroyed](lock_world& w, std::unique_ptr<lock_manager>& locks, candidate& one) {
            if (destroyed)
                locks.reset();
            else
                BOOST_TEST(!w.shutdown(*locks));
            w.run_for(10ms);
            BOOST_TEST(one.ended);
            BOOST_TEST(one.message() == "redlock: no longer stands for \"stock\": the manager was shut down");
        });
}

BOOST_FIXTURE_TEST_CASE(elect_with_total_cancellation_lets_the_body_finish, one_manager)
{
    candidate one(w, *locks, {}, [&](lock& l) -> asio::awaitable<elected> {
        co_await work_for(w, 1min);
        BOOST_TEST(l.held());
        co_return elected::step_down;
    });
    one.run_to(kind::elected);
    one.cancel.emit(asio::cancellation_type::total);
    w.run_for(59s);
    BOOST_TEST(!one.ended);
    w.run_for(2s);
    BOOST_TEST(one.ended);
    BOOST_TEST((code_of(one.failure) == asio::error::operation_aborted));
    BOOST_TEST(one.event_names() == "standing, elected, ended");
}

BOOST_FIXTURE_TEST_CASE(elect_cancelled_with_a_body_that_is_done_reports_no_error, one_manager)
{
    candidate one(w, *locks, {}, works_stubbornly(w, 1min, elected::done));
    one.run_to(kind::elected);
    one.cancel.emit(asio::cancellation_type::terminal);
    one.run_to(kind::ended);
    BOOST_TEST(!one.failure);
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_cancelled_reports_another_exception_of_the_body, one_manager)
{
    candidate one(w, *locks, {}, [&](lock&) -> asio::awaitable<elected> {
        co_await uncancellable_work(w, 1min);
        throw std::runtime_error("while cleaning up");
    });
    one.run_to(kind::elected);
    one.cancel.emit(asio::cancellation_type::terminal);
    one.run_to(kind::ended);
    BOOST_TEST((code_of(one.failure) == asio::error::operation_aborted));
    BOOST_CHECK_THROW(std::rethrow_exception(one.told.back().exception), std::runtime_error);
}

BOOST_FIXTURE_TEST_CASE(elect_after_manager_destruction_holds_until_the_body_ends, two_managers)
{
    body_counter s;
    auto const stubborn = [&](lock&) -> asio::awaitable<elected> {
        body_counter::guard const here(s);
        co_await uncancellable_work(w, 1min);
        co_return elected::step_down;
    };
    candidate one(w, *locks, {}, stubborn);
    one.run_to(kind::elected);
    candidate two(w, *other, {}, stubborn);
    locks.reset();
    two.run_to(kind::elected);
    BOOST_TEST((code_of(one.failure) == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(elect_begun_after_manager_destruction_throws_operation_aborted, one_manager)
{
    auto standing = elect(*locks, "stock", {}, works_until_cancelled(w));
    locks.reset();
    w.run_for(1s);
    BOOST_TEST((run(w, std::move(standing)).code() == asio::error::operation_aborted));
}

// elect_options::at_least

BOOST_FIXTURE_TEST_CASE(elect_at_least_keeps_the_lock_for_exactly_that_time, two_managers)
{
    std::uint64_t renewals = 0;
    auto const began = w.now;
    candidate one(w, *locks, {.at_least = 8s}, [&](lock&) -> asio::awaitable<elected> {
        co_await work_for(w, 4s);
        renewals = locks->stats().renewals;
        co_return elected::done;
    });
    one.run_to(kind::ended);
    BOOST_TEST((w.now - began <= 4s + 10ms));  // elect does not wait for at_least
    BOOST_TEST(!one.failure);

    candidate two(w, *other, {.wait = 0s}, works_until_cancelled(w));
    two.run_to(kind::ended);
    BOOST_TEST((code_of(two.failure) == errc::contended));  // a cron job that starts late
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w.run_until(began + 8s - 1ms);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(w.keys_after(10ms) == 0u);
    BOOST_TEST(locks->stats().renewals == renewals);
    BOOST_TEST(renewals == 1u);
}

BOOST_FIXTURE_TEST_CASE(elect_at_least_shorter_than_the_body_releases_at_once, one_manager)
{
    candidate one(w, *locks, {.at_least = 8s}, works_for(w, 9s, elected::done));
    one.run_to(kind::ended);
    BOOST_TEST(w.keys_after(10ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_waits_until_at_least_is_over, two_managers)
{
    for (auto* by : {other.get(), locks.get()}) {
        auto const began = w.now;
        candidate one(w, *locks, {.at_least = 10s}, returns(elected::done));
        one.run_to(kind::ended);
        candidate two(w, *by, {}, works_until_cancelled(w));
        two.run_to(kind::elected);
        BOOST_TEST((w.now - began >= 10s));
        BOOST_TEST((w.now - began <= 10s + 100ms));

        candidate third(w, *locks, {}, returns(elected::done));  // of the manager that keeps the lock
        w.run_for(1s);
        BOOST_TEST(third.event_names() == "standing");
    }
}

BOOST_FIXTURE_TEST_CASE(elect_at_least_without_done_releases_at_once, one_manager)
{
    auto const keeps_nothing_after = [this](kind end, auto body) {
        candidate c(w, *locks, {.at_least = 10s}, body);
        if (end == kind::ended) {
            c.run_to(kind::elected);
            c.cancel.emit(asio::cancellation_type::terminal);
        }
        c.run_to(end);
        BOOST_TEST(w.keys_after(10ms) == 0u);
    };
    keeps_nothing_after(kind::stepped_down, returns(elected::step_down));
    keeps_nothing_after(kind::failed, fails());
    keeps_nothing_after(kind::ended, works_until_cancelled(w));
}

BOOST_FIXTURE_TEST_CASE(elect_at_least_does_not_keep_a_lost_lock, one_manager)
{
    candidate one(w, *locks, {.ttl = 10s, .max_hold = 9'800ms, .at_least = 10s},
                  [&](lock&) -> asio::awaitable<elected> {
                      co_await uncancellable_work(w, 9'600ms);  // lost at 9.3 s; its keys expire at 10 s
                      co_return elected::done;
                  });
    one.run_to(kind::lost);
    auto const lost = w.now;
    one.run_to(kind::elected);
    BOOST_TEST((w.now - lost <= 10ms));
}

BOOST_FIXTURE_TEST_CASE(elect_at_least_does_not_delay_shutdown_which_leaves_the_keys, one_manager)
{
    auto const began = w.now;
    candidate one(w, *locks, {.at_least = 8s}, returns(elected::done));
    one.run_to(kind::ended);
    BOOST_TEST(!w.shutdown(*locks));
    BOOST_TEST((w.now - began <= 100ms));
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w.run_until(began + 9s);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w.run_until(began + 11s);
    BOOST_TEST(w.keys("lock:stock") == 0u);  // the ttl is over
}

BOOST_AUTO_TEST_CASE(elect_at_least_keeps_the_lock_if_done_after_a_stop)
{
    for (bool const cancelled : {false, true}) {
        one_manager f;
        auto const began = f.w.now;
        candidate one(f.w, *f.locks, {.at_least = 8s}, works_stubbornly(f.w, 1s, elected::done));
        one.run_to(kind::elected);
        if (cancelled)
            one.cancel.emit(asio::cancellation_type::terminal);
        else
            BOOST_TEST(!f.w.shutdown(*f.locks));
        if (!one.ended)
            one.run_to(kind::ended);
        BOOST_TEST(!one.failure);
        BOOST_TEST((f.w.now - began <= 1s + 100ms));
        f.w.run_until(began + 8s - 1ms);
        BOOST_TEST(f.w.keys("lock:stock") == 3u);
        // A manager that has been shut down leaves the keys to their ttl.
        BOOST_TEST(f.w.keys_after(cancelled ? 10ms : 0ms) == (cancelled ? 0u : 3u));
    }
}

// elect_options::observe

BOOST_FIXTURE_TEST_CASE(elect_with_an_observer_that_throws_succeeds, one_manager)
{
    int told = 0;
    auto const tell = [&](election_event) {
        ++told;
        throw std::runtime_error("no disk");
    };
    BOOST_TEST(run(w, elect(*locks, "stock", {.observe = tell}, returns(elected::done))).succeeded());
    BOOST_TEST(told == 3);
}

BOOST_AUTO_TEST_CASE(elect_observer_may_cancel_or_destroy_the_manager)
{
    for (bool const cancels : {true, false}) {
        for (auto const at :
             {kind::standing, kind::waiting_for_nodes, kind::elected, kind::lost, kind::failed, kind::stepped_down}) {
            BOOST_TEST_CONTEXT(to_string(at) << (cancels ? ", cancels" : ", ends the manager")) {
                lock_world w(3);
                auto locks = w.connected();
                candidate one(w);
                one.then = [&](kind k) {
                    if (k == at && cancels)
                        one.cancel.emit(asio::cancellation_type::terminal);
                    else if (k == at)
                        locks.reset();
                };
                if (at == kind::waiting_for_nodes)
                    w.each([](auto& n) { n.reachable = false; });
                one.stand(*locks, {.ttl = 1s, .wait = 0s, .max_hold = 1s}, [&](lock&) -> asio::awaitable<elected> {
                    if (at == kind::failed)
                        throw std::runtime_error("the body has failed");
                    if (at != kind::stepped_down)
                        co_await work_for(w, 1h);
                    co_return elected::step_down;
                });
                w.run_for(2s);
                BOOST_TEST(one.count(at) == 1u);
                BOOST_TEST(one.count(kind::elected)
                           == (at == kind::standing || at == kind::waiting_for_nodes ? 0u : 1u));
                BOOST_TEST(one.ended);
                BOOST_TEST((code_of(one.failure) == asio::error::operation_aborted));
                BOOST_TEST(w.keys("lock:stock") == 0u);
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(elect_without_observer_accepts_a_move_only_body, one_manager)
{
    struct body {
        explicit body(int n) : owned(std::make_unique<int>(n)) {}

        asio::awaitable<elected> operator()(lock&) { co_return ++*owned == 42 ? elected::step_down : elected::done; }

        std::unique_ptr<int> owned;
    };
    BOOST_TEST(run(w, elect(*locks, "stock", {}, body(41))).succeeded());
}

BOOST_AUTO_TEST_CASE(elect_pauses_follow_the_manual_clock)
{
    auto const nodes = {memory_server::at("a"), memory_server::at("b"), memory_server::at("c")};
    auto const clock = std::make_shared<testing::manual_clock>();
    asio::io_context context;
    lock_manager locks(context, {.nodes = {"memory://a", "memory://b", "memory://c"}, .test_clock = clock});
    int terms = 0;
    auto body = [&](lock&) -> asio::awaitable<elected> {
        if (++terms == 1)
            throw std::runtime_error("the body has failed");
        co_return elected::done;
    };
    bool done = false;
    asio::co_spawn(context, elect(locks, "stock", {.pause_min = 1h, .pause_max = 2h}, body),
                   [&](std::exception_ptr e) { done = !e; });
    clock->advance(context, 59min);
    BOOST_TEST(terms == 1);
    clock->advance(context, 2h);
    BOOST_TEST(terms == 2);
    BOOST_TEST(done);
}

// The thread sanitizer checks that observer, body and pauses of a candidate never run at the same time.
BOOST_AUTO_TEST_CASE(elect_on_a_thread_pool_never_runs_two_bodies_at_once, *boost::unit_test::label("threads"))
{
    auto const nodes = {memory_server::at("pool1"), memory_server::at("pool2"), memory_server::at("pool3")};
    asio::thread_pool pool(4);
    lock_manager locks(pool, {.nodes = {"memory://pool1", "memory://pool2", "memory://pool3"}});
    std::atomic<int> inside = 0, together = 0;
    auto const stand = [&]() -> asio::awaitable<int> {
        int terms = 0, events = 0;
        auto const tell = [&](election_event) { ++events; };
        elect_options const options{.pause_min = 1ms, .pause_max = 2ms, .observe = tell};
        auto body = [&](lock&) -> asio::awaitable<elected> {
            together += ++inside > 1;
            ++events;
            co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
            --inside;
            if (++terms % 3 == 0)
                throw std::runtime_error("now and then");
            co_return terms < 10 ? elected::step_down : elected::done;
        };
        co_await elect(locks, "stock", std::move(options), std::move(body));
        co_return terms;
    };
    std::vector<std::future<int>> all;
    for (int i = 0; i < 8; ++i)
        all.push_back(asio::co_spawn(pool, stand(), asio::use_future));
    for (auto& a : all)
        BOOST_TEST(a.get() >= 10);
    BOOST_TEST(together == 0);
    locks.async_shutdown(asio::use_future).get();
    pool.join();
}

// The body ends on another thread than that of the manager's strand.
BOOST_AUTO_TEST_CASE(elect_at_least_keeps_the_lock_on_other_threads, *boost::unit_test::label("threads"))
{
    auto const server = memory_server::at("at-least");
    asio::thread_pool bodies(1), pool(1);
    lock_manager locks(pool, {.nodes = {"memory://at-least"}});
    for (int i = 0; i < 20; ++i) {
        auto const name = "job:" + std::to_string(i);
        auto const body = [&](lock&) -> asio::awaitable<elected> {
            co_await asio::post(bodies, asio::use_awaitable);
            co_return elected::done;
        };
        asio::co_spawn(bodies, elect(locks, name, {.ttl = 30s, .wait = 0s, .at_least = 30s}, body), asio::use_future)
            .get();
        BOOST_TEST_REQUIRE(server->value("lock:" + name).has_value());
    }
    pool.stop();
    pool.join();
    bodies.join();
}

BOOST_AUTO_TEST_SUITE_END()
