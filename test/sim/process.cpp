#include "sim/process.hpp"

#include "core/key.hpp"
#include "locks/manager_state.hpp"
#include "runtime/runtime.hpp"
#include "sim/owner.hpp"
#include "sim/watched_node.hpp"
#include "sim/worker.hpp"
#include "sim/world.hpp"
#include "stores/redis/redis_node.hpp"
#include "support/balance.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <ctime>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace redlock::sim {

process*& current_process() noexcept
{
    static thread_local process* current = nullptr;
    return current;
}

namespace {

/// The manager's runtime. Time, alarms and random bits come from the world.
class sim_runtime final : public runtime::runtime {
public:
    sim_runtime(world& w, process& p, asio::any_io_executor executor)
        : runtime::runtime(redlock::runtime::strand(std::move(executor))), world_(w), process_(p)
    {
    }

    ~sim_runtime() override { forget_call(); }

    std::uint64_t wall_clock() const noexcept override { return process_.wall_clock(); }

    std::array<std::uint64_t, 2> random() override { return {world_.random.roll(), world_.random.roll()}; }

private:
    // The process may be paused before and after it reads the clock.
    clock::time_point read_clock() const noexcept override
    {
        process_.may_stall();
        auto const t = clock::now();  // the real function, which reads the process' clock
        process_.may_stall();
        return t;
    }

    void wake_at(clock::time_point at, std::function<void()> ring) override
    {
        auto const call = ++*calls_;
        auto const when = process_.true_time(at) + world_.random.between(0us, 100us);
        world_.at(when, [this, call, calls = calls_, ring = std::move(ring)] {
            if (*calls != call)
                return;
            asio::post(strand(), ring);
            process_.run();
        });
    }

    void forget_call() override { ++*calls_; }

    void drop_references() override { forget_call(); }

    world& world_;
    process& process_;
    std::shared_ptr<std::uint64_t> const calls_ = std::make_shared<std::uint64_t>(0);  // events keep it
};

double draw_rate(dice& random, double error)
{
    if (random.chance(0.5))  // extreme rates test the limits
        return random.chance(0.5) ? error : -error;
    return error * (2 * random.fraction() - 1);
}

}  // namespace

process::process(world& w, std::size_t index, unsigned incarnation)
    : world_(w),
      index_(index),
      name_(fmt::format("p{}.{}", index, incarnation)),
      rate_(draw_rate(w.random, w.conditions.rate_error)),
      offset_(w.random.between(0s, 1h)),
      wall_offset_(w.random.between(-w.conditions.wall_clock_error, w.conditions.wall_clock_error)),
      last_stall_(w.now - 1h),
      last_change_(w.now)
{
    settings_.owner = name_;
    settings_.node_timeout = 50ms;
    settings_.connect_timeout = 300ms;
    settings_.max_ttl = max_ttl;
    settings_.fencing = w.fencing;
    settings_.restart_guard = w.conditions.guard;
    settings_.log = [this](log_level, std::string_view line) { world_.tell("{} logs: {}", name_, line); };
    clocks_of const clocks(*this);
    work_ = std::make_unique<asio::executor_work_guard<asio::io_context::executor_type>>(context_.get_executor());
    world_.tell("{} begins", name_);
    if (w.instead()) {
        program_ = w.instead()->program(*this);
        return;
    }
    begin_manager();
    auto const count = 2 + w.random.below(2);
    if (w.conditions.locks == lock_kind::scopes) {
        for (std::size_t i = 0; i < 2 * count; ++i)
            owners.push_back(std::make_unique<owner>(w, *this, i));
        for (auto& o : owners)
            o->start();
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        workers.push_back(std::make_unique<worker>(w, *this, i));
        workers.back()->start();
    }
}

void process::begin_manager()
{
    std::vector<std::shared_ptr<node>> nodes;
    auto const executor = context_.get_executor();
    auto const runtime = std::make_shared<sim_runtime>(world_, *this, executor);
    auto const group = std::make_shared<stores::redis::group>(runtime);
    for (auto& s : world_.servers) {
        auto node = s->make_node(*this, settings_, group);
        settings_.nodes.push_back(node->name());
        nodes.push_back(std::make_shared<watched_node>(std::move(node), *this, *s));
    }
    auto const state = locks::manager_state::make(executor, runtime, settings_, std::move(nodes));
    state_ = state;
    locks_ = std::make_unique<lock_manager>(detail::access::make_manager<lock_manager>(state));
}

