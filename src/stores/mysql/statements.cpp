#include "stores/mysql/statements.hpp"

#include "core/told_time.hpp"
#include "stores/kit/steps.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::stores::mysql {

namespace {

std::string as_they_stand(auto const& keys)
{
    std::string all;
    for (auto const& k : keys)
        all.append(std::to_string(10'000 + k.size()), 1).append(k);
    return all;
}

}  // namespace

std::string joined(std::vector<std::string_view> keys)
{
    std::sort(keys.begin(), keys.end());
    return as_they_stand(keys);
}

namespace {

// Hexadecimal digits can express all bytes.
std::string literal(std::string_view bytes) { return "x'" + kit::in_hex(bytes) + "'"; }

std::string literal(kit::parameter const& p, node_command const& c)
{
    using form = kit::parameter::form;
    if (p.is == form::bytes)
        return literal(p.bytes);
    if (p.is == form::tombstone && !c.is_shared())
        return p.number != 0 ? literal(c.key()) : "NULL";
    return p.is == form::null ? "NULL" : std::to_string(p.number);
}

// For example 0:4711:0,1:815:1
kit::taken_keys read_taken(kit::cells const& columns)
{
    kit::taken_keys keys;
    for (std::string_view rest = kit::cell(columns, 4); !rest.empty();) {
        auto one = kit::take(rest, ',');
        auto const index = static_cast<std::uint32_t>(kit::to_integer(kit::take(one, ':')));
        auto const time = core::told_time<std::chrono::milliseconds>(kit::to_integer(kit::take(one, ':')));
        keys.push_back({index, time, one == "1"});
    }
    return keys;
}

}  // namespace

std::string put(node_command const& c, bool tombstone, std::string_view table)
{
    auto const name = kit::step_of(c);
    auto const keys = c.keys.size() == 1 ? as_they_stand(c.keys) : joined({c.keys.begin(), c.keys.end()});
    auto text = fmt::format("CALL {}_{}({}", table, name, literal(keys));
    if (name == "acquire_any")
        text += ", " + literal(as_they_stand(c.keys));
    for (auto const& p : kit::parameters_of(c, tombstone)) {
        if (p.is != kit::parameter::form::watch)  // MySQL does not notify
            text += ", " + literal(p, c);
    }
    return text + ")";
}

node_reply interpret(node_command const& c, answer const& a)
{
    return a.error != 0 ? refusal(a) : kit::interpret(c, a.rows, read_taken, "procedure");
}

std::string put_inspection(node_command const& c, std::string_view table)
{
    constexpr auto remaining =
        "IF(expires >= '9999-01-01', -1, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires) DIV 1000)";
    return fmt::format("(SELECT value, {2}, '' FROM {0} WHERE lock_key = {1} AND expires > UTC_TIMESTAMP(6)) UNION ALL "
                       "(SELECT value, {2}, 'reader' FROM {0}_reader WHERE lock_key = {1} AND expires > "
                       "UTC_TIMESTAMP(6) LIMIT 64) UNION ALL "
                       "(SELECT contender, to_share, 'waiter' FROM {0}_wish WHERE lock_key = {1} AND expires > "
                       "UTC_TIMESTAMP(6) LIMIT 64)",
                       table, literal(c.key()), remaining);
}

node_reply interpret_inspection(answer const& a)
{
    return a.error != 0 ? refusal(a) : kit::interpret_inspection(a.rows);
}

std::string put_scan(node_command const& c, std::string_view table)
{
    auto const range = kit::range_of(c);
    auto const end = range.end.empty() ? std::string() : " AND lock_key < " + literal(range.end);
    return fmt::format("SELECT lock_key FROM {} WHERE lock_key >= {}{} AND expires > UTC_TIMESTAMP(6) "
                       "ORDER BY lock_key LIMIT {}",
                       table, literal(range.first), end, c.as<commands::scan>().limit);
}

node_reply interpret_scan(node_command const& c, answer const& a)
{
    return a.error != 0 ? refusal(a) : kit::interpret_scan(c, a.rows);
}

std::string put_signature(std::string_view name, std::string_view life, bool durable, std::chrono::milliseconds holds,
                          std::string_view verdict, std::string_view table)
{
    return fmt::format("CALL {}_sign({}, {}, {}, {}, {})", table, literal(name), literal(life), durable ? 1 : 0,
                       holds.count(), literal(verdict));
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
    auto const* const known =
        std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return r.first == error; });
    return known != std::end(reasons)      ? known->second
           : error >= 2000 && error < 3000 ? errc::node_unreachable
                                           : errc::server_error;
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
    return a.error == no_table || a.error == no_procedure ? a.text + "; see docs/stores.md for how the tables are made"
                                                          : a.text;
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
