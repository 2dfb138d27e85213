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

/// The exit status, with the values of plugins for monitoring systems.
enum class level : std::uint8_t { ok, warning, critical, unknown };

constexpr int exit_status_of(level l) noexcept { return static_cast<int>(l); }

/// "OK", "WARN", "CRIT" or "UNKNOWN".
std::string_view to_string(level) noexcept;

/// The result of one check.
struct finding {
    doctor::level level = level::ok;
    std::string what{};            ///< the name of the check
    std::string why{};             ///< one sentence
    std::string fix{};             ///< a line to run; empty: nothing needs to be done
    boost::json::object values{};  ///< measured numbers
    std::string node{};            ///< empty: the finding is about all nodes
    bool is_remark = false;        ///< the level is OK, but an operator should read it
};

using findings = std::vector<finding>;

/// The worst level: critical, then warning, unknown, ok.
level worst(findings const&) noexcept;

/** Prints the findings and a summary at the end.

    The table begins with the worst level, and has findings with the same text in one line. It only counts findings
    with the level OK, unless they are remarks; `settings::verbose` lists them. JSON has an entry for each node and
    check. `settings::quiet` leaves out the level OK.
*/
void print_report(findings const&, std::size_t nodes, settings const&);

}  // namespace redlock::cli::doctor
