// Counts how often queues, held locks and scopes examine each of ten thousand objects. Each call of a test object
// counts.

#include "locks/held_lock.hpp"
#include "locks/held_locks.hpp"
#include "locks/scopes/scope_state.hpp"
#include "locks/waiters.hpp"
#include "support/virtual_world.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(crowds)

namespace {

constexpr std::size_t crowd = 10'000;
constexpr std::size_t few = 100;  // calls of each object: enough for N log N, not for N * N

std::size_t looks = 0;

struct counted_waiter final : locks::waiter {
    explicit counted_waiter(redlock::mode m, std::string holds = {}, bool several = false)
        : mode(m), holds(std::move(holds)), several(several)
    {
    }

    void wake() override
    {
        ++looks;
        last_woken = this;
    }
    bool stopped() const noexcept override { return ++looks, false; }
    bool wants_several() const noexcept override { return ++looks, several; }
    bool takes_over() const noexcept override { return ++looks, !several; }
    bool wants_any() const noexcept override { return ++looks, false; }
    bool shares() const noexcept override { return ++looks, mode == mode::shared; }
    std::string_view holds_up_to() const noexcept override { return ++looks, holds; }
    bool awaits(core::watched, std::size_t, std::string_view) const override { return ++looks, true; }
    void may_be_free(core::watched, std::size_t, std::string_view) override { ++looks; }

    redlock::mode const mode;
    std::string const holds;
    bool const several;
    std::optional<locks::waiters::place> place{};
    static inline counted_waiter* last_woken = nullptr;
};

struct queue_of_waiters {
    queue_of_waiters() { looks = 0; }
    ~queue_of_waiters()
    {
        for (auto& w : waiters)
            w.place.reset();
        BOOST_TEST(looks < few * crowd);
    }

    locks::waiters::place& enter(redlock::mode m, std::string holds = {}, bool several = false)
    {
        auto& w = waiters.emplace_back(m, std::move(holds), several);
        return w.place.emplace(all, std::span<std::string const>(name), w);
    }

    /// Each waiter gets the lock in its turn, and leaves.
    void get_all()
    {
        std::size_t got = 0;
        for (all.freed("stock", clock::time_point());
             auto* const first = std::exchange(counted_waiter::last_woken, nullptr); ++got) {
            first->place->got(name);
            first->place->met(errc::contended, nullptr);
            first->place.reset();
        }
        BOOST_TEST(got == waiters.size());
    }

    std::vector<std::string> const name{"stock"};
    locks::waiters all{32};
    std::deque<counted_waiter> waiters;
};

struct counted_observer final : locks::queue_observer {
    void met(error_code, quorum::round const*) noexcept override
    {
        ++looks;
        ++times;
    }

