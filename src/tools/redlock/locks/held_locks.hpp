#pragma once

#include <redlock/clock.hpp>
#include <redlock/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>

namespace redlock::cli {

namespace asio = boost::asio;

/// Locks that a command holds. They are acquired and released together.
class held_locks {
public:
    virtual ~held_locks() = default;

    virtual std::span<std::string const> resources() const noexcept = 0;

    /// Whether the locks are neither released nor lost, and still valid.
    virtual bool held() const noexcept = 0;

    /// The end of the validity. A renewal moves it.
    virtual clock::time_point valid_until() const noexcept = 0;

    /// The secret with which another process can release the locks.
    virtual std::string token() const = 0;
    virtual std::string owner() const = 0;  ///< the label of the holder; empty: there is none
    virtual std::uint64_t fencing_token() const noexcept = 0;

    /// Renews the locks once. They are lost if the error is `errc::lost` or `errc::not_held`.
    virtual asio::awaitable<error_code> extend(std::chrono::milliseconds ttl) = 0;

    /// @return `errc::not_held` if the locks were lost before
    virtual asio::awaitable<error_code> release() = 0;

    /// Waits until the locks are lost, a margin before the validity ends. @return false if they were released instead
    virtual asio::awaitable<bool> wait_lost() = 0;
};

/// How long before the end of the validity the locks count as lost.
inline std::chrono::milliseconds margin_of(std::chrono::milliseconds ttl)
{
    return std::min(std::max<std::chrono::milliseconds>(ttl / 20, std::chrono::milliseconds(50)), ttl / 5);
}

}  // namespace redlock::cli
