// Log lines of events. Each event is described once, by a level, a name, a sentence, and fields.

#include "events/event_line.hpp"

#include "core/quarantine.hpp"
#include "events/shown_name.hpp"
#include "events/utc_text.hpp"

#include <redlock/detail/outcome.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <span>
#include <utility>

namespace redlock::inline v1::events {

namespace {

double in_ms(std::chrono::nanoseconds d) { return std::chrono::duration<double, std::milli>(d).count(); }

std::string ms(std::chrono::nanoseconds d) { return fmt::format("{:.1f} ms", in_ms(d)); }

std::string shown(resource_set const& resources, bool any = false)
{
    return std::string(std::string_view(shown_name(resources, any)));
}

std::string shown(std::string_view resource) { return fmt::format("\"{}\"", std::string_view(shown_name(resource))); }

/// Adds the server's message, if there is one.
std::string with_words(error_code ec, std::string_view words)
{
    return words.empty() ? ec.message() : fmt::format("{}: {}", ec.message(), words);
}

std::uint64_t votes(events::round_decided const& e, vote v)
{
    return static_cast<std::uint64_t>(
        std::count_if(e.nodes.begin(), e.nodes.end(), [v](auto& n) { return n.vote == v; }));
}

std::string_view name_of(mode m)
{
    return m == mode::shared ? "shared" : m == mode::upgradeable ? "upgradeable" : "exclusive";
}

}  // namespace

event_line describe(events::acquisition_begun const& e)
{
    auto const wait = e.wait.count() == 0                          ? std::string()
                      : e.wait == std::chrono::milliseconds::max() ? ", waits"
                                                                   : fmt::format(", waits up to {} ms", e.wait.count());
    event_line line{.level = log_level::debug,
                    .event = "acquisition_begun",
                    .sentence = fmt::format("{} {}{} (owner {})", e.resumes ? "resuming" : "acquiring",
                                            shown(e.resources, e.any), wait, e.owner),
                    .fields = {{"owner", e.owner},
                               {"acquisition", e.acquisition},
                               {"resources", &e.resources},
                               {"any", e.any},
                               {"resumes", e.resumes},
                               {"mode", name_of(e.mode)},
                               {"ttl", std::chrono::nanoseconds(e.ttl)},
                               {"ahead", std::uint64_t(e.ahead)}}};
    if (e.wait != std::chrono::milliseconds::max())  // a duration without limit does not fit in nanoseconds
        line.fields.push_back({"wait", std::chrono::nanoseconds(e.wait)});
    return line;
}

event_line describe(events::round_decided const& e)
{
    auto const granted = votes(e, vote::granted);
    return {.level = log_level::debug,
            .event = "round_decided",
            .sentence = fmt::format("round {} for {}: {} of {} nodes granted it after {}: {}", e.round,
                                    shown(e.resources), granted, e.nodes.size(), ms(e.took),
                                    e.outcome ? e.outcome.message() : "won"),
            .fields = {{"acquisition", e.acquisition},
                       {"resources", &e.resources},
                       {"round", std::uint64_t(e.round)},
                       {"draws_token", e.draws_token},
                       {"outcome", std::string_view(e.outcome ? detail::outcome_of(e.outcome).metric : "won")},
                       {"took", e.took},
                       {"granted", granted},
                       {"denied", votes(e, vote::denied)},
                       {"unknown", votes(e, vote::unknown)},
                       {"nodes", e.nodes}}};
}

event_line describe(events::acquired const& e)
{
    return {.level = log_level::debug,
            .event = "acquired",
            .sentence = fmt::format("{} {} after {}, valid for {} (owner {})", e.joined ? "joined" : "acquired",
                                    shown(e.resources), ms(e.took), ms(e.validity), e.owner),
            .fields = {{"owner", e.owner},
                       {"acquisition", e.acquisition},
                       {"lock", e.lock},
                       {"resources", &e.resources},
                       {"joined", e.joined},
                       {"mode", name_of(e.mode)},
                       {"took", e.took},
                       {"waited", e.waited},
                       {"rounds", std::uint64_t(e.rounds)},
                       {"ahead", std::uint64_t(e.ahead)},
                       {"validity", e.validity}}};
}

event_line describe(events::not_acquired const& e)
{
    return {.level = log_level::debug,
            .event = "not_acquired",
            .sentence = fmt::format("did not acquire {} after {}: {} (owner {})", shown(e.resources), ms(e.took),
                                    e.reason.message(), e.owner),
            .fields = {{"owner", e.owner},
                       {"acquisition", e.acquisition},
                       {"resources", &e.resources},
                       {"outcome", std::string_view(detail::outcome_of(e.reason).metric)},
                       {"error", e.reason.message()},
                       {"took", e.took},
                       {"rounds", std::uint64_t(e.rounds)},
                       {"ahead", std::uint64_t(e.ahead)}}};
}

event_line describe(events::extended const& e)
{
    return {.level = log_level::debug,
            .event = "extended",
            .sentence = fmt::format("{} {}, {} before its end; valid for {}", e.automatic ? "renewed" : "extended",
                                    shown(e.resources), ms(e.slack), ms(e.validity)),
            .fields = {{"lock", e.lock},
                       {"resources", &e.resources},
                       {"automatic", e.automatic},
                       {"slack", e.slack},
                       {"validity", e.validity}}};
}

event_line describe(events::extension_failed const& e)
{
    auto const why = e.why.empty() ? e.reason.message() : std::string(e.why);
    return {.level = log_level::debug,
            .event = "extension_failed",
            .sentence = e.automatic ? fmt::format("the renewal of {} failed, and will be tried again: {}",
                                                  shown(e.resources), why)
                                    : fmt::format("the extension of {} failed: {}", shown(e.resources), why),
            .fields = {{"lock", e.lock},
                       {"resources", &e.resources},
                       {"automatic", e.automatic},
                       {"error", e.reason.message()},
                       {"why", e.why},
                       {"validity", e.validity}}};
}

event_line describe(events::renewals_failing const& e)
{
    return {.level = log_level::warning,
            .event = "renewals_failing",
            .sentence = fmt::format("renewals have begun to fail, the first that of {}: {}", shown(e.resources), e.why),
            .fields = {{"lock", e.lock}, {"resources", &e.resources}, {"why", e.why}}};
}

event_line describe(events::renewals_well const& e)
{
    return {.level = log_level::info,
            .event = "renewals_well",
            .sentence = fmt::format("renewals are well again after {} ms, in which {} failed and {} locks were lost",
                                    e.after / std::chrono::milliseconds(1), e.failures, e.lost),
            .fields = {{"after", e.after}, {"failures", e.failures}, {"lost", e.lost}}};
}

event_line describe(events::lost const& e)
{
    return {.level = log_level::warning,
            .event = "lost",
            .sentence = fmt::format("lost {}: {}", shown(e.resources), e.why),
            .fields = {{"owner", e.owner},
                       {"lock", e.lock},
                       {"resources", &e.resources},
                       {"reason", std::string_view(to_string(e.reason))},
                       {"why", e.why},
                       {"held_for", e.held_for}}};
}

event_line describe(events::released const& e)
{
    return {.level = log_level::debug,
            .event = "released",
            .sentence = fmt::format("released {} after {}, {} before its end (owner {})", shown(e.resources),
                                    ms(e.held_for), ms(e.validity), e.owner),
            .fields = {{"owner", e.owner},
                       {"lock", e.lock},
                       {"resources", &e.resources},
                       {"held_for", e.held_for},
                       {"validity", e.validity}}};
}

event_line describe(events::detached const& e)
{
    return {.level = log_level::debug,
            .event = "detached",
            .sentence = fmt::format("detached {} after {}, valid for {} (owner {})", shown(e.resources), ms(e.held_for),
                                    ms(e.validity), e.owner),
            .fields = {{"owner", e.owner},
                       {"lock", e.lock},
                       {"resources", &e.resources},
                       {"held_for", e.held_for},
                       {"validity", e.validity}}};
}

event_line describe(events::handed_over const& e)
{
    return {.level = log_level::debug,
            .event = "handed_over",
            .sentence = fmt::format("handed {} over to the next waiter of this manager", shown(e.resource)),
            .fields = {{"lock", e.lock}, {"resource", e.resource}}};
}

event_line describe(events::node_up const& e)
{
    return {.level = log_level::info,
            .event = "node_up",
            .sentence = fmt::format("{}: votes", e.node),
            .fields = {{"node", e.node}}};
}

event_line describe(events::node_down const& e)
{
    return {.level = log_level::warning,
            .event = "node_down",
            .sentence = fmt::format("{}: does not answer: {}", e.node, with_words(e.error, e.message)),
            .fields = {{"node", e.node}, {"error", e.error.message()}, {"detail", e.message}}};
}

event_line describe(events::node_refused const& e)
{
    return {.level = log_level::warning,
            .event = "node_refused",
            .sentence = fmt::format("{}: refuses requests: {}", e.node, with_words(e.error, e.message)),
            .fields = {{"node", e.node}, {"error", e.error.message()}, {"detail", e.message}}};
}

event_line describe(events::node_quarantined const& e)
{
    auto sentence = fmt::format("{}: {}; it votes in {} ms", e.node, core::in_words(e.reason),
                                e.remaining / std::chrono::milliseconds(1));
    if (e.reason == quarantine_reason::fresh)
        sentence.append("; ").append(core::way_to_found);
    return {
        .level = log_level::warning,
        .event = "node_quarantined",
        .sentence = std::move(sentence),
        .fields = {{"node", e.node}, {"remaining", e.remaining}, {"reason", std::string_view(to_string(e.reason))}}};
}

event_line describe(events::node_trusted const& e)
{
    return {.level = log_level::info,
            .event = "node_trusted",
            .sentence = fmt::format("{}: votes again", e.node),
            .fields = {{"node", e.node}}};
}

event_line describe(events::clean_up_behind const& e)
{
    return {.level = log_level::debug,
            .event = "clean_up_behind",
            .sentence = fmt::format("{}: has not confirmed that keys are deleted, {} pending{}", e.node, e.pending,
                                    e.error ? ": " + e.error.message() : ""),
            .fields = {{"node", e.node},
                       {"error", e.error ? e.error.message() : std::string()},
                       {"pending", std::uint64_t(e.pending)}}};
}

event_line describe(events::keys_left const& e)
{
    return {.level = log_level::warning,
            .event = "keys_left",
            .sentence = fmt::format("{} keys could not be released; they expire by themselves", e.keys),
            .fields = {{"keys", std::uint64_t(e.keys)}}};
}

event_line describe(events::log_line const& e)
{
    return {.level = e.level, .event = "log_line", .sentence = std::string(e.text), .fields = {}};
}

namespace {

using out = std::back_insert_iterator<std::string>;

/// Appends a JSON string. A byte that is not UTF-8 becomes U+FFFD. Quoted values of logfmt have the same form.
void quote(std::string& to, std::string_view text)
{
    to += '"';
    while (!text.empty()) {
        auto size = printable_size(text);
        auto const first = text.front();
        auto const second = text.size() > 1 ? static_cast<unsigned char>(text[1]) : 0u;
        if (size == 0 && static_cast<unsigned char>(first) < 0x80) {
            fmt::format_to(out(to), "\\u{:04x}", static_cast<unsigned>(first));
        } else if (size == 0 && first == '\xc2' && second >= 0x80 && second < 0xa0) {
            // A control character of two bytes.
            fmt::format_to(out(to), "\\u{:04x}", second);
            size = 2;
        } else if (size == 0)
            to += "\xef\xbf\xbd";
        else if (first == '"' || first == '\\')
            to += {'\\', first};
        else
            to += text.substr(0, size);
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    to += '"';
}

bool is_plain(std::string_view text)
{
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c < 0x7f && c != '"' && c != '=' && c != '\\';
    });
}

void word(std::string& to, std::string_view text) { is_plain(text) ? to.append(text) : (quote(to, text), to); }

// The names of the resources in one value. A comma or backslash in a name is escaped with a backslash.
std::string joined(resource_set const& resources)
{
    std::string all;
    for (auto const& name : resources) {
        if (!all.empty())
            all += ',';
        for (char const c : name) {
            if (c == ',' || c == '\\')
                all += '\\';
            all += c;
        }
    }
    return all;
}

/// Calls @p add with the name and the value of each field, in the order of the line.
template <class F>
void for_each_field(event_line const& line, std::chrono::system_clock::time_point time, F add)
{
    add("time", utc_text(std::chrono::floor<std::chrono::microseconds>(time)));
    add("level", std::string_view(to_string(line.level)));
    add("event", line.event);
    for (auto const& f : line.fields)
        std::visit([&](auto const& value) { add(f.name, value); }, f.value);
    add("message", std::string_view(line.sentence));
}

struct logfmt_fields {
    std::string text{};

