#include "tools/doctor/releases.hpp"

#include <algorithm>
#include <array>

namespace redlock::tools::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::August, std::chrono::April, std::chrono::February, std::chrono::July, std::chrono::March, std::chrono::November, std::chrono::October,
    std::chrono::September;

struct release {
    std::string_view server, version;
    std::chrono::year_month_day ends;
};

// Of Redis as announced with its releases; of Valkey three years from the first release of a version, as it promises. What has no date yet is not here.
constexpr std::array releases{
    release{"redis", "6.0", 2023y / August / 15},     release{"redis", "6.2", 2025y / February / 28}, release{"redis", "7.0", 2024y / July / 29},
    release{"redis", "7.2", 2026y / February / 28},   release{"redis", "7.4", 2026y / November / 30}, release{"valkey", "7.2", 2027y / April / 16},
    release{"valkey", "8.0", 2027y / September / 15}, release{"valkey", "8.1", 2028y / March / 31},   release{"valkey", "9.0", 2028y / October / 21},
};

}  // namespace

std::optional<std::chrono::sys_days> end_of_life(std::string_view server, std::string_view version)
{
    auto const minor = version.substr(0, version.find('.', version.find('.') + 1));
    auto const known = std::ranges::find_if(releases, [&](auto const& r) { return r.server == server && r.version == minor; });
    return known == releases.end() ? std::nullopt : std::optional(std::chrono::sys_days(known->ends));
}

}  // namespace redlock::tools::doctor
