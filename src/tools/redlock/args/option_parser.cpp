#include "tools/redlock/args/option_parser.hpp"

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/nearest.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/wrapped_text.hpp"

#include <redlock/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock::cli {

namespace {

constexpr int wrong_usage = 64;  // EX_USAGE of sysexits.h
constexpr char a_time[] = "TIME", own_group[] = "Options";
constexpr std::size_t first_column = 21;

constexpr std::pair<std::string_view, double> units[]{{"", 1e6},   {"us", 1e3},   {"ms", 1e6},  {"s", 1e9},
                                                      {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}};

// The number at the beginning of @p text, and the rest of @p text.
template <class Number>
std::pair<std::optional<Number>, std::string_view> begin_of(std::string_view text)
{
    Number value{};
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (ec != std::errc())
        return {std::nullopt, text};
    return {value, text.substr(static_cast<std::size_t>(end - text.data()))};
}

std::string in_words(std::chrono::nanoseconds ns)
{
    using namespace std::chrono_literals;
    if (ns >= 1h && ns % 1h == 0ns)
        return fmt::format("{}h", ns / 1h);
    auto const ms = static_cast<double>(ns.count()) / 1e6;
    return ms < 1000 ? fmt::format("{}ms", ms) : fmt::format("{}s", ms / 1000);
}

// "-t, --ttl TIME"
std::string names_of(CLI::Option const& o)
{
    std::string all;
    for (auto const& name : o.get_snames())
        all += fmt::format("{}-{}", all.empty() ? "" : ", ", name);
    for (auto const& name : o.get_lnames())
        all += fmt::format("{}--{}", all.empty() ? "" : ", ", name);
    return o.get_type_size() > 0 ? fmt::format("{} {}", all, o.get_type_name()) : all;
}

}  // namespace

// Replaces the help of CLI11, whose layout depends on its version, and which breaks the lines of tables.
std::string option_parser::help_text() const
{
    auto const columns = columns_of_output();
    auto text = fmt::format("usage: {} [OPTION]…", get_name());
    text += operands_.empty() ? "" : ' ' + operands_;
    for (auto const* o : get_options([this](CLI::Option const* o) { return o->get_positional() && operands_.empty(); }))
        text += fmt::format(" [{}]…", o->get_name(true));
    text += fmt::format("\n\n{}\n", wrapped_document(get_description(), columns));
    bool times = false;
    auto groups = get_groups();
    std::stable_partition(groups.begin(), groups.end(), [](auto const& g) { return g == own_group; });
    std::erase(groups, group_elsewhere_);
    for (auto const& group : groups) {
        auto const options =
            get_options([&](CLI::Option const* o) { return o->nonpositional() && o->get_group() == group; });
        if (!options.empty())
            text += fmt::format("\n{}:\n", group);
        for (auto const* o : options) {
            auto const name = "  " + names_of(*o);
            times = times || o->get_type_name() == a_time;
            auto const there = width_of(name) + 2 <= first_column ? width_of(name) : 0;
            text += fmt::format("{}{}{:{}}{}\n", name, there > 0 ? "" : "\n", "", first_column - there,
                                wrapped(o->get_description(), first_column, columns));
        }
    }
    if (times)
        text += fmt::format("\n{}: 250ms, 1.5s, 2min or 1h{}.\n", a_time,
                            needs_units_ ? "" : "; without a unit, milliseconds");
    if (!elsewhere_.empty())
        text += fmt::format("\n{}\n", wrapped_document(elsewhere_, columns));
    auto const notes = wrapped_document(get_footer(), columns);
    return notes.empty() ? text : fmt::format("{}\n{}\n", text, notes);
}

int early_exit::tell() const
{
    auto const text = std::string(what()) + '\n';
    auto* const stream = status_ == 0 ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), stream);  // if this fails, the caller still gets the status
    std::fflush(stream);
    return status_;
}

