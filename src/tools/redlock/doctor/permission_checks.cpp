// Checks the permissions of the user of the address, by running the commands.

#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace redlock::cli::doctor {

namespace {

bool is_about_keys(reply const& r) { return r.said.find(" key") != std::string::npos; }

// A finding for each refused command. If a server refuses a script, it does not tell which command of the script was
// refused, so the commands were tested one by one.
findings refused_commands(node_facts const& f, demands const& d)
{
    findings all;
    for (auto const& [name, answer] : f.trials) {
        auto const& p = *std::ranges::find(permissions(), name, &permission::name);
        if (!is_forbidden(answer))
            continue;
        if (is_about_keys(answer))
            return {{.level = level::critical,
                     .why = fmt::format("the user {} may not use keys that begin with {}", printable(f.place.user),
                                        printable(d.prefix)),
                     .fix = allow(f, '~' + pattern_of(d.prefix))}};
        all.push_back({.level = p.is_vital ? level::critical : level::warning,
                       .why = fmt::format("the user {} may not run {}, without which {}", printable(f.place.user), name,
                                          p.without),
                       .fix = allow(f, fmt::format("+{}", name))});
    }
    return all;
}

// The options of the features that are used. @p is_used  false: of the features that are not used
std::vector<std::string_view> options_of(uses const& u, bool is_used)
{
    std::vector<std::string_view> all;
    for (auto const& [is, option] :
         {std::pair(u.fencing, "--fencing"), {u.waiting, "--waiting"}, {u.shared, "--shared"}, {u.sets, "--sets"}}) {
        if (is == is_used)
            all.push_back(option);
    }
    return all;
}

std::string not_tried(uses const& u)
{
    auto const options = options_of(u, false);
    return options.empty() ? "" : fmt::format(" (not tried: {})", fmt::join(options, ", "));
}

// The line that prints the access list for the user.
std::string print_rules(node_facts const& f, demands const& d)
{
    auto line = d.prefix == demands().prefix ? std::string("redlock acl")
                                             : fmt::format("redlock --prefix {} acl", shell_word(d.prefix));
    line += " --user " + shell_word(f.place.user);
    for (auto const option : options_of(d.used, true))
        line += fmt::format(" {}", option);
    return f.place.database == 0 ? line : line + " --select";
}

findings permissions_of(node_facts const& f, demands const& d)
{
    auto all = refused_commands(f, d);
    auto const& p = f.probe;
    bool const failed = !p.failed_at.empty();
    auto const until_then = p.done.empty() ? "" : fmt::format("a lock was {}, but ", fmt::join(p.done, ", "));
    if (failed && p.is_taken)
        all.push_back({.level = level::unknown,
                       .why = fmt::format("another client holds the lock {}{}, which the doctor tries to acquire",
                                          printable(d.prefix), printable(d.probe)),
                       .fix = d.call.with("--probe", d.probe + "-2").line()});
    else if (failed && all.empty())
        all.push_back(
            {.level = level::critical,
             .why = fmt::format("{}it could not be {}: {}", until_then, p.failed_at, printable(p.message)),
             .fix = p.error == errc::permission_denied ? print_rules(f, d) : d.call.with("--verbose", "").line()});
    else if (!failed && all.empty())
        all.push_back({.why = fmt::format("a lock was {}{}", fmt::join(p.done, ", "), not_tried(d.used))});
    return all;
}

// The doctor knows only the result of the probe and the vote of other kinds of stores.
findings readable_settings(node_facts const&, demands const& d)
{
    return {{.level = level::unknown,
             .why = "it is no Redis or Valkey server: its settings, clock, version and keys were not looked at",
             .fix = without_check(d, "settings")}};
}

constexpr std::array all_of_permission{
    check{"permissions", nullptr, "", "", permissions_of, subject::node},
    check{"settings", nullptr, "", "", readable_settings, subject::store},
};

}  // namespace

constinit std::span<check const> const permission_checks{all_of_permission};

}  // namespace redlock::cli::doctor
