#include "stores/postgresql/decoder.hpp"

#include "stores/kit/refusal.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

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
    while (!indexes.empty())
        kit::add_taken(keys, kit::take(indexes, ','), kit::take(remaining, ','), kit::take(handed_on, ',') == "t");
    return keys;
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
    return kit::reason_in(reasons, [&](std::string_view code) { return state.starts_with(code); });
}

}  // namespace

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

node_reply decode(node_command const& c, PGresult const& answer, bool is_standby)
{
    if (PQresultStatus(&answer) != PGRES_TUPLES_OK)
        return refusal(answer);
    auto rows = rows_of(answer);
    bool const is_scan = c.which() == node_command::kind::scan;
    if (!is_scan && c.which() != node_command::kind::inspect)
        return kit::decode(c, rows, read_taken, "function");
    for (auto& row : rows)
        row.front() = kit::from_hex(row.front());
    return is_scan ? kit::decode_scan(c, rows) : kit::decode_inspection(rows, !is_standby);
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
        text += kit::how_to_make_tables;
    return {.untouched = undone, .error = undone ? reason_of(state) : errc::connection_lost, .text = std::move(text)};
}

}  // namespace redlock::stores::postgresql
