#include "stores/postgresql/statements.hpp"

#include "core/told_time.hpp"
#include "stores/kit/steps.hpp"
#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

using std::chrono::milliseconds;

// Raise it when the text of a statement changes. Behind a pooler, a client of another version may have prepared its own
// texts on our connection.
constexpr int texts_version = 1;

constexpr statement steps[] = {
    {"acquire", "SELECT * FROM redlock_acquire($1, $2, $3, $4, $5, $6, $7, $8)"},
    {"acquire_any", "SELECT * FROM redlock_acquire_any($1, $2, $3, $4, $5, $6, $7)"},
    {"raise", "SELECT redlock_raise($1, $2, $3)"},
    {"extend", "SELECT * FROM redlock_extend($1, $2, $3, $4)"},
    {"replace", "SELECT redlock_replace($1, $2, $3, $4, $5)"},
    {"release", "SELECT redlock_release($1, $2, $3, $4)"},
    {"inspect", "SELECT encode(value, 'hex'), redlock_milliseconds(expires, clock_timestamp()), '' FROM redlock"
                " WHERE key = $1 AND expires > clock_timestamp()"
                " UNION ALL (SELECT encode(value, 'hex'), redlock_milliseconds(expires, clock_timestamp()), 'reader'"
                " FROM redlock_reader WHERE key = $1 AND expires > clock_timestamp() LIMIT 64)"
                " UNION ALL (SELECT encode(contender, 'hex'), to_share::integer, 'waiter'"
                " FROM redlock_wish WHERE key = $1 AND expires > clock_timestamp() LIMIT 64)"},
    {"inspect_standby", "SELECT encode(value, 'hex'), redlock_milliseconds(expires, clock_timestamp()), '' FROM redlock"
                        " WHERE key = $1 AND expires > clock_timestamp() UNION ALL"
                        " (SELECT encode(value, 'hex'), redlock_milliseconds(expires, clock_timestamp()), 'reader'"
                        " FROM redlock_reader WHERE key = $1 AND expires > clock_timestamp() LIMIT 64)"},
    {"watch", "WITH lot AS (UPDATE redlock SET watched = watched | 9 FROM redlock_need_not_last() WHERE key ="
              " (SELECT key FROM redlock WHERE key = $1 AND expires > clock_timestamp() AND watched & 9 <> 9"
              " FOR UPDATE SKIP LOCKED) RETURNING key)"
              " SELECT EXISTS (SELECT FROM lot) OR EXISTS (SELECT FROM redlock WHERE key = $1"
              " AND expires > clock_timestamp() AND watched & 9 = 9)"},
    {"scan", "SELECT encode(key, 'hex') FROM redlock WHERE key >= $1 AND key < $2 AND expires > clock_timestamp()"
             " ORDER BY key LIMIT $3"},
    {"withdraw", "SELECT redlock_withdraw($1, $2)"},
    {"share", "SELECT * FROM redlock_share($1, $2, $3, $4, $5, $6)"},
    {"extend_shared", "SELECT * FROM redlock_extend_shared($1, $2, $3, $4, $5)"},
    {"release_shared", "SELECT redlock_release_shared($1, $2, $3)"},
    {"upgrade", "SELECT * FROM redlock_upgrade($1, $2, $3, $4, $5, $6)"},
    {"downgrade", "SELECT redlock_downgrade($1, $2)"},
};

constexpr std::size_t key_max = 2704;  // the longest entry of an index

statement const* statement_named(std::string_view name) { return std::ranges::find(steps, name, &statement::name); }

// Three arrays, for example {1,2}.
kit::taken_keys read_taken(kit::cells const& columns)
{
    auto const array = [&](std::size_t column) {
        std::string_view const text = kit::cell(columns, column);
        return text.size() > 2 ? text.substr(1, text.size() - 2) : std::string_view();
    };
    auto const size = [](std::string_view text) { return text.empty() ? 0 : 1 + std::ranges::count(text, ','); };
    auto indexes = array(4), remaining = array(5), handed_on = array(6);
    if (size(remaining) != size(indexes) || size(handed_on) != size(indexes))
        return {};
    kit::taken_keys keys;
    while (!indexes.empty()) {
        auto const index = static_cast<std::uint32_t>(kit::to_integer(kit::take(indexes, ',')));
        auto const time = core::told_time<milliseconds>(kit::to_integer(kit::take(remaining, ',')));
        keys.push_back({index, time, kit::take(handed_on, ',') == "t"});
    }
    return keys;
}

void put_32(std::string& to, std::uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        to += static_cast<char>(n >> shift & 0xff);
}

// One key, or an array of bytea in the binary form of the protocol. The form: number of dimensions, whether there are
// nulls, type, dimension, and each element.
std::string keys_of(node_command const& c)
{
    using kind = node_command::kind;
    bool const shares = c.is_shared() && c.which() != kind::raise && c.which() != kind::replace;
    if (shares || c.which() == kind::inspect || c.which() == kind::upgrade || c.which() == kind::downgrade)
        return c.key();
    constexpr std::uint32_t type_bytea = 17;
    auto const count = static_cast<std::uint32_t>(c.keys.size());
    std::string bytes;
    for (std::uint32_t const n : {1u, 0u, type_bytea, count, 1u})
        put_32(bytes, n);
    for (auto const& k : c.keys) {
        put_32(bytes, static_cast<std::uint32_t>(k.size()));
        bytes += k;
    }
    return bytes;
}

std::uint64_t fnv1a(std::string_view text) noexcept
{
    std::uint64_t hash = 0xcbf29ce484222325;
    for (unsigned char const c : text)
        hash = (hash ^ c) * 0x100000001b3;
    return hash;
}

