#include "tools/redlock/doctor/gather.hpp"

#include "core/key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace redlock::cli::doctor {

namespace {

constexpr std::size_t keys_at_once = 1000, counters_measured = 100;
constexpr std::int64_t idle_max = 1'000'000'000;  // seconds

// The type of a lock's key with this mark; see docs/protocol.md.
std::string_view type_of(std::string const& key, std::string_view mark)
{
    if (core::what_changed(key).first == core::watched::place)
        return "string";
    constexpr std::array<std::pair<std::string_view, std::string_view>, 4> others{
        {{":=fence", "zset"}, {":=shared", "zset"}, {":=wanted", "hash"}, {":=turn", "set"}}};
    auto const* const other = std::ranges::find(others, mark, [](auto const& o) { return o.first; });
    return other == others.end() ? "string" : other->second;
}

void judge_key(key_facts& k, std::string const& key, std::string const& type, std::int64_t left,
               std::vector<std::string>& counters)
{
    auto const mark = core::mark_in(key);
    bool const is_counter = mark == ":=fence";
    ++k.found;
    k.wanted += core::what_changed(key).first == core::watched::wanted ? 1 : 0;
    if (type != type_of(key, mark)) {
        auto const expires = left >= 0 ? std::optional(std::chrono::milliseconds(left)) : std::nullopt;
        return k.foreign.add({.name = key, .type = type, .left = expires});
    }
    if (is_counter) {
        ++k.counters;
        if (counters.size() < counters_measured)
            counters.push_back(key);
    } else if (left == -1) {
        k.endless.add({.name = key, .type = type});
    }
}

// How long nobody has used the keys that are named. The command leaves that time as it is. It may be refused, and fails
// if the server counts how often keys are used.
asio::awaitable<void> ask_for_idle_time(server& s, key_facts::named& keys)
{
    std::vector<std::vector<std::string>> questions;
    for (auto const& k : keys.first)
        questions.push_back({"OBJECT", "IDLETIME", k.name});
    if (questions.empty())
        co_return;
    auto const answers = co_await s.ask_all(std::move(questions));
    for (std::size_t i = 0; i < answers.size(); ++i) {
        if (auto const seconds = answers[i].number(); seconds && !answers[i].failed())
            keys.first[i].idle = std::chrono::seconds(std::clamp<std::int64_t>(*seconds, 0, idle_max));
    }
}

// @return false if a command was refused or not answered
asio::awaitable<bool> look_at_some(server& s, key_facts& k, std::vector<reply> keys, std::vector<std::string>& counters)
{
    std::vector<std::vector<std::string>> questions;
    for (auto const& key : keys) {
        questions.push_back({"TYPE", key.text});
        questions.push_back({"PTTL", key.text});
    }
    if (questions.empty())
        co_return true;
    auto const answers = co_await s.ask_all(std::move(questions));
    for (std::size_t i = 0; i < keys.size(); ++i) {
        auto const &type = answers[2 * i], &left = answers[2 * i + 1];
        for (auto const& [answer, command] : {std::pair(&type, "type"), std::pair(&left, "pttl")}) {
            if (answer->failed()) {
                k.refusal = *answer;
                k.refused = command;
                co_return false;
            }
        }
        if (type.text != "none")  // none: the key was deleted after SCAN
            judge_key(k, keys[i].text, type.text, left.number().value_or(-2), counters);
    }
    co_return true;
}

asio::awaitable<void> measure(server& s, key_facts& k, std::vector<std::string> counters)
{
    std::vector<std::vector<std::string>> questions;
    for (auto& counter : counters)
        questions.push_back({"MEMORY", "USAGE", std::move(counter)});
    if (questions.empty())
        co_return;
    for (auto const& answer : co_await s.ask_all(std::move(questions))) {
        if (answer.failed())
            k.unmeasured = answer;
        else if (auto const bytes = answer.number()) {
            ++k.measured;
            k.measured_bytes += static_cast<std::uint64_t>(*bytes);
        }
    }
}

// The number in "keys=5,expires=0,avg_ttl=0" of INFO; nothing: unknown, or there are no keys.
std::optional<std::size_t> keys_in_database(node_facts const& f)
{
    auto const told = f.info.field(fmt::format("db{}", f.place.database));
    std::size_t count = 0;
    constexpr std::string_view label = "keys=";
    if (!told.starts_with(label)
        || std::from_chars(told.data() + label.size(), told.data() + told.size(), count).ec != std::errc())
        return std::nullopt;
    return count;
}

}  // namespace

asio::awaitable<key_facts> look_at_keys(server& s, node_facts const& f, demands const& d)
{
    key_facts k;
    std::vector<std::string> counters;
    std::string cursor = "0";
    do {
        std::vector<std::string> question{
            "SCAN", cursor, "MATCH", pattern_of(d.prefix), "COUNT", std::to_string(std::min(keys_at_once, d.keys_max))};
        auto answer = co_await s.ask(std::move(question));
        if (answer.failed() || answer.elements.size() != 2) {
            k.refusal = std::move(answer);
            k.refused = "scan";
            co_return k;
        }
        cursor = answer.elements[0].text;
        k.looked_at += keys_at_once;
        if (!co_await look_at_some(s, k, std::move(answer.elements[1].elements), counters))
            co_return k;
    } while (cursor != "0" && k.looked_at < d.keys_max);
    k.is_all = cursor == "0";
    if (auto const all = keys_in_database(f))  // COUNT is only a hint, so looked_at may be too high
        k.looked_at = k.is_all ? *all : std::min(k.looked_at, *all);
    else if (k.is_all)
        k.looked_at = k.found;
    k.looked_at = std::max(k.looked_at, k.found);
    co_await ask_for_idle_time(s, k.endless);
    co_await ask_for_idle_time(s, k.foreign);
    co_await measure(s, k, std::move(counters));
    co_return k;
}

}  // namespace redlock::cli::doctor
