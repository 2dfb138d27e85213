#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::cli::doctor {

namespace {

std::vector<std::span<check const>> groups()
{
    return {reach_checks, permission_checks, timing_checks, service_checks, memory_checks};
}

// "CONFIG GET" for "config|get".
std::string in_capitals(std::string_view command)
{
    std::string words(command);
    std::ranges::transform(words, words.begin(), [](char c) {
        return c == '|' ? ' ' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
    });
    return words;
}

// The command for redis-cli.
std::string by_hand(std::string_view command)
{
    auto words = in_capitals(command);
    if (command == "config|get")
        return words + " '*'";
    if (command == "pubsub|numsub")
        return words + " __sentinel__:hello";
    return words;
}

bool is_about(check const& c, node_facts const& f)
{
    switch (c.about) {
    case subject::server:
        return f.is_server;
    case subject::tls_server:
        return f.is_server && f.certificate;
    case subject::store:
        return !f.is_server;
    case subject::node:
        return true;
    }
    return false;
}

findings examine(check const& c, node_facts const& f, demands const& d)
{
    if (!c.needs)
        return c.run(f, d);
    auto const& told = f.*c.needs;
    if (told.failed())
        return {unread(f, d, told, c.what, c.command)};
    if (!c.field.empty() && told.field(c.field).empty())
        return {{.level = level::unknown,
                 .why = fmt::format("the answer to {} does not contain {}", in_capitals(c.command), c.field),
                 .fix = fmt::format("{} {}", f.place.client(), by_hand(c.command))}};
    return c.run(f, d);
}

findings diagnose(node_facts const& f, demands const& d, std::vector<std::string> const& skipped)
{
    findings all;
    for (auto const group : groups()) {
        for (auto const& c : group) {
            if (std::ranges::find(skipped, c.what) != skipped.end() || !is_about(c, f))
                continue;
            for (auto& one : examine(c, f, d)) {
                one.what = c.what;
                one.node = f.name;
                all.push_back(std::move(one));
            }
        }
        // Nothing else is known about a server that does not answer or refuses the login.
        if (f.is_server && f.hello.failed())
            break;
    }
    return all;
}

}  // namespace

std::vector<std::string_view> names_of_checks()
{
    std::vector<std::string_view> names;
    for (auto const group : groups())
        std::ranges::transform(group, std::back_inserter(names), &check::what);
    std::ranges::transform(checks_of_all, std::back_inserter(names), &check_of_all::what);
    return names;
}

std::vector<std::string_view> checks_about(node_facts const& f)
{
    std::vector<std::string_view> names;
    for (auto const group : groups()) {
        for (auto const& c : group) {
            if (is_about(c, f))
                names.push_back(c.what);
        }
    }
    return names;
}

findings diagnose(set_facts const& nodes, demands const& d, std::vector<std::string> const& skipped)
{
    findings all;
    for (auto const& f : nodes)
        std::ranges::move(diagnose(f, d, skipped), std::back_inserter(all));
    for (auto const& c : checks_of_all) {
        if (std::ranges::find(skipped, c.what) != skipped.end())
            continue;
        for (auto& one : c.run(nodes, d)) {
            one.what = c.what;
            all.push_back(std::move(one));
        }
    }
    return all;
}

bool needs_administrator(node_facts const& f, demands const& d)
{
    auto const client = f.place.admin_client();
    return std::ranges::any_of(diagnose(f, d, {}),
                               [&](finding const& found) { return found.fix.find(client) != found.fix.npos; });
}

finding unread(node_facts const& f, demands const& d, reply const& refusal, std::string_view what,
               std::string_view command)
{
    bool const is_silence = refusal.what == reply::kind::silence;
    auto const verb = is_silence ? "is not answered" : "is refused";
    // If no access list forbids the command, the server does not have it, so the line skips the check.
    auto const fix = is_forbidden(refusal) ? allow(f, fmt::format("+{}", command))
                     : is_silence          ? fmt::format("{} {}", f.place.client(), by_hand(command))
                                           : without_check(d, what);
    return {.level = level::unknown,
            .what = std::string(what),
            .why = fmt::format("{} {}: {}", in_capitals(command), verb, printable(refusal.text)),
            .fix = fix};
}

std::string allow(node_facts const& f, std::string_view rule)
{
    return fmt::format("{} ACL SETUSER {} {}", f.place.admin_client(), shell_word(f.place.user), shell_word(rule));
}

std::string set_setting(node_facts const& f, std::string_view setting)
{
    return fmt::format("{} CONFIG SET {}", f.place.admin_client(), setting);
}

std::string without_check(demands const& d, std::string_view what)
{
    auto const given = std::ranges::find(d.call.own, "--skip", &std::pair<std::string, std::string>::first);
    return d.call.with("--skip", (given == d.call.own.end() ? "" : given->second + ',') + std::string(what)).line();
}

bool is_forbidden(reply const& r) { return r.what == reply::kind::error && r.said.starts_with("NOPERM"); }

std::string counted(std::int64_t count, std::string_view noun)
{
    return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace redlock::cli::doctor
