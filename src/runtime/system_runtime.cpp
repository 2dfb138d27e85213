#include "runtime/runtime.hpp"

#include <boost/asio/basic_waitable_timer.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <optional>
#include <sys/random.h>
#include <system_error>
#include <utility>

namespace redlock::inline v1 {

clock::time_point clock::now() noexcept
{
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    return time_point(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

namespace runtime {

namespace {

// The timers of the event loop do not run while the machine sleeps. So the runtime looks at the clock once a second.
// This bounds how long an expired lock counts as held after the machine wakes up.
struct wait_traits {
    static clock::duration to_wait_duration(clock::duration d)
    {
        return std::min<clock::duration>(d, std::chrono::seconds(1));
    }
    static clock::duration to_wait_duration(clock::time_point t) { return to_wait_duration(t - clock::now()); }
};

class system_runtime final : public runtime {
public:
    explicit system_runtime(asio::any_io_executor executor)
        : runtime(redlock::runtime::strand(std::move(executor))), timer_(std::in_place, urgent())
    {
    }

    std::uint64_t wall_clock() const noexcept override
    {
        auto const since_1970 = std::chrono::system_clock::now().time_since_epoch();
        return static_cast<std::uint64_t>(since_1970 / std::chrono::microseconds(1));
    }

    std::array<std::uint64_t, 2> random() override
    {
        std::array<std::uint64_t, 2> bits;
        // Read from the kernel each time: a fork would repeat the numbers of a generator in the process.
        while (::getrandom(bits.data(), sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
            if (errno != EINTR)
                throw std::system_error(errno, std::generic_category(), "getrandom");
        }
        return bits;
    }

private:
    clock::time_point read_clock() const noexcept override { return clock::now(); }

    void wake_at(clock::time_point at, std::function<void()> ring) override
    {
        timer_->expires_at(at);
        timer_->async_wait([ring = std::move(ring)](boost::system::error_code ec) {
            if (!ec)
                ring();
        });
    }

    void forget_call() override { timer_->cancel(); }

    void drop_references() override { timer_.reset(); }

    std::optional<asio::basic_waitable_timer<clock, wait_traits, redlock::runtime::strand>> timer_;
};

}  // namespace

std::shared_ptr<runtime> make_system_runtime(asio::any_io_executor executor)
{
    return std::make_shared<system_runtime>(std::move(executor));
}

}  // namespace runtime
}  // namespace redlock
