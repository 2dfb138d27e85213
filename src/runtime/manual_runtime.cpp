#include "runtime/manual_runtime.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>

namespace redlock::inline v1 {

namespace testing {

struct manual_clock::state {
    std::atomic<clock::time_point> now{clock::time_point(std::chrono::hours(24))};
    std::mutex mutex;
    std::map<event, std::function<void()>> events;
    std::uint64_t last_event = 0;

    /// Moves the clock to the next event, unless the event comes after @p end. @return the function of the event
    std::function<void()> step(clock::time_point end)
    {
        std::lock_guard guard(mutex);
        if (events.empty() || events.begin()->first.first > end)
            return {};
        auto first = events.extract(events.begin());
        now = std::max(now.load(), first.key().first);
        return std::move(first.mapped());
    }
};

manual_clock::manual_clock() : state_(std::make_unique<state>()) {}

manual_clock::~manual_clock() = default;

clock::time_point manual_clock::now() const noexcept { return state_->now; }

void manual_clock::advance(asio::io_context& context, clock::duration d)
{
    auto const begun = now();
    auto const end = begun + std::clamp(d, clock::duration::zero(), clock::time_point::max() - begun);
    auto const handle = [&] {
        context.restart();
        context.poll();
    };
    handle();
    while (auto const happen = state_->step(end)) {
        happen();
        handle();
    }
    state_->now = end;
}

manual_clock::event manual_clock::at(clock::time_point when, std::function<void()> what)
{
    std::lock_guard guard(state_->mutex);
    event const e(when, ++state_->last_event);
    state_->events.emplace(e, std::move(what));
    return e;
}

void manual_clock::forget(event const& e)
{
    std::function<void()> gone;  // destroyed after the mutex is unlocked: its destructor may call forget()
    std::lock_guard guard(state_->mutex);
    if (auto const it = state_->events.find(e); it != state_->events.end()) {
        gone = std::move(it->second);
        state_->events.erase(it);
    }
}

}  // namespace testing

namespace runtime {

namespace {

/// Differs from the system runtime only in the time.
class manual_runtime final : public runtime {
public:
    manual_runtime(std::shared_ptr<runtime> system, std::shared_ptr<testing::manual_clock> clock)
        : runtime(system->strand()),
          clock_(std::move(clock)),
          system_(std::move(system)),
          began_(clock_->now()),
          wall_clock_(system_->wall_clock())
    {
    }

    ~manual_runtime() override { clock_->forget(due_); }

    std::uint64_t wall_clock() const noexcept override
    {
        return wall_clock_ + static_cast<std::uint64_t>((clock_->now() - began_) / std::chrono::microseconds(1));
    }

    std::array<std::uint64_t, 2> random() override { return system_->random(); }

private:
    clock::time_point read_clock() const noexcept override { return clock_->now(); }

    void wake_at(clock::time_point at, std::function<void()> ring) override
    {
        forget_call();
        due_ = clock_->at(at, [on = urgent(), ring = std::move(ring)] { asio::post(on, ring); });
    }

    void forget_call() override { clock_->forget(due_); }

    void drop_references() override
    {
        forget_call();
        system_->abandon();
    }

    std::shared_ptr<testing::manual_clock> const clock_;
    std::shared_ptr<runtime> const system_;
    clock::time_point const began_;
    std::uint64_t const wall_clock_;
    testing::manual_clock::event due_;
};

}  // namespace

std::shared_ptr<runtime> make_manual_runtime(asio::any_io_executor executor,
                                             std::shared_ptr<testing::manual_clock> clock)
{
    return std::make_shared<manual_runtime>(make_system_runtime(std::move(executor)), std::move(clock));
}

}  // namespace runtime
}  // namespace redlock