process::~process()
{
    world_.tell("{} ends", name_);
    clocks_of const clocks(*this);
    if (world_.random.chance(0.5))  // destroys either the manager or the context first
        survivor_ = std::move(locks_);
    locks_.reset();
    work_.reset();
}

// Steps

void process::run()
{
    if (stalled_ || depth_ > 0)
        return;
    ++depth_;
    {
        clocks_of const clocks(*this);
        context_.restart();
        while (!world_.failed() && context_.poll_one() > 0) {
            {
                observation const observing(*this);
                for (auto& w : workers)
                    w->check();
            }
            world_.check_exclusion();
            may_stall();
        }
    }
    --depth_;
}

void process::may_stall()
{
    if (depth_ == 0 || observing_ || stalled_ || current_process() != this || !world_.faults_on())
        return;
    if (world_.random.chance(world_.conditions.stall.chance))
        stall_for(world_.random.spread(100us, world_.conditions.stall.longest));
}

void process::stall_for(clock::duration d)
{
    auto const begun = world_.now;
    auto* const before = std::exchange(current_process(), nullptr);
    bool const asleep = world_.random.chance(0.3);
    world_.tell("{} stands still for {} us{}", name_, d / 1us, asleep ? ", asleep" : "");
    ++world_.result.faults;
    stalled_ = true;
    world_.run_until(begun + d);
    stalled_ = false;
    current_process() = before;
    auto const passed = world_.now - begun;
    if (asleep)
        slept_ += passed;
    stalled_in_all_ += passed;
    ++stalls_;
    last_stall_ = world_.now;
    world_.tell("{} goes on", name_);
}

bool process::undisturbed_for(clock::duration d) const noexcept { return !stalled_ && world_.now - last_stall_ > d; }

// Clocks

clock::time_point process::clock_now() const
{
    auto const passed = world_.now.time_since_epoch();
    return world_.now + offset_ + clock::duration(static_cast<clock::rep>(static_cast<double>(passed.count()) * rate_));
}

