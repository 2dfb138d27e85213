#include "output/json.hpp"
#include "output/text.hpp"

#include <boost/describe.hpp>
#include <boost/json.hpp>
#include <boost/mp11/algorithm.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock::bench {

// The fields of the file, in the order of the file.
BOOST_DESCRIBE_STRUCT(percentiles, (), (p50, p90, p99, p999, max, mean))
BOOST_DESCRIBE_STRUCT(timeline::mark, (), (at_seconds, what))
BOOST_DESCRIBE_STRUCT(timeline, (), (slice_seconds, cycles_per_second, marks))
BOOST_DESCRIBE_STRUCT(result, (),
                      (scenario, variant, nodes, clients, cycles_per_second, floor_cycles_per_second, ratio_to_floor,
                       client_cpu_us_per_cycle, floor_cpu_us_per_cycle, server_cpu_us_per_cycle, allocations_per_cycle,
                       bytes_per_cycle, commands_per_cycle, writes_per_cycle, acquire_us, cycle_us, wait_us,
                       floor_cycle_us, failures, violations, peak_heap_bytes, rounds, disturbed, spread, curve,
                       floor_curve, time, more))
BOOST_DESCRIBE_STRUCT(run, (), (machine, results))

namespace {

namespace json = boost::json;

constexpr std::uint64_t schema = 1;

struct first_field {
    std::uint64_t schema = 0;
};
BOOST_DESCRIBE_STRUCT(first_field, (), (schema))

/// Shares near 1 differ in their last digits only, so they get more digits than other figures.
std::string number(double value)
{
    auto const text = plain(value, value > 0.99 && value < 1 ? 9 : 5);
    return text.empty() ? "null" : text;
}

/// Prints the outer @p levels with one member per line; deeper values stay on the line of their name.
void print(std::string& out, json::value const& value, std::size_t levels, std::size_t indent = 0)
{
    bool first = true;
    auto const next = [&](std::size_t depth) {
        out += first ? "" : levels > 0 ? "," : ", ";
        first = false;
        if (levels > 0)
            out.append("\n").append(depth * 2, ' ');
    };
    auto const inner = levels > 0 ? levels - 1 : 0;
    if (auto const* const object = value.if_object(); object) {
        out += '{';
        for (auto const& member : *object) {
            next(indent + 1);
            out.append(json::serialize(json::string(member.key()))).append(": ");
            print(out, member.value(), inner, indent + 1);
        }
        if (levels > 0 && !first)
            out.append("\n").append(indent * 2, ' ');
        out += '}';
    } else if (auto const* const array = value.if_array(); array) {
        out += '[';
        for (auto const& item : *array) {
            next(indent + 1);
            print(out, item, inner, indent + 1);
        }
        if (levels > 0 && !first)
            out.append("\n").append(indent * 2, ' ');
        out += ']';
    } else {
        out += value.is_double() ? number(value.get_double()) : json::serialize(value);
    }
}

/// The place of a value, for error messages.
struct place {
    std::string_view file;
    std::string path;

    place member(std::string_view name) const
    {
        return {file, path.empty() ? std::string(name) : fmt::format("{}.{}", path, name)};
    }
    place item(std::size_t i) const { return {file, fmt::format("{}[{}]", path, i)}; }

    [[noreturn]] void fail(std::string_view expected) const
    {
        throw std::runtime_error(fmt::format("{}: {}{}expected {}", file, path, path.empty() ? "" : ": ", expected));
    }
};

// Boost.JSON converts only single values: its errors for objects and arrays do not name the wrong field.
template <class T>
void read_single(json::value const& from, T& to, place const& at, std::string_view expected)
{
    auto read = json::try_value_to<T>(from);
    if (!read)
        at.fail(expected);
    to = std::move(*read);
}

void read(json::value const& from, std::string& to, place const& at) { read_single(from, to, at, "a string"); }
void read(json::value const& from, std::uint64_t& to, place const& at)
{
    read_single(from, to, at, "a whole number from 0 on");
}

void read(json::value const& from, double& to, place const& at)
{
    to = std::numeric_limits<double>::quiet_NaN();
    if (!from.is_null())
        read_single(from, to, at, "a number");
}

void read(json::value const& from, std::pair<double, double>& to, place const& at)
{
    if (!from.is_array() || from.get_array().size() != 2)
        at.fail("a pair: share and microseconds");
    read(from.get_array()[0], to.first, at.item(0));
    read(from.get_array()[1], to.second, at.item(1));
}

template <class T>
void read(json::value const& from, std::optional<T>& to, place const& at)
{
    if (!from.is_null())
        read(from, to.emplace(), at);
}

template <class T>
void read(json::value const& from, std::vector<T>& to, place const& at)
{
    if (!from.is_array())
        at.fail("an array");
    for (auto const& item : from.get_array()) {
        T one{};
        read(item, one, at.item(to.size()));
        to.push_back(std::move(one));
    }
}

json::object const& object(json::value const& from, place const& at)
{
    return from.is_object() ? from.get_object() : (at.fail("an object"), from.get_object());
}

template <class T>
void read(json::value const& from, std::map<std::string, T>& to, place const& at)
{
    for (auto const& [name, value] : object(from, at))
        read(value, to[name], at.member(name));
}

template <class T>
constexpr bool is_optional = false;
template <class T>
constexpr bool is_optional<std::optional<T>> = true;

template <class T>
    requires boost::describe::has_describe_members<T>::value
void read(json::value const& from, T& to, place const& at)
{
    boost::mp11::mp_for_each<boost::describe::describe_members<T, boost::describe::mod_public>>([&](auto field) {
        auto& member = to.*field.pointer;
        if (auto const* const found = object(from, at).if_contains(field.name))
            read(*found, member, at.member(field.name));
        else if (!is_optional<std::remove_reference_t<decltype(member)>>)
            at.member(field.name).fail("this field, but it is missing");
    });
}

json::value parse(std::string_view text, std::string_view file)
{
    json::parse_options options;
    options.allow_invalid_utf8 = true;  // an error message may quote a server
    json::parser parser({}, options);
    boost::system::error_code ec;
    auto const used = parser.write_some(text.data(), text.size(), ec);
    if (!ec && text.find_first_not_of(" \t\r\n", used) != text.npos)
        ec = json::error::extra_data;
    if (ec) {
        auto const line = 1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(used), '\n');
        throw std::runtime_error(fmt::format("{}: line {}: expected JSON: {}", file, line, ec.message()));
    }
    return parser.release();
}

}  // namespace

std::string to_json(run const& r)
{
    std::string text;
    print(text,
          json::object{
              {"schema", schema}, {"machine", json::value_from(r.machine)}, {"results", json::value_from(r.results)}},
          3);
    return text + "\n";
}

run from_json(std::string_view text, std::string_view file_name)
{
    auto const value = parse(text, file_name);
    place const root{file_name, ""};
    first_field is;
    read(value, is, root);
    if (is.schema != schema)
        root.member("schema").fail(fmt::format("{}, the only one this program reads, found {}", schema, is.schema));
    run r;
    read(value, r, root);
    return r;
}

}  // namespace redlock::bench
