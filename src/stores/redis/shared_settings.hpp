#pragma once

#include <redlock/config.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::redis {

/// The settings that all clients must have alike: a line of words, such as `max_ttl=60000`.
std::string shared_settings(config const&);

/// The settings that differ between two such lines, a sentence for each. A setting that only one of them names is left
/// out, and so is a restart_guard of @p theirs that is strict: such a client trusts fewer nodes, and takes no lock
/// away.
std::vector<std::string> differences(std::string_view ours, std::string_view theirs);

/// The different values of each setting in such lines.
std::vector<std::pair<std::string_view, std::vector<std::string>>> values_of(std::vector<std::string> const& lines);

}  // namespace redlock::stores::redis
