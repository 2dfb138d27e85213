#pragma once

#include "tools/serve/target.hpp"

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace redlock::serve {

/// Refuses a query with other names. @throws wrong_field
void must_have_only(target const&, std::initializer_list<std::string_view> known);

/// The number of elements that a page may have, in the parameter `limit`. @throws wrong_field
std::size_t limit_in(target const&);

/// A number in the query of a target. @throws wrong_field
std::size_t number_in(target const&, std::string const& name, std::size_t otherwise);

}  // namespace redlock::serve
