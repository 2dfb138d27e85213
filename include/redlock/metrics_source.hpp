#pragma once

#include <redlock/stats.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v1 {

/// The text format of metrics.
enum class metrics_format : std::uint8_t {
    prometheus,   ///< The Prometheus text format, version 0.0.4. Every version of Prometheus reads it.
    openmetrics,  ///< OpenMetrics 1.0.0. Append nothing to it.
};

/// The value of the response's header field Content-Type for a format.
constexpr char const* content_type(metrics_format f) noexcept
{
    return f == metrics_format::prometheus ? "text/plain; version=0.0.4; charset=utf-8"
                                           : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

/// The best format for a client, from the request's header field Accept.
constexpr metrics_format metrics_format_for(std::string_view accept) noexcept
{
    return accept.find("application/openmetrics-text") == accept.npos ? metrics_format::prometheus
                                                                      : metrics_format::openmetrics;
}

/// One of several managers: `{.stats = orders.stats(), .labels = {{"manager", "orders"}}}`.
struct metrics_source {
    redlock::stats stats{};  ///< The statistics of the manager: `lock_manager::stats()`.
    /// Labels on each of its samples, which distinguish it from other sources. The names must be valid for Prometheus,
    /// and must not be `group`, `le`, `node`, `outcome`, `reason` or `vote`.
    std::vector<std::pair<std::string, std::string>> labels{};
};

}  // namespace redlock
