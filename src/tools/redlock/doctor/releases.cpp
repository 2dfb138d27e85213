#include "tools/redlock/doctor/releases.hpp"

#include <array>
#include <charconv>

namespace redlock::cli::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::April, std::chrono::August, std::chrono::February, std::chrono::July, std::chrono::March,
    std::chrono::May, std::chrono::November, std::chrono::October, std::chrono::September;
using date = std::optional<std::chrono::year_month_day>;

struct release {
    std::string_view server;
    unsigned number;
    date ends;
};

// Redis announces an end of life only for some releases. Valkey promises three years from the first release of a
// version.
constexpr std::array releases{
    release{"redis", 600, 2023y / August / 15},
    release{"redis", 602, 2025y / February / 28},
    release{"redis", 700, 2024y / July / 29},
    release{"redis", 702, 2026y / February / 28},
    release{"redis", 704, 2026y / November / 30},
    release{"redis", 800, std::nullopt},
    release{"redis", 802, std::nullopt},
    release{"redis", 804, std::nullopt},
    release{"redis", 806, std::nullopt},
    release{"redis", 808, std::nullopt},
    release{"redis", 810, std::nullopt},
    release{"valkey", 702, 2027y / April / 16},
    release{"valkey", 800, 2027y / September / 15},
    release{"valkey", 801, 2028y / March / 31},
    release{"valkey", 900, 2028y / October / 21},
    release{"valkey", 901, 2029y / May / 19},
};

}  // namespace

release_life life_of(std::string_view server, std::string_view version)
{
    auto const number = release_number(version);
    release_life life{.is_newer = true};
    for (auto const& r : releases) {
        if (r.server != server)
            continue;
        life.is_newer = life.is_newer && number > r.number;
        if (r.number == number) {
            life.is_known = true;
            life.ends = r.ends;
        }
    }
    return life;
}

unsigned release_number(std::string_view version)
{
    unsigned major = 0, minor = 0;
    auto const dot = version.find('.');
    std::from_chars(version.data(), version.data() + version.size(), major);
    if (dot != version.npos)
        std::from_chars(version.data() + dot + 1, version.data() + version.size(), minor);
    return major * 100 + minor;
}

}  // namespace redlock::cli::doctor