option_parser::option_parser(std::string program, std::string about, std::string notes)
    : App(std::move(about), std::move(program))
{
    footer(std::move(notes));
    formatter_fn([this](CLI::App const*, std::string const&, CLI::AppFormatMode) { return help_text(); });
    set_help_flag();  // read() adds --help again, so that it comes last
    option_defaults()->group(own_group)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

template <class Number>
Number option_parser::number(std::string const& option, std::string const& text, Number low, Number high) const
{
    auto const [value, rest] = begin_of<Number>(text);
    if (!value || !rest.empty() || !(*value >= low && *value <= high))
        refuse(option, text,
               fmt::format("a {} from {} to {}", std::is_integral_v<Number> ? "whole number" : "number", low, high));
    return *value;
}

template <class Number>
CLI::Option* option_parser::add_number(std::string const& option, Number& into, std::type_identity_t<Number> low,
                                       std::type_identity_t<Number> high, std::string const& about)
{
    auto const otherwise = into == Number{} ? std::string() : fmt::format(" ({})", into);
    return add_value(option, "N", fmt::format("{}, {} to {}{}", about, low, high, otherwise),
                     [=, this, &into](std::string const& text) { into = number(option, text, low, high); });
}

template CLI::Option* option_parser::add_number(std::string const&, double&, double, double, std::string const&);
template CLI::Option* option_parser::add_number(std::string const&, int&, int, int, std::string const&);
template CLI::Option* option_parser::add_number(std::string const&, long&, long, long, std::string const&);
template CLI::Option* option_parser::add_number(std::string const&, unsigned&, unsigned, unsigned, std::string const&);
template CLI::Option* option_parser::add_number(std::string const&, unsigned long&, unsigned long, unsigned long,
                                                std::string const&);
template CLI::Option* option_parser::add_number(std::string const&, unsigned short&, unsigned short, unsigned short,
                                                std::string const&);

CLI::Option* option_parser::add_nanoseconds(std::string const& option, nanoseconds given,
                                            std::pair<nanoseconds, nanoseconds> limits, std::string const& range,
                                            std::string const& about, std::function<void(nanoseconds)> take)
{
    auto const [low, high] = limits;
    auto const from_to = fmt::format("{} to {}", in_words(low), in_words(high));
    auto const otherwise = given.count() == 0 ? "" : fmt::format(" ({})", in_words(given));
    auto const text_of_range = range.empty() ? from_to : range;
    return add_value(
        option, a_time, fmt::format("{}, {}{}", about, text_of_range, otherwise), [=, this](std::string const& text) {
            auto const [value, rest] = begin_of<double>(text);
            auto const* const unit = std::ranges::find(units, rest, [](auto const& u) { return u.first; });
            if (needs_units_ && value && rest.empty())
                refuse(option, text, fmt::format("a duration with a unit: {0}s or {0}ms", text));
            auto const ns = value && unit != std::end(units) ? *value * unit->second : NAN;
            if (!(ns >= static_cast<double>(limits.first.count()) && ns <= static_cast<double>(limits.second.count())))
                refuse(option, text, fmt::format("a duration from {}, such as 250ms or 1.5s", from_to));
            take(nanoseconds(std::llround(ns)));
        });
}

CLI::Option* option_parser::add_text(std::string const& option, std::string const& kind, std::string& into,
                                     std::string const& about)
{
    return add_value(option, kind, about, [&into](std::string const& text) { into = text; });
}

CLI::Option* option_parser::add_numbers(std::string const& option, std::string const& kind, std::vector<int>& into,
                                        int low, int high, std::string const& about)
{
    return add_value(option, kind + ",…", about, [=, this, &into](std::string const& text) {
        into.clear();
        for (auto const& part : split_urls(text))
            into.push_back(number(option, part, low, high));
        if (into.empty())
            refuse(option, text, "numbers");
    });
}

CLI::Option* option_parser::add_list(std::string const& option, std::string const& kind, std::vector<std::string>& into,
                                     std::string const& about)
{
    return add_value(option, kind + ",…", about, [=, this, &into](std::string const& text) {
        into = split_urls(text);
        if (into.empty())
            refuse(option, text, kind + ",…");
    });
}

void option_parser::add_nodes(std::vector<std::string>& into, std::string const& about, std::string const& otherwise)
{
    add_list("--nodes", "URL", into, about);
    add_value("--nodes-file", "FILE",
              "the same, from a file. Without both: " + otherwise
                  + ". All users of a machine can read the arguments of a process, so URLs with a password belong into "
                    "a file that only you "
                    "can read, or into the environment",
              [this, &into](std::string const& path) {
                  try {
                      into = urls_in_file(path);
                  } catch (std::runtime_error const& e) {
                      refuse(fmt::format("--nodes-file: {}", e.what()));
                  }
              });
}

CLI::Option* option_parser::add_value(std::string const& option, std::string const& kind, std::string const& about,
                                      std::function<void(std::string const&)> take)
{
    return add_option_function<std::string>(
               option,
               [=, this](std::string const& text) {
                   if (text.empty())
                       refuse(option + " needs a value: " + kind);
                   take(text);
               },
               about)
        ->type_name(kind);
}

void option_parser::split_empty_values(std::vector<std::string>& arguments) const
{
    for (auto word = arguments.begin(); word != arguments.end() && *word != "--"; ++word) {
        if (!word->starts_with("--") || !word->ends_with('='))
            continue;
        auto const name = word->substr(0, word->size() - 1);
        auto const* const option = get_option_no_throw(name);
        if (!option || option->get_items_expected_max() == 0)
            continue;
        *word = name;
        word = arguments.insert(word + 1, std::string());
    }
}

void option_parser::read(std::vector<std::string> arguments)
{
    split_empty_values(arguments);
    set_help_flag("--help,-h", "this text");
    set_version_flag("--version", fmt::format("{} {}", get_name(), REDLOCK_VERSION_STRING), "the version");
    try {
        std::ranges::reverse(arguments);  // CLI11 expects the reverse order
        parse(std::move(arguments));
    } catch (CLI::CallForHelp const&) {
        throw early_exit(0, help_of_options());
    } catch (CLI::CallForVersion const& e) {
        throw early_exit(0, e.what());
    } catch (CLI::ExtrasError const&) {
        auto const first = remaining().front();
        auto const name = first.substr(0, first.find('='));  // the value may be a password
        refuse(fmt::format("there is no option \"{}\"{}; --help lists them", without_urls(name),
                           did_you_mean(name, names_of_options())));
    } catch (CLI::ParseError const& e) {
        refuse(without_urls(e.what()));
    }
}

std::string option_parser::help_of_options() const
{
    auto text = help_text();
    text.pop_back();
    return text;
}

std::vector<std::string> option_parser::names_of_options() const
{
    std::vector<std::string> all;
    for (auto const* o : get_options()) {
        for (auto const& name : o->get_lnames())
            all.push_back("--" + name);
    }
    return all;
}

void option_parser::refuse(std::string const& why) const { throw early_exit(wrong_usage, get_name() + ": " + why); }

void option_parser::refuse(std::string const& option, std::string const& value, std::string const& must) const
{
    refuse(fmt::format("{} is \"{}\", but must be {}", option.substr(0, option.find(',')), without_urls(value), must));
}

}  // namespace redlock::cli
