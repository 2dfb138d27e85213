#pragma once

#include <redlock/manager_options.hpp>

#include <string_view>

namespace redlock::net {

/// The user and the password for a new connection to @p node: those in the address, or what @p source returns.
/// @param source `manager_options::credentials`; may be empty
/// @throws std::runtime_error if the function throws
credentials log_in(credentials_function const& source, credentials_request const& node);

}  // namespace redlock::net