std::uint64_t process::wall_clock() const
{
    auto const passed = world_.now.time_since_epoch() + wall_offset_;
    return static_cast<std::uint64_t>(1'795'000'000'000'000 + passed / 1us);
}

clock::time_point process::steady_now() const { return clock_now() - slept_; }

clock::time_point process::true_time(clock::time_point local) const
{
    auto const shown = (local - offset_).time_since_epoch();
    return clock::time_point(
        clock::duration(static_cast<clock::rep>(static_cast<double>(shown.count()) / (1 + rate_))));
}

// A timer does not advance while the machine sleeps.
void process::set_timer(int descriptor, clock::duration d)
{
    look_at_timer(descriptor, ++timer_settings_, steady_now() + d);
}

void process::look_at_timer(int descriptor, std::uint64_t setting, clock::time_point due)
{
    auto const when = true_time(clock_now() + (due - steady_now())) + world_.random.between(0us, 100us);
    world_.at(when, [this, alive = std::weak_ptr(alive_), descriptor, setting, due] {
        if (alive.expired() || setting != timer_settings_)
            return;
        if (steady_now() < due)
            return look_at_timer(descriptor, setting, due);
        ::eventfd_write(descriptor, 1);
        run();
    });
}

void process::after(clock::duration d, std::function<void()> what)
{
    world_.after(d, [this, alive = std::weak_ptr(alive_), what = std::move(what)] {
        if (alive.expired())
            return;
        asio::post(context_, what);
        run();
    });
}

// Checks

void process::wants(std::string const& resource) { ++interests_[resource].count; }

void process::is_done_with(std::string const& resource)
{
    auto& i = interests_[resource];
    if (--i.count == 0)
        i.done = world_.now;
}

bool process::has_several(std::string const& token) const
{
    return std::count_if(workers.begin(), workers.end(), [&](auto& w) { return w->has(token); }) > 1;
}

// Readers of one process may share a token. The last one releases it.
void process::has_released(std::string const& token)
{
    if (has_several(token))
        return;
    released_.emplace(token, world_.now);
}

void process::checks_submission(node_operation const& o)
{
    if (o.command().which() == node_command::kind::acquire) {
        for (auto const& key : o.command().keys)
            asked_[key] = world_.now;
    }
    if (!o.command().prolongs() || !undisturbed_for(1s))
        return;
    auto const r = released_.find(std::string(o.command().value));
    if (r != released_.end() && world_.now > r->second + 1ms)
        world_.blame("{}: extends {}, which it has released", name_, o.command().key());
}

void process::checks_sending(node_command const& c, server const& s)
{
    if (c.which() == node_command::kind::acquire && !c.grows() && !tokens_.emplace(&s, std::string(c.value)).second)
        world_.blame("{}: sends a second acquisition of {} with the same token to {}", name_, c.key(), s.name);
}

void process::disturbed_until(server const& s, clock::time_point when)
{
    auto& known = disturbed_[&s];
    known = std::max(known, when);
}

void process::contact_changed(server const& s) { last_change_ = last_change_to_[&s] = world_.now; }

bool process::in_touch_for(clock::duration d) const
{
    constexpr auto quarantine = 2 * max_ttl;
    auto const calm = std::max(last_change_, last_stall_);
    return !stalled_ && !shutting_down_ && world_.now - calm > d
           && std::all_of(world_.servers.begin(), world_.servers.end(), [&](auto& s) {
                  auto const disturbed = disturbed_.find(s.get());
                  return s->alive() && !s->paused() && !s->refuses() && world_.partition(*this, *s) <= world_.now
                         && (s->started() == clock::time_point() || world_.now - s->started() > quarantine)
                         && (disturbed == disturbed_.end() || world_.now - disturbed->second > d);
              });
}

bool process::holds(resource_set const& wanted)
{
    observation const observing(*this);
    return std::any_of(workers.begin(), workers.end(), [&](auto& w) {
        auto const& theirs = w->resources();
        return std::find_first_of(theirs.begin(), theirs.end(), wanted.begin(), wanted.end()) != theirs.end()
               && w->holds();
    });
}

bool process::is_first_for(resource_set const& wanted)
{
    return world_.conditions.locks == lock_kind::single
           || std::all_of(wanted.begin(), wanted.end(), [this](auto& r) { return interests_[r].count == 1; });
}

clock::time_point process::asked_for(resource_set const& wanted)
{
    clock::time_point last{};
    for (auto const& r : wanted)
        last = std::max(last, asked_[settings_.prefix + r]);
    return last;
}

bool process::owns(stores::memory::lock_table::entry const& e) const
{
    return core::owner_in(e.value) == name_ && !world_.was_left(e.value);
}

void process::check_leftovers()
{
    if (shutting_down_ || !locks_ || stalled_)
        return;
    for (auto& s : world_.servers) {
        if (!s->alive() || s->paused() || s->refuses())
            disturbed_until(*s, world_.now);
        for (auto& [key, entry] : s->keys.entries) {
            if (!owns(entry) || s->came_late(entry) || entry.expires <= s->clock_now())
                continue;
            // The time of a release is known. If the lock was never acquired, only the use of its resource is known.
            auto const released = released_.find(entry.value);
            auto const resource = key.substr(settings_.prefix.size());
            auto const& i = interests_[resource.substr(0, resource.find(":=upgrade"))];
            if (released == released_.end() && i.count > 0)
                continue;
            auto const done = released == released_.end() ? i.done : released->second;
            auto const since = std::max({done, disturbed_[s.get()], last_change_to_[s.get()], last_stall_});
            if (world_.now - since > world_.conditions.leftover_bound)
                world_.blame("{}: left {} on {} behind, {} ms ago", name_, key, s->name, (world_.now - since) / 1ms);
        }
    }
}

// The end

void process::end_manager()
{
    world_.tell("{} destroys its manager", name_);
    {
        clocks_of const clocks(*this);
        for (auto& w : workers)
            w->manager_ends();
        locks_.reset();
    }
    run();
}

void process::stop_workers()
{
    {
        clocks_of const clocks(*this);
        for (auto& w : workers)
            w->stop();
        for (auto& o : owners)
            o->stop();
    }
    run();
}

void process::shut_down()
{
    if (!locks_)
        return;
    world_.tell("{} shuts down", name_);
    shutting_down_ = true;
    {
        clocks_of const clocks(*this);
        auto const begun = world_.now;
        clock::duration held{0};
        for (auto& w : workers) {
            // A release may race with an extension. After a loss, the holder still has time to stop.
            held = std::max(held, w->rest_of_validity() + (w->holds() ? max_ttl : 0ms));
            w->manager_ends();
        }
        for (auto& o : owners)
            held = std::max(held, o->rest_of_validity() + (o->holds() ? max_ttl : 0ms));
        locks_->async_shutdown({.keys_left_is_error = true}, [this, begun, held](error_code ec) {
            world_.tell("{} has shut down: {}", name_, ec ? ec.message() : "done");
            if (std::exchange(shut_down_, true))
                world_.blame("{}: its shutdown completed twice", name_);
            if (world_.now - begun > (held + settings_.connect_timeout + settings_.node_timeout) * 1.1 + 20ms)
                world_.blame("{}: its shutdown took {} ms", name_, (world_.now - begun) / 1ms);
            clean_ = !ec;
            check_clean(false);
        });
    }
    run();
}

// After a shutdown without an error, no server has a key of this process, now or later. Exception: on a session store
// that could not be reached, the key ends with its session.
void process::check_clean(bool sessions_are_over) const
{
    if (!clean_ || world_.conditions.jump.every > 0ms)  // nothing is promised if clocks jump
        return;
    for (auto& s : world_.servers) {
        if (s->has_sessions() && !sessions_are_over)
            continue;
        for (auto& [key, entry] : s->keys.entries) {
            if (owns(entry) && !s->came_late(entry) && entry.expires > s->clock_now())
                world_.blame("{}: left {} on {} behind, in spite of its shutdown", name_, key, s->name);
        }
    }
}

void process::check_that_nothing_is_left()
{
    for (auto& w : workers)
        w->check_all_completed();
    for (auto& o : owners)
        o->check_all_completed();
    if (locks_ && !shut_down_)
        world_.blame("{}: its shutdown never completed", name_);
    check_clean(true);
    if (locks_) {
        auto const s = locks_->stats();
        if (!test::is_balanced(s))
            world_.blame("{}: its counters do not balance: {} begun, {} acquired, {} joined, {} released, {} detached, "
                         "{} lost, {} held",
                         name_, s.begun, s.acquired, s.joined, s.released, s.detached, s.lost, s.held);
        if (s.held + s.running + s.cleaning > 0 && clean_)
            world_.blame("{}: after its shutdown it has {} locks held, {} operations, {} keys to clean up", name_,
                         s.held, s.running, s.cleaning);
    }
    {
        clocks_of const clocks(*this);
        for (auto& w : workers)
            w->forget();
        for (auto& o : owners)
            o->forget();
        locks_.reset();
        work_.reset();
    }
    run();
    if (!context_.stopped())
        world_.blame("{}: work is left on its event loop", name_);
    if (!state_.expired())
        world_.blame("{}: its state is still referred to", name_);
}

}  // namespace redlock::sim

