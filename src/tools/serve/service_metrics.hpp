#pragma once

#include "tools/serve/loop_lag.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace redlock::serve {

/// The service's own metrics, beside those of its manager.
class service_metrics {
public:
    explicit service_metrics(boost::asio::any_io_executor e) : lag_(std::move(e)) {}

    /// Counts an answer by its status. May be called from any thread.
    void count(unsigned status) noexcept { ++answers_[status < answers_.size() ? status : 0]; }

    /// The present numbers.
    struct numbers {
        std::size_t sessions = 0, waiting = 0, connections = 0;  ///< waiting: requests that wait for locks
    };

    /// The text for Prometheus.
    std::string text(numbers) const;

private:
    std::array<std::atomic<std::uint64_t>, 600> answers_{};  ///< by status
    loop_lag lag_;
};

}  // namespace redlock::serve
