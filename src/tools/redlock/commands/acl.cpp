// redlock acl: prints the access list that a user of locks needs.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "tools/redlock/server/server.hpp"
#include "tools/redlock/args/server_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace redlock::cli {

namespace {

// Quotes an argument for the prompt of redis-cli, where a backslash is an ordinary character.
std::string argument(std::string const& text)
{
    if (text.find_first_of(" '\"") == text.npos)
        return text;
    return '\'' + escaped(text, "'") + '\'';
}

bool uses_database(std::string const& url) { return is_server(url) && place_of(url).database != 0; }

}  // namespace

int acl(arguments given)
{
    command_line line(
        "acl",
        "Print the least access list of a user of locks, as a line for redis-cli. For Redis 6 and newer, and Valkey.",
        "Replace PASSWORD. \"redlock doctor\" with the same options, as that user, says whether the access list is "
        "enough.");
    std::string user = "redlock";
    uses used;
    line.add_text("--user", "NAME", user, "the name of the user (redlock)");
    used.add_to(line);
    line.add_flag("--read-only", used.look,
                  "allow only redlock status, list and top; the user cannot acquire or break a lock");
    line.add_flag("--select", used.database, "allow a database other than 0");
    line.add_flag("--cluster", used.cluster, "allow what a Redis Cluster needs");
    line.add_flag("--doctor", used.doctor, "allow what redlock doctor reads");
    line.add_flag("--move", used.move, "allow what redlock nodes move reads and raises");
    line.may_do_without_nodes();
    auto const s = line.read(std::move(given));
    if (used.look && (used.fencing || used.waiting || used.shared || used.sets || used.doctor || used.move))
        line.refuse("--read-only allows no locks and nothing else: only --user and --select go with it");
    used.database = used.database || std::ranges::any_of(s.locks.nodes, uses_database);
    used.cluster = used.cluster || std::ranges::any_of(s.locks.nodes, is_cluster);
    auto const rule = fmt::format("ACL SETUSER {} reset on >PASSWORD {} -@all {}", argument(user),
                                  argument('~' + pattern_of(s.locks.prefix)), rules_for(used));
    if (s.output == format::table)
        print(rule + '\n');
    else
        print_json({{"user", user}, {"line", rule}});
    return done;
}

}  // namespace redlock::cli
