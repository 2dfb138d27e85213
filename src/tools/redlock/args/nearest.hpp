#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The word of @p known that was probably meant by @p word. Up to two letters are wrong, missing, too many or swapped,
/// but fewer than half of them. Or other programs say @p word for it. Empty: there is none.
std::string nearest(std::string_view word, std::vector<std::string> const& known);

/// "; did you mean \"run\"?", or an empty text.
std::string did_you_mean(std::string_view word, std::vector<std::string> const& known);

}  // namespace redlock::cli
