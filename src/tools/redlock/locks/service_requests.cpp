#include "tools/redlock/locks/service_requests.hpp"

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/serve/random_id.hpp"

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <utility>

namespace redlock::cli::service_requests {

namespace {

using namespace std::chrono_literals;
using boost::beast::http::verb;
using std::chrono::milliseconds;

constexpr std::string_view locks = "/v1/locks";   // by name
constexpr std::string_view granted = "/v1/held";  // by id
constexpr auto answer_time = 10'000ms;            // beyond the wait
constexpr auto release_limit = 2'000ms;           // if no instance answers, the locks end with their ttl
constexpr std::size_t locks_at_once = 500;
constexpr std::uint64_t page_max = 64 * 1024 * 1024, health_max = 64 * 1024;  // bytes

std::string path_of(std::string_view folder, std::string_view name)
{
    return fmt::format("{}/{}", folder, percent_encoded(name));
}

}  // namespace

service_request health() { return {.target = "/healthz", .answer_max = health_max}; }

service_request acquisition(how_to_acquire const& how, milliseconds wait)
{
    boost::json::array names;
    for (auto const& key : how.keys)
        names.emplace_back(key);
    service_request r{.method = verb::post, .target = std::string(locks), .idempotency_key = serve::random_id()};
    r.body["resources"] = std::move(names);
    r.body["ttl_ms"] = how.ttl.count();
    r.body["wait_ms"] = wait.count();
    r.body["mode"] = how.shared ? "shared" : "exclusive";
    r.body["note"] = how.note;
    r.limit = wait + answer_time;
    return r;
}

service_request extension(std::string_view id, milliseconds ttl)
{
    service_request r{.method = verb::patch, .target = path_of(granted, id)};
    r.body["ttl_ms"] = ttl.count();
    return r;
}

service_request release(std::string_view id)
{
    return {.method = verb::delete_, .target = path_of(granted, id), .limit = release_limit};
}

service_request look(std::string_view name) { return {.target = path_of(locks, name)}; }

service_request page_of(std::string_view prefix, std::string_view from)
{
    return {.target = fmt::format("{}?prefix={}&limit={}&from={}", locks, percent_encoded(prefix), locks_at_once,
                                  percent_encoded(from)),
            .answer_max = page_max};
}

service_request deletion(std::string_view name, std::string etag)
{
    return {.method = verb::post, .target = path_of(locks, name) + "/break", .if_match = std::move(etag)};
}

}  // namespace redlock::cli::service_requests
