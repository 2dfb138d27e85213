// The metrics of the doctor. The names and labels are fixed: docs/cli.md lists them.

#include "tools/redlock/doctor/metrics.hpp"

#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/args/output.hpp"

#include "core/quorum.hpp"

#include <redlock/prometheus.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace redlock::cli::doctor {

namespace {

// A gauge with a number of each node.
struct node_gauge {
    std::string_view name, help;
    std::string_view check;                          // the check that reports the number to people
    std::optional<double> (*of)(node_facts const&);  // nothing: the number is unknown
};

template <class Duration>
double seconds(Duration d)
{
    return std::chrono::duration<double>(d).count();
}

std::optional<double> round_trip(node_facts const& f, std::size_t percent)
{
    return f.round_trips.empty() ? std::nullopt : std::optional(seconds(f.round_trip(percent)));
}

// The keys are known only after a login.
std::optional<double> key_count(node_facts const& f, std::size_t count)
{
    bool const is_known = f.is_server && !f.hello.failed() && !f.keys.refusal.failed();
    return is_known ? std::optional(static_cast<double>(count)) : std::nullopt;
}

std::optional<double> clock_offset(node_facts const& f)
{
    auto const& read = f.last_time;
    return read ? std::optional(seconds(read->theirs - read->ours)) : std::nullopt;
}

std::optional<double> certificate_end(node_facts const& f)
{
    auto const& c = f.certificate;
    return c && c->unread.empty() ? std::optional(seconds(c->ends.time_since_epoch())) : std::nullopt;
}

std::optional<double> quarantine(node_facts const& f)
{
    bool const is_known = f.vote.is_connected || f.vote.quarantine.count() > 0;
    return is_known ? std::optional(seconds(f.vote.quarantine)) : std::nullopt;
}

constexpr std::array node_gauges{
    node_gauge{"redlock_doctor_node_votes", "Whether a node votes for locks.", "votes",
               [](node_facts const& f) { return std::optional(f.votes() ? 1.0 : 0.0); }},
    node_gauge{"redlock_doctor_quarantine_seconds", "For how long a restarted or new node does not vote yet.",
               "restart-guard", quarantine},
    node_gauge{"redlock_doctor_round_trip_p50_seconds", "The median of the round trips of this look.", "round-trip",
               [](node_facts const& f) { return round_trip(f, 50); }},
    node_gauge{"redlock_doctor_round_trip_p99_seconds", "The 99th percentile of the round trips of this look.",
               "round-trip", [](node_facts const& f) { return round_trip(f, 99); }},
    node_gauge{"redlock_doctor_clock_offset_seconds", "How far the clock of a server is ahead of ours.", "clock",
               clock_offset},
    node_gauge{"redlock_doctor_certificate_end_timestamp_seconds", "When the certificate of a server ends.",
               "certificate", certificate_end},
    node_gauge{"redlock_doctor_keys", "Keys with the prefix, of those that were looked at.", "keys",
               [](node_facts const& f) { return key_count(f, f.keys.found); }},
    node_gauge{"redlock_doctor_fencing_counters", "Counters of fencing tokens, of the keys that were looked at.",
               "counters", [](node_facts const& f) { return key_count(f, f.keys.counters); }},
};

bool has(std::vector<std::string> const& names, std::string_view name)
{
    return std::ranges::find(names, name) != names.end();
}

// Two addresses may have the same name. A series must be unique, so it gets the worst level of both.
void add(findings& levels, finding const& f)
{
    auto const node = valid_utf8(f.node);
    auto const same = std::ranges::find_if(levels, [&](auto const& l) { return l.what == f.what && l.node == node; });
    if (same == levels.end())
        levels.push_back({.level = f.level, .what = f.what, .node = node});
    else
        same->level = worst({*same, f});
}

// The level of each check of each node.
findings levels_of(findings const& found, std::vector<node_facts> const& nodes, std::vector<std::string> const& skipped)
{
    findings levels;
    for (auto const& f : found)
        add(levels, f);
    for (auto const& n : nodes) {
        for (auto const check : checks_about(n)) {
            auto const is_it = [&](auto const& f) { return f.what == check && f.node == n.name; };
            if (!has(skipped, check) && std::ranges::none_of(found, is_it))
                add(levels, {.level = level::unknown, .what = std::string(check), .node = n.name});
        }
    }
    return levels;
}

std::vector<std::pair<std::string, double>> values_of(node_gauge const& g, std::vector<node_facts> const& nodes)
{
    std::vector<std::pair<std::string, double>> values;
    for (auto const& f : nodes) {
        auto const value = g.of(f);
        auto node = valid_utf8(f.name);
        bool const is_new = std::ranges::find(values, node, [](auto const& v) { return v.first; }) == values.end();
        if (value && is_new)
            values.emplace_back(std::move(node), *value);
    }
    return values;
}

}  // namespace

std::pair<std::string, std::string> label_of(std::string_view text)
{
    auto const name = text.substr(0, text.find('='));
    auto const is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    bool const is_valid = !name.empty() && !is_digit(name.front())
                          && std::ranges::all_of(name, [&](char c) { return is_letter(c) || is_digit(c); });
    bool const is_reserved = name == "check" || name == "node" || name == "le" || name == "quantile";
    if (!is_valid || is_reserved || name.starts_with("__") || name.size() + 1 >= text.size())
        return {};
    return {std::string(name), valid_utf8(text.substr(name.size() + 1))};
}

std::string to_prometheus(findings const& found, std::vector<node_facts> const& nodes, metrics_options const& options)
{
    auto const& skipped = options.skipped;
    metrics_source const labels_only{.labels = options.labels};
    detail::metrics_writer to({&labels_only, 1}, metrics_format::prometheus);
    auto const one = [&](std::string_view name, std::string_view help, std::int64_t value) {
        to.gauge(name, help, [&](stats const&) { to.sample(value); });
    };
    one("redlock_doctor_status", "The worst that was found: 0 OK, 1 WARN, 2 CRIT, 3 UNKNOWN.",
        exit_status_of(worst(found)));
    one("redlock_doctor_timestamp_seconds", "When the doctor has looked.", options.ended.time_since_epoch().count());
    to.gauge("redlock_doctor_check", "What a check has found: 0 OK, 1 WARN, 2 CRIT, 3 UNKNOWN.", [&](stats const&) {
        for (auto const& f : levels_of(found, nodes, skipped))
            to.sample(exit_status_of(f.level), {{"check", f.what}, {"node", f.node}});
    });
    if (!has(skipped, "votes")) {
        one("redlock_doctor_votes", "Nodes that vote for locks.", std::ranges::count_if(nodes, &node_facts::votes));
        one("redlock_doctor_votes_needed", "Nodes that must vote for a lock.",
            static_cast<std::int64_t>(core::majority(nodes.size())));
    }
    for (auto const& g : node_gauges) {
        auto const values = values_of(g, nodes);
        if (values.empty() || has(skipped, g.check))
            continue;
        to.gauge(g.name, g.help, [&](stats const&) {
            for (auto const& [node, value] : values)
                to.sample(value, {{"node", node}});
        });
    }
    return to.finish();
}

}  // namespace redlock::cli::doctor
