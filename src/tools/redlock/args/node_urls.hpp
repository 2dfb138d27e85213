#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// Splits @p text into URLs at commas, blanks and ends of lines. Lines that begin with '#' are ignored. A comma is not
/// a separator between the hosts of one URL, such as redis-sentinel://one,two/name.
std::vector<std::string> split_urls(std::string_view text);

/// @throws std::runtime_error if the file cannot be read, or contains no URL
std::vector<std::string> urls_in_file(std::string const& path);

/// The value of an environment variable; empty if it is not set.
std::string in_environment(char const* variable);

/// The URLs in $REDLOCK_NODES; none if it is not set.
std::vector<std::string> urls_in_environment();

/// How many columns of a terminal a UTF-8 text takes. Example: "…" has three bytes and takes one column.
std::size_t width_of(std::string_view text);

/// An invalid argument as a message may quote it. Everything that may be a URL is removed, because a URL may contain a
/// password.
std::string without_urls(std::string_view argument);

}  // namespace redlock::cli
