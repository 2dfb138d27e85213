#include "options.hpp"

#include "scenarios.hpp"
#include "redis/url.hpp"
#include "testbed/local_server.hpp"
#include "testbed/node_urls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace redlock::bench {

char const usage[] =
    R"(usage: redlock_bench [OPTION]… [SCENARIO]…
       redlock_bench --compare BEFORE.json AFTER.json
       redlock_bench --help | --version

Measures locks on Redis servers, which it starts itself, and in the same rounds the floor: a raw client that sends
the same commands and only counts the replies. Absolute times do not travel; ratios to the floor do.

Scenarios (uncontended and stalled, if none is named; "all" is each of them):
  uncontended  each client locks and unlocks a key of its own                     (256 clients, and 1)
  contended    all want the same key and hold it for --hold                       (32 clients)
  crowded      the same by four processes, each with a quarter of the clients     (32 clients)
  woken        another process gives a lock up that one waits for, or keeps it        (1 waiter, and 32)
  renew        --locks locks are held and renewed
  stalled      one node is stopped for the middle third of the time, and goes on  (256 clients)
  killed       the same; it is killed, and started again without what it knew     (256 clients)
  distant      each node is --rtt away; then one of them is 200 ms away           (1 client)
  fenced       uncontended with fencing; its floor is the library without it      (256 clients, and 1)
  orders       redlock_shop, whose orders hold a lock for their item; its floor has none  (64 clients, and 1)
  scale        1 to 9 nodes, 1 to 10000 clients

What is measured:
  --nodes URL,…     servers that are there already; keys "lock:bench…" are set on them and removed
  --nodes-file FILE the same, from a file. Without both, and without --count: $REDLOCK_NODES.
                    All users of a machine can read the arguments of a process, so URLs with a password belong into a
                    file that only you can read, or into the environment
  --count N         or so many of our own: 1, 3, 5, 7 or 9 (5)
  --server NAME     their program (redis-server, or $REDLOCK_SERVER)
  --clients N       1 to 10000
  --rate N          cycles per second; latency counts from the intended start. 0 to 1000000; 0: as many as go
  --hold MS         in the critical section of `contended` and, if given, of `uncontended`: 0 to 10000 (1)
  --rtt MS          of `distant`: 0 to 1000 (1)
  --locks N         of `renew`: 1 to 100000 (10000)
  --ttl MS          of `renew`: 500 to 60000 (10000)
How:
  --rounds N        1 to 100 (5); medians are shown
  --duration MS     of each measurement, 100 to 60000 (1500)
  --pin CPU,…       keeps everything on these processors; one gives the steadiest ratios
What comes of it, besides the table:
  --json FILE  --csv FILE  --html FILE
)";

