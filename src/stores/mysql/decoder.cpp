#include "stores/mysql/decoder.hpp"

#include "stores/kit/refusal.hpp"
#include "stores/kit/steps.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::stores::mysql {

namespace {

// For example 0:4711:0,1:815:1
kit::taken_keys read_taken(kit::cells const& columns)
{
    kit::taken_keys keys;
    for (std::string_view rest = kit::cell(columns, 4); !rest.empty();) {
        auto one = kit::take(rest, ',');
        auto const index = kit::take(one, ':'), remaining = kit::take(one, ':');
        kit::add_taken(keys, index, remaining, one == "1");
    }
    return keys;
}

}  // namespace

node_reply decode(node_command const& c, answer const& a)
{
    return a.error != 0 ? refusal(a) : kit::decode(c, a.rows, read_taken, "procedure");
}

node_reply decode_inspection(answer const& a) { return a.error != 0 ? refusal(a) : kit::decode_inspection(a.rows); }

node_reply decode_scan(node_command const& c, answer const& a)
{
    return a.error != 0 ? refusal(a) : kit::decode_scan(c, a.rows);
}

namespace {

errc reason_of(unsigned error)
{
    static constexpr std::pair<unsigned, errc> reasons[] = {
        {1205, errc::node_busy},  // the wait for a row lock timed out
        {deadlock, errc::node_busy},
        {1317, errc::node_busy},  // the statement was interrupted
        {1969, errc::node_busy},  // the statement took too long
        {1037, errc::node_out_of_memory},
        {1038, errc::node_out_of_memory},
        {1041, errc::node_out_of_memory},
        {1021, errc::node_refuses_writes},  // the disk is full
        {1114, errc::node_refuses_writes},
        {1040, errc::node_refuses_writes},  // too many connections
        {1203, errc::node_refuses_writes},
        {1226, errc::node_refuses_writes},
        {1053, errc::node_loading},  // the server is shutting down
        {1044, errc::permission_denied},
        {no_right, errc::permission_denied},
        {1143, errc::permission_denied},
        {1227, errc::permission_denied},
        {1370, errc::permission_denied},
        {1449, errc::permission_denied},  // the account that created the procedures was deleted
        {1045, errc::authentication_failed},
        {1130, errc::authentication_failed},
        {1251, errc::authentication_failed},
        {1698, errc::authentication_failed},
        {2058, errc::authentication_failed},
        {2059, errc::authentication_failed},
        {1290, errc::node_read_only},
        {1792, errc::node_read_only},
        {1836, errc::node_read_only},
        {1049, errc::unsupported_server},      // the database does not exist
        {no_table, errc::unsupported_server},  // the tables were deleted
        {no_procedure, errc::unsupported_server},
        {1644, errc::unsupported_server},  // the tables have changed since this connection met them
        {1665, errc::unsupported_server},  // the binary log has the format STATEMENT
    };
    bool const is_of_library = error >= 2000 && error < 3000;
    return kit::reason_in(
        reasons, [&](unsigned code) { return code == error; },
        is_of_library ? errc::node_unreachable : errc::server_error);
}

}  // namespace

bool ends_connection(unsigned error) noexcept
{
    constexpr unsigned over[] = {1053, 1080, 1152, 1153, 1156, 1157, 1158,
                                 1159, 1160, 1161, 1184, 1927, 3169, 4031};  // ended, killed or cut off
    return (error >= 2000 && error < 3000) || std::find(std::begin(over), std::end(over), error) != std::end(over);
}

namespace {

std::string words_of(answer const& a)
{
    return a.error == no_table || a.error == no_procedure ? a.text + kit::how_to_make_tables : a.text;
}

}  // namespace

std::string way_out(std::string_view rights, std::string_view database, std::string_view account)
{
    auto const at = account.rfind('@');
    auto const whom = at == account.npos ? std::string("its account")
                                         : fmt::format("'{}'@'{}'", account.substr(0, at), account.substr(at + 1));
    return fmt::format("; let an administrator say: GRANT {} ON `{}`.* TO {}", rights, database, whom);
}

node_reply why_not(answer const& a) { return {.untouched = true, .error = reason_of(a.error), .text = words_of(a)}; }

// A procedure answers before it commits. In a cluster, the commit can fail with a deadlock, caused by a transaction on
// another server.
node_reply refusal(answer const& a)
{
    if (ends_connection(a.error))
        return {.error = errc::connection_lost, .text = a.text};
    return {.untouched = !a.begun || a.error == deadlock, .error = reason_of(a.error), .text = words_of(a)};
}

}  // namespace redlock::stores::mysql
