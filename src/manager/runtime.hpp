#pragma once

#include "manager/operation.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

namespace redlock {

namespace asio = boost::asio;

namespace detail {

/** All that the manager takes from the world except its nodes: where to run, the time, and chance.

    Tests put another one in its place and so own the time; the code above is the same.
*/
class runtime {
public:
    virtual ~runtime() = default;

    virtual detail::strand strand() const = 0;

    virtual clock::time_point now() const noexcept = 0;

    /// What the wall clock shows, in microseconds since 1970. It may be wrong, and jump.
    virtual std::uint64_t wall_clock() const noexcept = 0;

    /// 128 bits that nobody can guess, and that no fork, clone or restart repeats.
    virtual std::array<std::uint64_t, 2> random() = 0;

    /// Calls @p ring on the executor at @p at or soon after. Replaces the previous call.
    virtual void wake_at(clock::time_point at, std::function<void()> ring) = 0;

    /// Forgets the call that is due.
    virtual void stop() = 0;

    /// The execution context goes: lets go of what refers to it. The time can still be read, from any thread.
    virtual void abandon() = 0;
};

/// The real world.
std::unique_ptr<runtime> make_system_runtime(asio::any_io_executor executor);

}  // namespace detail
}  // namespace redlock
