// What the user of the address may do: found out by doing it.

#include "tools/doctor/checks.hpp"

#include "tools/output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace redlock::tools::doctor {

namespace {

bool is_about_keys(reply const& r)
{
    return r.text.find(" key") != std::string::npos;
}

// What is refused, one by one: of a script a server does not say which of its commands.
findings refused_commands(node_facts const& f, demands const& d)
{
    findings all;
    for (auto const& [name, answer] : f.trials) {
        auto const& p = *std::ranges::find(permissions(), name, &permission::name);
        if (!is_forbidden(answer))
            continue;
        if (is_about_keys(answer))
            return {{.level = level::critical,
                     .why = fmt::format("the user {} may not use keys that begin with {}", printable(f.place.user), printable(d.prefix)),
                     .mend = allow(f, '~' + pattern_of(d.prefix))}};
        all.push_back({.level = p.is_vital ? level::critical : level::warning,
                       .why = fmt::format("the user {} may not run {}, without which {}", printable(f.place.user), name, p.without),
                       .mend = allow(f, fmt::format("+{}", name))});
    }
    return all;
}

std::string not_tried(uses const& u)
{
    std::vector<std::string_view> words;
    for (auto const& [is_used, word] : {std::pair(u.fencing, "--fencing"), {u.waiting, "--waiting"}, {u.shared, "--shared"}, {u.sets, "--sets"}}) {
        if (!is_used)
            words.push_back(word);
    }
    return words.empty() ? "" : fmt::format(" (what is asked for by {} was not tried)", fmt::join(words, ", "));
}

findings permissions_of(node_facts const& f, demands const& d)
{
    auto all = refused_commands(f, d);
    auto const& p = f.probe;
    bool const failed = !p.failed_at.empty();
    auto const until_then = p.done.empty() ? "" : fmt::format("a lock was {}, but ", fmt::join(p.done, ", "));
    if (failed && p.is_taken)
        all.push_back({.level = level::unknown,
                       .why = fmt::format("the lock {}{} that is tried is held by somebody else", printable(d.prefix), printable(d.probe)),
                       .mend = "redlock doctor --probe NAME  # another one"});
    else if (failed && all.empty())
        all.push_back({.level = level::critical,
                       .why = fmt::format("{}it could not be {}: {}", until_then, p.failed_at, printable(p.message)),
                       .mend = p.error == errc::permission_denied ? fmt::format("redlock acl --user {}  # what it must be allowed", shell_word(f.place.user)) : "redlock -v doctor  # what the library tells meanwhile"});
    else if (!failed && all.empty())
        all.push_back({.why = fmt::format("a lock was {}{}", fmt::join(p.done, ", "), not_tried(d.used))});
    return all;
}

// Of what is no server we know nothing else.
findings settings(node_facts const& f, demands const&)
{
    if (f.is_server)
        return {};
    return {{.level = level::unknown, .why = "what is behind this address was not looked at: its settings, clocks, versions and keys", .mend = "redlock doctor --skip settings"}};
}

constexpr std::array all_of_permission{
    check{"permissions", nullptr, "", "", permissions_of, true},
    check{"settings", nullptr, "", "", settings, true},
};

}  // namespace

std::span<check const> permission_checks()
{
    return all_of_permission;
}

}  // namespace redlock::tools::doctor
