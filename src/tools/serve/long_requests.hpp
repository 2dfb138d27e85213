#pragma once

#include "tools/serve/instance.hpp"
#include "tools/serve/problems.hpp"

#include <optional>

namespace redlock::serve {

/** The answer to a client that has its share of long requests already: of sessions and of requests that wait, together.
    Nothing: one more may begin.

    Each of them keeps a connection. Without a limit, they could take all connections, and no lock could be renewed.
*/
std::optional<response> refusal_of_long_request(instance const&, call const&);

/// The answer to a client that has as many short requests under way as it may have. Nothing: one more may begin.
std::optional<response> refusal_of_short_request(instance const&, call const&);

}  // namespace redlock::serve
