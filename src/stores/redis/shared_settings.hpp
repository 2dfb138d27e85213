#pragma once

#include <redlock/manager_options.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::redis {

/// The settings that must be equal in all clients: a line of words, such as `max_ttl=60000`.
std::string shared_settings(manager_options const&);

/// Compares two such lines. @return a sentence for each setting that differs
///
/// Settings that only one line names are left out. A strict restart_guard in @p theirs is left out, too: it makes that
/// client trust fewer nodes, which does no harm.
std::vector<std::string> differences(std::string_view ours, std::string_view theirs);

/// The distinct values of each setting in such lines.
std::vector<std::pair<std::string_view, std::vector<std::string>>> values_of(std::vector<std::string> const& lines);

}  // namespace redlock::stores::redis
