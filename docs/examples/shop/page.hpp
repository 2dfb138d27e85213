#pragma once

#include <string_view>

namespace shop {

/// The text of page.html at build time.
extern std::string_view const page;

}  // namespace shop