    void begin(std::string_view name, std::string_view unit = {})
    {
        text.append(text.empty() ? "" : " ").append(name).append(unit) += '=';
    }

    void operator()(std::string_view name, std::string_view value) { begin(name), word(text, value); }
    void operator()(std::string_view name, std::uint64_t value) { begin(name), fmt::format_to(out(text), "{}", value); }
    void operator()(std::string_view name, bool value) { begin(name), text += value ? "true" : "false"; }
    void operator()(std::string_view name, std::chrono::nanoseconds d)
    {
        begin(name, "_ms"), fmt::format_to(out(text), "{:.3f}", in_ms(d));
    }
    void operator()(std::string_view name, resource_set const* names) { begin(name), word(text, joined(*names)); }
    void operator()(std::string_view name, std::span<node_report const> nodes)
    {
        std::string all;
        for (auto const& n : nodes)
            fmt::format_to(out(all), "{}{} {} {}", all.empty() ? "" : ",", n.name, to_string(n.vote),
                           in_ms(n.round_trip));
        begin(name), word(text, all);
    }
};

struct json_fields {
    std::string text = "{";

    void begin(std::string_view name, std::string_view unit = {})
    {
        text.append(text.size() == 1 ? "\"" : ",\"").append(name).append(unit) += "\":";
    }

