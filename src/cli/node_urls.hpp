#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The URLs in @p text, separated by commas, blanks or ends of lines, without the lines that begin with '#'. Behind a
/// comma there may also be another host of a URL that can have several, such as redis-sentinel://one,two/name.
std::vector<std::string> split_urls(std::string_view text);

/// The URLs in a file.
/// @throws std::runtime_error if it cannot be read, or has none
std::vector<std::string> urls_in_file(std::string const& path);

/// The value of a variable of the environment; empty if it is not set.
std::string in_environment(char const* variable);

/// The URLs in $REDLOCK_NODES; none if it is not set.
std::vector<std::string> urls_in_environment();

/// How many columns of a terminal UTF-8 takes: "…" takes one, and three bytes.
std::size_t width_of(std::string_view text);

/// An argument that was not understood, for a message: without what may be a URL, which may hold a password.
std::string without_urls(std::string_view argument);

}  // namespace redlock::cli
