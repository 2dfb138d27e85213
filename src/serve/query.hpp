#pragma once

#include "serve/target.hpp"

#include <cstddef>
#include <string>

namespace redlock::serve {

/// A number in the query of a target. @throws wrong_field
std::size_t number_in(target const&, std::string const& name, std::size_t otherwise);

/// `true` or `false` in the query of a target; false if it is missing. @throws wrong_field
bool flag_in(target const&, std::string const& name);

}  // namespace redlock::serve
