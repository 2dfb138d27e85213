#pragma once

#include "tools/redlock/locks/held_locks.hpp"
#include "tools/redlock/locks/service_client.hpp"

#include <redlock/mode.hpp>

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace redlock::cli {

/** Locks that a service has acquired. This process renews them: every third of the ttl, by the first instance that
    answers.

    No instance keeps anything for these locks. So the end of an instance loses none, and an instance that was paused
    releases none: another instance may have renewed them meanwhile.

    The validity counts from when the request was sent. If it ends, or if the service answers that the locks are not
    held any more, they are lost. A service cannot extend it beyond the ttl that was asked for.
*/
class service_locks final : public held_locks {
public:
    struct options {
        std::string id{};  ///< of the locks in the service
        std::vector<std::string> resources{};
        redlock::mode mode = redlock::mode::exclusive;
        std::uint64_t fencing_token = 0;
        std::chrono::milliseconds ttl{0};
        std::chrono::milliseconds max_hold{0};   ///< zero: there is no limit
        clock::time_point sent{};                ///< when the request was sent
        std::chrono::milliseconds valid_for{0};  ///< from then on, at most the ttl
        double drift_factor = 0;                 ///< see `manager_options::drift_factor`
        bool renews = true;
    };

    service_locks(std::shared_ptr<service_client>, options);

    /// Releases the locks in the background.
    ~service_locks() override;
    service_locks(service_locks const&) = delete;
    service_locks& operator=(service_locks const&) = delete;

    std::span<std::string const> resources() const noexcept override;
    bool held() const noexcept override;
    clock::time_point valid_until() const noexcept override;
    std::string token() const override;
    std::string owner() const override { return {}; }
    std::uint64_t fencing_token() const noexcept override;
    asio::awaitable<error_code> extend(std::chrono::milliseconds ttl) override;
    asio::awaitable<error_code> release() override;
    asio::awaitable<bool> wait_lost() override;

private:
    struct state;
    std::shared_ptr<state> const state_;
};

}  // namespace redlock::cli
