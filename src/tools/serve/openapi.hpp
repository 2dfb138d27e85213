#pragma once

#include <string_view>

namespace redlock::serve {

/// The description of all requests of the service and their answers: an OpenAPI 3.1 document in JSON.
std::string_view openapi_document() noexcept;

}  // namespace redlock::serve
