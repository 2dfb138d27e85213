#pragma once

#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

struct settings;

}  // namespace redlock::cli

namespace redlock::cli::doctor {

/// The exit status, as of the plugins of monitoring systems.
enum class level : std::uint8_t { ok, warning, critical, unknown };

constexpr int exit_status_of(level l) noexcept { return static_cast<int>(l); }

/// "OK", "WARN", "CRIT" or "UNKNOWN".
std::string_view to_string(level) noexcept;

/// What one check has found.
struct finding {
    doctor::level level = level::ok;
    std::string what{};            ///< the name of the check
    std::string why{};             ///< one sentence
    std::string mend{};            ///< a line to run; empty: there is nothing to do
    boost::json::object values{};  ///< what was measured: numbers
    std::string node{};            ///< empty: about all of them
    bool is_remark = false;        ///< it is OK, but an operator should read it
};

using findings = std::vector<finding>;

/// The worst: critical, then warning, unknown, ok.
level worst(findings const&) noexcept;

/** Prints the findings and a summary at the end.

    The table begins with the worst, has findings with the same words in one line, and counts the checks that are fine;
    with `settings::verbose` it lists them. JSON has an entry for each node and check. `settings::quiet` leaves out OK.
*/
void print_report(findings const&, std::size_t nodes, settings const&);

}  // namespace redlock::cli::doctor
