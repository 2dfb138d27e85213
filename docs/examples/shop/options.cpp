#include "options.hpp"

#include "testbed/node_urls.hpp"

#include <charconv>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <system_error>

namespace shop {

char const usage[] =
    R"(usage: redlock_shop [OPTION]…

An order service on http://127.0.0.1, whose orders hold a lock for the item that they sell. Open its address in a browser.

  --port N         0 to 65535 (8080); 0: any that is free
  --nodes URL,…    the lock servers
  --nodes-file F   the same, from a file. Without both: $REDLOCK_NODES; without that, or with --demo, five are started
                   (redis-server, or $REDLOCK_SERVER). All users of a machine can read the arguments of a process, so URLs
                   with a password belong into a file that only you can read, or into the environment
  --database FILE  SQLite; processes that share it share the stock (:memory:)
  --stock N        pieces of each item in a new database, 1 to 1000000 (25)
  --demo           the page may stop and kill the servers that were started, and restock; orders take a while
  --work MS        what an order takes beside the database, 0 to 60000 (0; 700 with --demo)
  --ttl MS         of a lock, which is renewed, 100 to 5000 (2000; 500 with --demo)
  --node-timeout MS
                   how long one lock server is waited for, 1 to 4000, and below the ttl (50)
  --timeout MS     of a request, at most, 1 to 600000 (5000)
  --connections N  at a time, 1 to 100000 (4096); the others wait until one has gone
  --threads N      1 to 256 (2)
  --no-fencing     without fencing tokens, which need Redis 6.2 or newer, or Valkey
  --no-locks       without locks, to compare
  --help           this text
  --version        the version

SIGTERM and Ctrl-C: no new orders; those under way end, or are cancelled after two seconds; all locks are released.
Exit status: 0, 1 if something failed, 2 for a wrong option.
)";

namespace {

template <class Number>
bool take(std::string_view option, std::string_view text, Number low, Number high, Number& into)
{
    Number value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const good = ec == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
    if (good)
        into = value;
    else
        std::fprintf(stderr, "redlock_shop: %.*s is \"%.*s\", but must be %s to %s\n", static_cast<int>(option.size()), option.data(),
                     static_cast<int>(text.size()), text.data(), std::to_string(low).c_str(), std::to_string(high).c_str());
    return good;
}

bool take(std::string_view option, std::string_view text, long low, long high, std::chrono::milliseconds& into)
{
    long value = 0;
    if (!take(option, text, low, high, value))
        return false;
    into = std::chrono::milliseconds(value);
    return true;
}

}  // namespace

std::optional<options> parse(std::vector<std::string_view> const& arguments)
{
    options o;
    o.how.database = ":memory:";
    o.how.locks.fencing = true;
    bool work_given = false, ttl_given = false;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const option = arguments[i];
        if (option == "--help") {
            o.help = true;
        } else if (option == "--version") {
            o.version = true;
        } else if (option == "--demo") {
            o.demo = true;
        } else if (option == "--no-fencing") {
            o.how.locks.fencing = false;
        } else if (option == "--no-locks") {
            o.how.unguarded = true;
        } else if (i + 1 == arguments.size()) {
            std::fprintf(stderr, "redlock_shop: \"%s\" is no option, or lacks its value; --help lists them\n",
                         redlock::testbed::without_urls(option).c_str());
            return std::nullopt;
        } else {
            auto const value = arguments[++i];
            bool good = true;
            if (option == "--port") {
                good = take<std::uint16_t>(option, value, 0, 65535, o.port);
            } else if (option == "--stock") {
                good = take<std::int64_t>(option, value, 1, 1'000'000, o.pieces);
            } else if (option == "--threads") {
                good = take<std::size_t>(option, value, 1, 256, o.threads);
            } else if (option == "--connections") {
                good = take<std::size_t>(option, value, 1, 100'000, o.how.connections_max);
            } else if (option == "--work") {
                good = take(option, value, 0, 60'000, o.how.work);
                work_given = true;
            } else if (option == "--ttl") {
                good = take(option, value, 100, 5000, o.how.ttl);
                ttl_given = true;
            } else if (option == "--node-timeout") {
                good = take(option, value, 1, 4000, o.how.locks.node_timeout);
            } else if (option == "--timeout") {
                good = take(option, value, 1, 600'000, o.how.request_timeout);
            } else if (option == "--database") {
                o.how.database = value;
            } else if (option == "--nodes") {
                o.how.locks.nodes = redlock::testbed::split_urls(value);
            } else if (option == "--nodes-file") {
                try {
                    o.how.locks.nodes = redlock::testbed::urls_in_file(std::string(value));
                } catch (std::runtime_error const& e) {
                    std::fprintf(stderr, "redlock_shop: --nodes-file: %s\n", e.what());
                    good = false;
                }
            } else {
                std::fprintf(stderr, "redlock_shop: \"%s\" is no option; --help lists them\n", redlock::testbed::without_urls(option).c_str());
                good = false;
            }
            if (!good)
                return std::nullopt;
        }
    }
    if (o.demo && !o.how.locks.nodes.empty()) {
        std::fprintf(stderr, "redlock_shop: --demo stops and kills servers, so it does not go with --nodes\n");
        return std::nullopt;
    }
    if (!o.demo && o.how.locks.nodes.empty())
        o.how.locks.nodes = redlock::testbed::urls_in_environment();
    // So that there is something to see: a lock is renewed while an order is worked at, or lost.
    if (o.demo && !work_given)
        o.how.work = std::chrono::milliseconds(700);
    if (o.demo && !ttl_given)
        o.how.ttl = std::chrono::milliseconds(500);
    return o;
}

}  // namespace shop