    std::size_t times = 0;
};

std::string number(std::size_t i)
{
    auto const digits = std::to_string(i);
    return std::string(5 - digits.size(), '0') + digits;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(waiters_with_many_readers_examine_each_a_few_times, queue_of_waiters)
{
    for (std::size_t i = 0; i < crowd; ++i)
        enter(mode::shared);
    for (std::size_t i = 0; i < crowd; ++i)
        BOOST_TEST_REQUIRE(!all.wanted_alone("stock"));
    get_all();
}

BOOST_FIXTURE_TEST_CASE(waiters_with_readers_and_writers_examine_each_a_few_times, queue_of_waiters)
{
    for (std::size_t i = 0; i < crowd; ++i)
        enter(i % 2 == 0 ? mode::shared : mode::exclusive);
    for (std::size_t i = 0; i < crowd; ++i)
        BOOST_TEST_REQUIRE(all.wanted_alone("stock"));
    get_all();
}

// The waiter of an owner precedes the first set whose owner holds less.
BOOST_FIXTURE_TEST_CASE(waiters_with_owners_and_sets_examine_each_a_few_times, queue_of_waiters)
{
    for (std::size_t i = 0; i < crowd / 2; ++i)
        enter(mode::exclusive, number(crowd - i), true);
    for (std::size_t i = 0; i < crowd / 2; ++i)
        enter(i % 2 == 0 ? mode::shared : mode::exclusive, number(2 * i + 1));

    BOOST_TEST(waiters.back().place->ahead() == 2u);
    get_all();
}

BOOST_FIXTURE_TEST_CASE(waiters_are_ordered_by_what_their_owners_hold, queue_of_waiters)
{
    enter(mode::exclusive, "m", true);
    enter(mode::exclusive, "d", true);
    enter(mode::exclusive, "d", true);
    enter(mode::shared);

    enter(mode::exclusive, "z");  // before all sets
    enter(mode::shared, "e");     // before the sets that hold d
    enter(mode::exclusive, "d");  // at the end

    auto const ahead = [this] {
        std::vector<std::size_t> all_of_them;
        for (auto const& w : waiters)
            all_of_them.push_back(w.place->ahead());
        return all_of_them;
    };
    BOOST_TEST((ahead() == std::vector<std::size_t>{1, 3, 4, 5, 0, 2, 6}));
    waiters[1].place->step_back();
    BOOST_TEST((ahead() == std::vector<std::size_t>{1, 6, 3, 4, 0, 2, 5}));
    waiters[5].place->got(name);  // readers move to the front, and a waiter moves before each set that holds less
    BOOST_TEST((ahead() == std::vector<std::size_t>{3, 6, 4, 1, 2, 0, 5}));
}

BOOST_FIXTURE_TEST_CASE(wanted_alone_after_the_writers_have_stopped_is_false, queue_of_waiters)
{
    enter(mode::shared);
    enter(mode::exclusive);
    enter(mode::exclusive);
    BOOST_TEST(all.wanted_alone("stock"));

    waiters[1].place->stops();
    waiters[1].place->stops();
    BOOST_TEST(all.wanted_alone("stock"));
    waiters[2].place.reset();
    BOOST_TEST(!all.wanted_alone("stock"));
}

// Each election reports an outcome to the queue. Observers that already know this outcome are not notified again.
BOOST_FIXTURE_TEST_CASE(observe_notifies_each_observer_once_of_the_same_outcome, queue_of_waiters)
{
    std::deque<std::shared_ptr<counted_observer>> observers;
    for (std::size_t i = 0; i < crowd; ++i) {
        enter(mode::exclusive);
        all.observe("stock", observers.emplace_back(std::make_shared<counted_observer>()));
    }
    auto const late = std::make_shared<counted_observer>();

    waiters.front().place->met(errc::contended, nullptr);
    all.observe("stock", late);
    get_all();

    BOOST_TEST(observers.front()->times == 1u);
    BOOST_TEST(late->times == 1u);
}

BOOST_FIXTURE_TEST_CASE(observe_again_notifies_again_of_the_same_outcome, queue_of_waiters)
{
    auto const one = std::make_shared<counted_observer>();
    auto const other = std::make_shared<counted_observer>();
    enter(mode::exclusive);
    all.observe("stock", one);
    all.observe("stock", other);

    waiters.front().place->met(errc::no_quorum, nullptr);
    all.observe("stock", one);
    waiters.front().place->met(errc::no_quorum, nullptr);
    BOOST_TEST(one->times == 2u);
    BOOST_TEST(other->times == 1u);

    waiters.front().place->met(errc::contended, nullptr);
    BOOST_TEST(other->times == 2u);
}

BOOST_AUTO_TEST_CASE(turn_in_a_scope_wakes_each_waiter_a_few_times)
{
    auto const scope = std::make_shared<locks::scope_state>(nullptr);
    std::size_t woken = 0;
    std::deque<resource_set> names;
    std::deque<locks::scope_state::turn> turns;
    for (std::size_t i = 0; i < crowd; ++i)
        turns.emplace_back(*scope, names.emplace_back(number(i)), [&] { ++woken; });

    BOOST_TEST(turns.front().has_come());
    for (; !turns.empty(); turns.pop_front())
        BOOST_TEST_REQUIRE(turns.front().has_come());

    BOOST_TEST(woken == crowd - 1);
}

namespace {

/// A held lock that no acquisition can join. It is held until @ref is_held is set to false.
struct counted_lock final : locks::held_lock_entry {
    counted_lock(locks::group_counters& in, redlock::mode m)
        : locks::held_lock_entry(locks::lock_origin{1, in, {}}, "stock"),
          given(std::make_shared<quorum::grant>(quorum::key_list{"lock:stock"}, "token", 1, m))
    {
    }

    bool held() const noexcept override { return ++looks, is_held; }
    clock::time_point valid_until() const noexcept override { return ++looks, clock::time_point(1h); }
    std::shared_ptr<quorum::grant> const& grant() const noexcept override { return given; }
    std::chrono::milliseconds longest_ttl() const noexcept override { return 1s; }
    redlock::mode mode() const noexcept override { return ++looks, given->mode; }
    bool give_back() override { return false; }
    bool is_detached() const noexcept override { return false; }
    bool leaves_keys() const noexcept override { return false; }
    bool is_wanted() const noexcept override { return ++looks, wanted; }
    std::shared_ptr<locks::handle_state> join(acquire_options const&, clock::time_point) override
    {
        return ++looks, nullptr;
    }
    void key_may_be_gone(std::size_t) override { ++looks; }
    void others_changed() override { ++looks; }
    bool keeps_readers_out() const noexcept override { return ++looks, keeps_out; }
    void stop() noexcept override {}
    void abandon() override {}

    std::shared_ptr<quorum::grant> const given;
    bool is_held = true;
    bool wanted = false;
    bool keeps_out = false;
};

struct held_by_many {
    held_by_many()
    {
        auto node = std::make_shared<scripted_node>(w, *w.servers.front(), "server");
        manager_options settings{.nodes = {"server"}};
        state = locks::manager_state::make(w.context.get_executor(), std::make_shared<virtual_runtime>(w),
                                           std::move(settings), {std::move(node)});
        looks = 0;
    }
    ~held_by_many()
    {
        for (auto const& h : added)
            state->held_locks.remove(*h);
        BOOST_TEST(looks < few * crowd);
    }

    counted_lock& add(redlock::mode m = mode::shared, bool wanted = false)
    {
        auto h = std::make_shared<counted_lock>(in, m);
        h->wanted = wanted;
        state->held_locks.add(h);
        return *added.emplace_back(std::move(h));
    }

    bool is_held(redlock::mode m) { return state->held_locks.held_until(name, m).has_value(); }

    void set_free(counted_lock& h)
    {
        h.is_held = false;
        state->held_locks.set_free(h, clock::time_point());
    }

    lock_world w{1};
    std::shared_ptr<locks::manager_state> state;
    locks::group_counters in;
    std::vector<std::string> const name{"stock"};
    std::deque<std::shared_ptr<counted_lock>> added;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(held_locks_that_share_a_name_are_examined_a_few_times, held_by_many)
{
    auto const& all = state->held_locks;
    for (std::size_t i = 0; i < crowd; ++i) {
        add();
        BOOST_TEST_REQUIRE(!all.join("stock", {}, clock::time_point(), true));
        BOOST_TEST_REQUIRE(!all.join("stock", {}, clock::time_point(), false));
    }
    for (std::size_t i = 0; i < crowd; ++i) {
        BOOST_TEST_REQUIRE(is_held(mode::exclusive));
        BOOST_TEST_REQUIRE(!is_held(mode::shared));
        BOOST_TEST_REQUIRE(!all.held_alone("stock"));
        BOOST_TEST_REQUIRE(!all.upgrade_waits("stock"));
        state->held_locks.changed(core::watched::readers, 0, "stock");
        set_free(*added[i]);
    }
    BOOST_TEST(!is_held(mode::exclusive));
}

BOOST_FIXTURE_TEST_CASE(held_until_for_readers_is_set_while_a_lock_keeps_them_out, held_by_many)
{
    auto& upgraded = add();
    add();
    BOOST_TEST(!is_held(mode::shared));

    upgraded.keeps_out = true;
    state->held_locks.changed_mode(upgraded);
    add();
    BOOST_TEST(is_held(mode::shared));
    BOOST_TEST(state->held_locks.upgrade_waits("stock"));
    upgraded.keeps_out = false;
    BOOST_TEST(!is_held(mode::shared));
    state->held_locks.changed_mode(upgraded);
    BOOST_TEST(is_held(mode::exclusive));
    for (auto const& h : added)
        set_free(*h);
    BOOST_TEST(!is_held(mode::exclusive));
}

// The servers have forgotten the shared locks, so the new lock is exclusive.
BOOST_FIXTURE_TEST_CASE(held_locks_with_a_new_exclusive_lock_replace_the_shared_ones, held_by_many)
{
    add(mode::shared, true);
    add();
    auto& alone = add(mode::exclusive);
    BOOST_TEST(state->held_locks.held_alone("stock"));
    set_free(*added[0]);
    set_free(*added[1]);
    BOOST_TEST(is_held(mode::exclusive));
    auto& reader = add();
    BOOST_TEST(!state->held_locks.held_alone("stock"));
    set_free(alone);
    BOOST_TEST(is_held(mode::exclusive));
    set_free(reader);
    BOOST_TEST(!is_held(mode::exclusive));
}

BOOST_AUTO_TEST_SUITE_END()
