#include "cli/doctor/finding.hpp"

#include <algorithm>

namespace redlock::cli::doctor {

std::string_view to_string(level l) noexcept
{
    switch (l) {
    case level::ok:
        return "OK";
    case level::warning:
        return "WARN";
    case level::critical:
        return "CRIT";
    case level::unknown:
        return "UNKNOWN";
    }
    return {};
}

level worst(findings const& all) noexcept
{
    for (auto const l : {level::critical, level::warning, level::unknown}) {
        if (std::ranges::any_of(all, [l](auto const& f) { return f.level == l; }))
            return l;
    }
    return level::ok;
}

}  // namespace redlock::cli::doctor
