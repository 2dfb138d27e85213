#include "tools/serve/service_metrics.hpp"

#include <redlock/prometheus.hpp>

#include <algorithm>

namespace redlock::serve {

namespace {

// Listed also before the first answer has one, so that a rate sees that first one.
constexpr std::array<unsigned, 11> frequent_statuses{200, 201, 204, 400, 401, 403, 404, 409, 412, 429, 503};

}  // namespace

std::string service_metrics::text(numbers now) const
{
    metrics_source const only{};
    detail::metrics_writer to({&only, 1}, metrics_format::prometheus);
    to.counter("redlock_service_requests", "Requests that were answered, by the status of the answer.",
               [&](stats const&) {
                   for (std::size_t i = 0; i < answers_.size(); ++i) {
                       auto const count = answers_[i].load();
                       if (count > 0 || std::ranges::find(frequent_statuses, i) != frequent_statuses.end())
                           to.sample(count, {{"status", std::to_string(i)}});
                   }
               });
    to.gauge("redlock_service_sessions", "Open sessions.", [&](stats const&) { to.sample(now.sessions); });
    to.gauge("redlock_service_waiting", "Requests that wait for locks.", [&](stats const&) { to.sample(now.waiting); });
    to.gauge("redlock_service_connections", "Open connections of clients.",
             [&](stats const&) { to.sample(now.connections); });
    to.durations("redlock_service_lag_seconds", "How late the thread that serves the locks does what is due.",
                 [&](stats const&) { to.lengths(lag_.seen()); });
    return to.finish();
}

}  // namespace redlock::serve
