#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::serve {

/// The target of a request: `/v1/locks/orders%2F7?from=…`.
struct target {
    std::vector<std::string> path{};             ///< decoded, without the slashes
    std::map<std::string, std::string> query{};  ///< decoded; of a name that comes twice, the last value

    /// @return empty: the text is no path, or is not encoded correctly
    static std::optional<target> read(std::string_view text);
};

}  // namespace redlock::serve
