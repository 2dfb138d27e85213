#pragma once

#include <string_view>

namespace shop {

/// page.html, as it was when the program was built.
extern std::string_view const page;

}  // namespace shop
