#include "demo/options.hpp"

#include "testbed/local_server.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <system_error>

namespace redlock::demo {

char const usage[] =
    R"(usage: redlock_demo [OPTION]…

A flash sale on five real Redis servers, which it starts itself: many buyers in two processes want the few hair dryers
in stock. First without a lock, then with it, then while servers fail, then with a lock holder that stands still. It
says what it claims, and whether that was so.

  --stock N      hair dryers, 1 to 100000 (100)
  --buyers N     coroutines, 2 to 100000 (1000), half of them in each process
  --server NAME  the server program (redis-server, or $REDLOCK_SERVER)
  --help         this text
  --version      the version

Exit status: 0 if every claim held, 1 if not or if something failed, 2 for a wrong option, 130 after Ctrl-C.
NO_COLOR switches colours off.
)";

namespace {

/// Whether @p text is a number within the limits; if not, says so.
template <class Number>
bool take(std::string_view option, std::string_view text, Number low, Number high, Number& into)
{
    Number value = 0;
    auto const result = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const whole = result.ec == std::errc() && result.ptr == text.data() + text.size();
    bool const good = whole && value >= low && value <= high;
    if (good)
        into = value;
    else
        fmt::print(stderr, "redlock_demo: {} is \"{}\", but must be {} to {}\n", option, text, low, high);
    return good;
}

bool take(std::string_view option, std::string_view text, std::string& into)
{
    into = text;
    if (text.empty())
        fmt::print(stderr, "redlock_demo: {} is \"\", but must be the name or path of a program\n", option);
    return !text.empty();
}

}  // namespace

std::optional<options> parse(std::vector<std::string_view> const& arguments)
{
    options o;
    o.server = testbed::server_program();
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        auto const option = arguments[i];
        if (option == "--help" || option == "-h") {
            o.help = true;
            return o;
        }
        if (option == "--version") {
            o.version = true;
            return o;
        }
        auto const value = i + 1 < arguments.size() ? arguments[i + 1] : std::string_view();
        ++i;
        bool good = false;
        if (option == "--stock")
            good = take<std::int64_t>(option, value, 1, 100'000, o.stock);
        else if (option == "--buyers")
            good = take<std::size_t>(option, value, 2, 100'000, o.buyers);
        else if (option == "--server")
            good = take(option, value, o.server);
        else
            fmt::print(stderr, "redlock_demo: unknown option \"{}\"\n\n{}", option, usage);
        if (!good)
            return std::nullopt;
    }
    return o;
}

}  // namespace redlock::demo
