#pragma once

#include "tools/redlock/locks/service_exchange.hpp"

#include <chrono>
#include <string>
#include <string_view>

namespace redlock::cli {

struct how_to_acquire;

/// The requests to a service. Only this file and its source know the paths, the methods and the fields.
namespace service_requests {

service_request health();  ///< a service answers it without asking its nodes

/// The request has an idempotency key of its own.
service_request acquisition(how_to_acquire const&, std::chrono::milliseconds wait);

/// @param id  of a lock that the service has granted
service_request extension(std::string_view id, std::chrono::milliseconds ttl);
service_request release(std::string_view id);

/// @param name  of a lock
service_request look(std::string_view name);
service_request page_of(std::string_view prefix, std::string_view from);
service_request deletion(std::string_view name, std::string etag);

}  // namespace service_requests

}  // namespace redlock::cli
