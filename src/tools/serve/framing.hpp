#pragma once

#include "tools/serve/answers.hpp"

#include <optional>

namespace redlock::serve {

/// The answer to a request that leaves open where it ends or for whom it is. The connection must end after the answer:
/// otherwise a part of the body could become the next request. Nothing: the request is clear.
std::optional<response> refusal_of_framing(request const&);

/// Whether a page in a browser may have sent the request.
/// @param is_local  the service listens on the loopback interface. Then another host name than localhost is that of a
///                  page (DNS rebinding).
bool may_be_from_a_page(request const&, bool is_local);

}  // namespace redlock::serve
