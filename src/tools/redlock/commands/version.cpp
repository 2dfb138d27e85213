// redlock version: prints the version and the stores of this build.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/stores.hpp"

#include <redlock/version.hpp>

#include <boost/json/array.hpp>

#include <fmt/format.h>

#include <utility>

namespace redlock::cli {

int version(arguments given)
{
    command_line line(
        "version",
        "Print the version; with -v or as JSON, also the kinds of addresses besides those of Redis and Valkey.");
    line.is_about_ourselves();
    auto const s = line.read(std::move(given));
    boost::json::array schemes;
    for (auto const& store : known_stores())
        schemes.insert(schemes.end(), store.schemes.begin(), store.schemes.end());
    if (s.output != format::table) {
        print_json({{"version", REDLOCK_VERSION_STRING}, {"stores", std::move(schemes)}});
        return done;
    }
    auto text = fmt::format("redlock {}\n", REDLOCK_VERSION_STRING);
    for (auto const& scheme : schemes) {
        if (s.verbose)
            text += fmt::format("{}://\n", std::string_view(scheme.as_string()));
    }
    print(text);
    return done;
}

}  // namespace redlock::cli