// This program replaces `clock_gettime`: it shows the clocks of the process that is running. So the library reads
// virtual time with the real functions.
extern "C" int clock_gettime(clockid_t id, timespec* t) noexcept
{
    if (auto const* const p = redlock::sim::current_process(); p && (id == CLOCK_BOOTTIME || id == CLOCK_MONOTONIC)) {
        auto const shown = (id == CLOCK_BOOTTIME ? p->clock_now() : p->steady_now()).time_since_epoch();
        auto const seconds = std::chrono::floor<std::chrono::seconds>(shown);
        t->tv_sec = static_cast<time_t>(seconds.count());
        t->tv_nsec = static_cast<long>((shown - seconds).count());
        return 0;
    }
    return static_cast<int>(::syscall(SYS_clock_gettime, id, t));
}

// The timers of an event loop are virtual, too. It waits for a descriptor, which becomes readable in virtual time.
extern "C" int timerfd_create(clockid_t id, int flags) noexcept
{
    if (redlock::sim::current_process())
        return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return static_cast<int>(::syscall(SYS_timerfd_create, id, flags));
}

extern "C" int timerfd_settime(int descriptor, int flags, itimerspec const* after, itimerspec* before) noexcept
{
    auto* const p = redlock::sim::current_process();
    if (!p)
        return static_cast<int>(::syscall(SYS_timerfd_settime, descriptor, flags, after, before));
    eventfd_t rung;
    ::eventfd_read(descriptor, &rung);
    bool const at_once = (flags & TFD_TIMER_ABSTIME) != 0;
    p->set_timer(descriptor, at_once ? redlock::clock::duration(0)
                                     : std::chrono::seconds(after->it_value.tv_sec)
                                           + std::chrono::nanoseconds(after->it_value.tv_nsec));
    return 0;
}