errc reason_of(std::string_view state)
{
    using namespace std::string_view_literals;
    static constexpr std::pair<std::string_view, errc> reasons[] = {
        {"40"sv, errc::node_busy},     // serialization failures and deadlocks
        {"55P03"sv, errc::node_busy},  // the wait for a lock timed out
        {"57014"sv, errc::node_busy},  // the statement took too long
        {"53200"sv, errc::node_out_of_memory},
        {"53"sv, errc::node_refuses_writes},  // disk full, too many connections
        {"57P"sv, errc::node_loading},        // the server is shutting down or starting
        {"42501"sv, errc::permission_denied},
        {"28"sv, errc::authentication_failed},
        {"25006"sv, errc::node_refuses_writes},  // a standby is found out in the greeting
        {"42P01"sv, errc::unsupported_server},   // the tables were deleted
        {"42883"sv, errc::unsupported_server},   // the functions were deleted
        {"RL002"sv, errc::unsupported_server},   // the tables have changed since this connection met them
    };
    auto const* const known =
        std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return state.starts_with(r.first); });
    return known != std::end(reasons) ? known->second : errc::server_error;
}

}  // namespace

void parameters::add(std::optional<std::string> value, int format)
{
    values_.push_back(std::move(value));
    formats_.push_back(format);
}

std::vector<char const*> parameters::pointers() const
{
    std::vector<char const*> all;
    for (auto const& v : values_)
        all.push_back(v ? v->c_str() : nullptr);
    return all;
}

std::vector<int> parameters::lengths() const
{
    std::vector<int> all;
    for (auto const& v : values_)
        all.push_back(v ? static_cast<int>(v->size()) : 0);
    return all;
}

kit::rows rows_of(PGresult const& r)
{
    kit::rows rows;
    for (int i = 0; i < PQntuples(&r); ++i) {
        auto& row = rows.emplace_back();
        for (int c = 0; c < PQnfields(&r); ++c)
            row.emplace_back(PQgetvalue(&r, i, c), static_cast<std::size_t>(PQgetlength(&r, i, c)));
    }
    return rows;
}

std::span<statement const> all_statements() noexcept { return steps; }

std::string prepared_name(statement const& s, std::string_view table)
{
    // The server ignores what is behind the 63rd character.
    auto const place = table.size() <= kit::table_max ? std::string(table) : fmt::format("{:016x}", fnv1a(table));
    return fmt::format("{}:{}.{}:{}", place, schema_version, texts_version, s.name);
}

std::pair<statement const*, parameters> put_watch(node_command const& c)
{
    parameters key;
    key.add_bytes(c.key());
    return {statement_named("watch"), std::move(key)};
}

std::pair<statement const*, parameters> put(node_command const& c, bool tombstone, bool is_standby)
{
    using form = kit::parameter::form;
    parameters all;
    if (c.which() == node_command::kind::scan) {
        auto range = kit::range_of(c);
        all.add_bytes(std::move(range.first));
        all.add_bytes(range.end.empty() ? std::string(key_max + 1, '\xff') : std::move(range.end));
        all.add_text(std::to_string(c.as<commands::scan>().limit));
        return {statement_named("scan"), std::move(all)};
    }
    all.add_bytes(keys_of(c));
    for (auto const& p : kit::parameters_of(c, tombstone)) {
        if (p.is == form::null)
            all.add_null();
        else if (p.is == form::bytes)
            all.add_bytes(std::string(p.bytes));
        else
            all.add_text(p.is == form::number ? std::to_string(p.number) : p.number != 0 ? "t" : "f");
    }
    bool const is_part = is_standby && c.which() == node_command::kind::inspect;
    return {statement_named(is_part ? "inspect_standby" : kit::step_of(c)), std::move(all)};
}

node_reply interpret(node_command const& c, PGresult const& answer, bool is_standby)
{
    if (PQresultStatus(&answer) != PGRES_TUPLES_OK)
        return refusal(answer);
    auto rows = rows_of(answer);
    bool const is_scan = c.which() == node_command::kind::scan;
    if (!is_scan && c.which() != node_command::kind::inspect)
        return kit::interpret(c, rows, read_taken, "function");
    for (auto& row : rows)
        row.front() = kit::from_hex(row.front());
    return is_scan ? kit::interpret_scan(c, rows) : kit::interpret_inspection(rows, !is_standby);
}

// PostgreSQL undoes a statement that fails. If the connection ends, it is unknown whether a commit in progress
// succeeded.
node_reply refusal(PGresult const& answer)
{
    auto const field = [&](int which) {
        auto const* const text = PQresultErrorField(&answer, which);
        return std::string_view(text ? text : "");
    };
    auto const state = field(PG_DIAG_SQLSTATE);
    bool const undone = field(PG_DIAG_SEVERITY_NONLOCALIZED) == "ERROR";
    if (state.empty())
        return {.error = errc::connection_lost, .text = PQresultErrorMessage(&answer)};
    std::string text(field(PG_DIAG_MESSAGE_PRIMARY));
    if (state == "26000")
        text += "; does a pooler share connections? Then add ?prepare=off";
    if (state == "25006")
        text += "; unless it is a standby now, the role or the database has default_transaction_read_only: ALTER ROLE "
                "… SET default_transaction_read_only = off, or add ?options=-cdefault_transaction_read_only%3Doff to "
                "the address";
    if (state == "42P01" || state == "42883")
        text += "; see docs/stores.md for how the tables are made";
    return {.untouched = undone, .error = undone ? reason_of(state) : errc::connection_lost, .text = std::move(text)};
}

}  // namespace redlock::stores::postgresql