namespace {

template <class T>
std::optional<std::string> number(std::string_view option, std::string_view text, double low, double high, T& into)
{
    double value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = !std::is_integral_v<T> || value == std::floor(value);
    if (ec != std::errc() || end != text.data() + text.size() || !(value >= low && value <= high) || !whole)
        return fmt::format("{} is \"{}\", but must be a {}number from {} to {}", option, text,
                           std::is_integral_v<T> ? "whole " : "", low, high);
    into = static_cast<T>(value);
    return std::nullopt;
}

std::vector<std::string> split(std::string_view text)
{
    std::vector<std::string> parts;
    while (true) {
        auto const comma = text.find(',');
        parts.emplace_back(text.substr(0, comma));
        if (comma == std::string_view::npos)
            return parts;
        text.remove_prefix(comma + 1);
    }
}

template <class Duration>
std::optional<std::string> milliseconds(std::string_view option, std::string_view text, double low, double high, Duration& into)
{
    double ms = 0;
    auto wrong = number(option, text, low, high, ms);
    if (!wrong)
        into = Duration(std::llround(ms * Duration::period::den / 1000.0));
    return wrong;
}

std::optional<std::string> processors(std::string_view text, std::vector<int>& into)
{
    for (auto const& part : split(text)) {
        int p = 0;
        if (auto wrong = number("--pin", part, 0, 1023, p))
            return wrong;
        into.push_back(p);
    }
    std::sort(into.begin(), into.end());
    into.erase(std::unique(into.begin(), into.end()), into.end());
    return std::nullopt;
}

std::optional<std::string> count_of_nodes(std::string_view text, std::size_t& into)
{
    if (auto wrong = number("--count", text, 1, 9, into))
        return fmt::format("{}; for servers that are there already, use --nodes URL,…", *wrong);
    if (into % 2 == 0)
        return fmt::format("--count is {}, but should be odd: {} nodes survive no more failures than {}", into, into, into - 1);
    return std::nullopt;
}

std::optional<std::string> take(options& o, std::string_view option, std::string_view value)
{
    if (option == "--nodes") {
        o.nodes = split(value);
        return std::nullopt;
    }
    if (option == "--nodes-file") {
        try {
            o.nodes = testbed::urls_in_file(std::string(value));
        } catch (std::runtime_error const& e) {
            return fmt::format("--nodes-file: {}", e.what());
        }
        return std::nullopt;
    }
    if (option == "--count")
        return count_of_nodes(value, o.count);
    if (option == "--clients")
        return number(option, value, 1, 10'000, o.clients);
    if (option == "--rate")
        return number(option, value, 0, 1'000'000, o.rate);
    if (option == "--hold")
        return milliseconds(option, value, 0, 10'000, o.hold.emplace());
    if (option == "--rtt")
        return milliseconds(option, value, 0, 1000, o.rtt);
    if (option == "--locks")
        return number(option, value, 1, 100'000, o.locks);
    if (option == "--ttl")
        return milliseconds(option, value, 500, 60'000, o.ttl);
    if (option == "--rounds")
        return number(option, value, 1, 100, o.rounds);
    if (option == "--duration")
        return milliseconds(option, value, 100, 60'000, o.duration);
    if (option == "--pin")
        return processors(value, o.pin);
    if (option == "--server")
        o.server = value;
    else if (option == "--json")
        o.json = value;
    else if (option == "--csv")
        o.csv = value;
    else if (option == "--html")
        o.html = value;
    return std::nullopt;
}

constexpr std::array with_value{"--nodes", "--nodes-file", "--count", "--clients", "--rate", "--hold",   "--rtt", "--locks", "--ttl", "--rounds",
                                "--duration", "--pin", "--server", "--json", "--csv", "--html"};

}  // namespace

std::optional<std::string> parse(std::vector<std::string_view> const& arguments, options& o)
{
    o.server = testbed::server_program();
    bool own_servers = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const a = arguments[i];
        auto const rest = arguments.size() - i - 1;
        if (a == "--help" || a == "-h") {
            o.help = true;
        } else if (a == "--version") {
            o.version = true;
        } else if (a == "--compare") {
            if (rest < 2)
                return "--compare needs two files: BEFORE.json AFTER.json";
            o.before = arguments[++i];
            o.after = arguments[++i];
        } else if (std::find(with_value.begin(), with_value.end(), a) != with_value.end()) {
            if (rest == 0 || arguments[i + 1].empty())
                return fmt::format("{} needs a value", a);
            own_servers = own_servers || a == "--count" || a == "--server";
            if (auto wrong = take(o, a, arguments[++i]))
                return wrong;
        } else if (a == "all") {
            o.scenarios = scenario_names();
        } else if (auto const names = scenario_names(); std::find(names.begin(), names.end(), a) != names.end()) {
            o.scenarios.emplace_back(a);
        } else {
            return fmt::format("there is no {} \"{}\"; --help lists them", a.substr(0, 1) == "-" ? "option" : "scenario",
                               testbed::without_urls(a));
        }
    }
    if (o.nodes.empty() && !own_servers)
        o.nodes = testbed::urls_in_environment();
    if (o.scenarios.empty())
        o.scenarios = {"uncontended", "stalled"};
    return std::nullopt;
}

std::string command_line(std::vector<std::string_view> const& arguments)
{
    std::string line = "redlock_bench";
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        line += ' ';
        if (i == 0 || arguments[i - 1] != "--nodes") {
            line += arguments[i];
            continue;
        }
        auto separator = "";
        for (auto const& u : split(arguments[i])) {
            auto const address = redis::parse_url(u);
            line += std::exchange(separator, ",") + (address.wrong.empty() ? address.name() : "…");
        }
    }
    return line;
}

}  // namespace redlock::bench
