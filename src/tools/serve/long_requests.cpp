#include "tools/serve/long_requests.hpp"

#include <boost/beast/http/field.hpp>

#include <string>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;

constexpr char const* what = "sessions and requests that wait";

}  // namespace

std::optional<response> refusal_of_long_request(instance const& all, call const& c)
{
    auto const& most = all.limits;
    auto const of_client = limits::long_requests(most.connections);
    if (all.open_sessions.sessions_of(c.client) + all.loads.of(c.client).waits >= of_client)
        return limit_reached(c.r, "too-many-long-requests", what, of_client, most.option_of_share());
    auto const of_all = limits::long_requests(most.connections_of_all);
    if (all.open_sessions.size() + all.loads.waits() < of_all)
        return std::nullopt;
    auto full = problem(c.r, http::status::service_unavailable, "full", "The service has too many clients",
                        "It has " + std::to_string(of_all) + ' ' + what
                            + ", and keeps its other connections for short requests. Try another instance, or raise "
                              "--max-connections.");
    full.set(http::field::retry_after, "1");
    return full;
}

std::optional<response> refusal_of_short_request(instance const& all, call const& c)
{
    auto const most = all.limits.others;
    if (all.loads.of(c.client).others < most)
        return std::nullopt;
    return limit_reached(c.r, "too-many-requests", "short requests", most, "--max-requests");
}

}  // namespace redlock::serve