    void operator()(std::string_view name, std::string_view value) { begin(name), quote(text, value); }
    void operator()(std::string_view name, std::uint64_t value) { begin(name), fmt::format_to(out(text), "{}", value); }
    void operator()(std::string_view name, bool value) { begin(name), text += value ? "true" : "false"; }
    void operator()(std::string_view name, std::chrono::nanoseconds d)
    {
        begin(name, "_ms"), fmt::format_to(out(text), "{:.3f}", in_ms(d));
    }
    void operator()(std::string_view name, resource_set const* names)
    {
        begin(name);
        char next = '[';
        for (auto const& n : *names) {
            text += std::exchange(next, ',');
            quote(text, n);
        }
        text += ']';
    }
    void operator()(std::string_view name, std::span<node_report const> nodes)
    {
        begin(name);
        text += '[';
        for (auto const& n : nodes) {
            json_fields fields;
            fields("node", std::string_view(n.name));
            fields("vote", std::string_view(to_string(n.vote)));
            fields("round_trip", std::chrono::nanoseconds(n.round_trip));
            if (n.error)
                fields("error", std::string_view(with_words(n.error, n.message)));
            text.append(&n == nodes.data() ? "" : ",").append(fields.text) += '}';
        }
        text += ']';
    }
};

}  // namespace

std::string as_logfmt(event_line const& line, std::chrono::system_clock::time_point time)
{
    logfmt_fields fields;
    for_each_field(line, time, std::ref(fields));
    return std::move(fields.text);
}

std::string as_json(event_line const& line, std::chrono::system_clock::time_point time)
{
    json_fields fields;
    for_each_field(line, time, std::ref(fields));
    return std::move(fields.text) + "}";
}

}  // namespace redlock::events
