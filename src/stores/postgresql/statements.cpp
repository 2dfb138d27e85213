#include "stores/postgresql/statements.hpp"

#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <utility>

namespace redlock::pg {

namespace {

using std::chrono::milliseconds;

constexpr statement acquire{"acquire", "SELECT * FROM redlock_acquire($1, $2, $3, $4, $5, $6, $7, $8)"};
constexpr statement acquire_any{"acquire_any", "SELECT * FROM redlock_acquire_any($1, $2, $3, $4, $5, $6, $7)"};
constexpr statement raise{"raise", "SELECT redlock_raise($1, $2, $3)"};
constexpr statement extend{"extend", "SELECT * FROM redlock_extend($1, $2, $3, $4)"};
constexpr statement release{"release", "SELECT redlock_release($1, $2, $3, $4)"};
constexpr statement inspect{"inspect", "SELECT encode(value, 'hex'), redlock_milliseconds(expires, clock_timestamp()) FROM redlock"
                                       " WHERE key = $1 AND expires > clock_timestamp()"};
constexpr statement withdraw{"withdraw", "SELECT redlock_withdraw($1, $2)"};
constexpr statement share{"share", "SELECT * FROM redlock_share($1, $2, $3, $4, $5, $6)"};
constexpr statement extend_shared{"extend_shared", "SELECT * FROM redlock_extend_shared($1, $2, $3, $4, $5)"};
constexpr statement release_shared{"release_shared", "SELECT redlock_release_shared($1, $2, $3)"};
constexpr statement upgrade{"upgrade", "SELECT * FROM redlock_upgrade($1, $2, $3, $4, $5, $6)"};
constexpr statement downgrade{"downgrade", "SELECT redlock_downgrade($1, $2)"};

std::int64_t number(std::string_view text)
{
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

// The first row of an answer, column by column.
class row {
public:
    explicit row(PGresult const& r) : result_(r) {}

    bool flag() { return text() == "t"; }
    std::int64_t number() { return pg::number(text()); }
    milliseconds time() { return milliseconds(number()); }
    std::uint64_t counter() { return static_cast<std::uint64_t>(number()); }

    std::string_view text()
    {
        int const c = column_++;
        return {PQgetvalue(&result_, 0, c), static_cast<std::size_t>(PQgetlength(&result_, 0, c))};
    }

    // Such as {1,2}
    std::vector<std::string_view> list()
    {
        std::vector<std::string_view> parts;
        auto rest = text();
        rest = rest.size() > 2 ? rest.substr(1, rest.size() - 2) : std::string_view();
        while (!rest.empty()) {
            auto const end = std::min(rest.find(','), rest.size());
            parts.push_back(rest.substr(0, end));
            rest.remove_prefix(std::min(end + 1, rest.size()));
        }
        return parts;
    }

private:
    PGresult const& result_;
    int column_ = 0;
};

vote vote_of(bool granted)
{
    return granted ? vote::granted : vote::denied;
}

node_reply read_acquire(node_command const& c, row r)
{
    node_reply reply{.vote = vote_of(r.flag())};
    reply.fence = r.counter();
    reply.wanted = r.flag();
    auto const number_of_key = static_cast<std::uint32_t>(r.number());
    reply.ours = c.grows ? number_of_key : 0;
    reply.chosen = c.any ? number_of_key : 0;
    auto const taken = r.list(), remaining = r.list(), handed_on = r.list();
    if (!(c.contends() || c.any) || remaining.size() != taken.size() || handed_on.size() != taken.size())
        return reply;
    for (std::size_t i = 0; i < taken.size(); ++i)
        reply.taken.push_back({static_cast<std::uint32_t>(number(taken[i])), milliseconds(number(remaining[i])), handed_on[i] == "t"});
    if (!c.has_several_keys() && !reply.taken.empty()) {
        reply.remaining = reply.taken.front().remaining;
        reply.handed_on = reply.taken.front().handed_on;
        reply.taken.clear();
    }
    return reply;
}

node_reply read_share(node_command const& c, row r)
{
    node_reply reply{.vote = vote_of(r.flag())};
    auto const counter = r.counter();
    reply.fence = c.fence != 0 ? counter : 0;
    reply.wanted = r.flag();
    reply.behind_writer = r.flag();
    reply.remaining = r.time();
    reply.handed_on = r.flag();
    return reply;
}

node_reply read_upgrade(row r)
{
    node_reply reply{.vote = vote_of(r.flag())};
    reply.fence = r.counter();
    reply.ours = r.flag() ? 1 : 0;
    reply.remaining = r.time();
    return reply;
}

node_reply read_extend(row r)
{
    node_reply reply{.vote = vote_of(r.flag())};
    reply.healed = r.flag();
    return reply;
}

node_reply read_release(node_command const& c, row r)
{
    auto const ours = static_cast<std::size_t>(r.number());
    node_reply reply{.vote = vote_of(ours == c.keys.size())};
    reply.ours = c.has_several_keys() ? static_cast<std::uint32_t>(ours) : 0;
    return reply;
}

std::string from_hex(std::string_view text)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        unsigned n = 0;
        std::from_chars(text.data() + i, text.data() + i + 2, n, 16);
        bytes += static_cast<char>(n);
    }
    return bytes;
}

errc reason_of(std::string_view state)
{
    using namespace std::string_view_literals;
    static constexpr std::pair<std::string_view, errc> reasons[] = {
        {"40"sv, errc::node_busy},            // serialization failures and deadlocks
        {"55P03"sv, errc::node_busy},         // a lock was not to be had
        {"57014"sv, errc::node_busy},         // took too long
        {"53200"sv, errc::node_out_of_memory},
        {"53"sv, errc::node_refuses_writes},  // disk full, too many connections
        {"57P"sv, errc::node_loading},        // it is being shut down or started
        {"42501"sv, errc::permission_denied},
        {"28"sv, errc::authentication_failed},
        {"25006"sv, errc::node_read_only},
        {"42P01"sv, errc::unsupported_server},  // the tables are gone
        {"42883"sv, errc::unsupported_server},  // the functions
        {"RL002"sv, errc::unsupported_server},  // the tables are others than this connection has met
    };
    auto const* const known = std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return state.starts_with(r.first); });
    return known != std::end(reasons) ? known->second : errc::server_error;
}

}  // namespace

std::vector<statement> const& all_statements()
{
    static std::vector<statement> const all{acquire, acquire_any, raise,          extend,  release,  inspect,
                                            withdraw, share,       extend_shared, release_shared, upgrade, downgrade};
    return all;
}

std::string prepared_name(statement const& s, std::string_view table)
{
    return fmt::format("{}:{}:{}", table, schema_version, s.name);
}

std::pair<statement const*, parameters> put(node_command const& c, bool tombstone)
{
    using kind = node_command::kind;
    parameters p;
    bool const one_key = c.is_shared() || c.what == kind::inspect || c.what == kind::upgrade || c.what == kind::downgrade;
    if (one_key && c.what != kind::raise)
        p.add_bytes(c.key());
    else
        p.add_keys(c.keys);
    auto const fence = static_cast<std::int64_t>(c.fence);
    switch (c.what) {
    case kind::acquire:
        p.add_bytes(c.value);
        p.add_number(c.ttl.count());
        if (c.is_shared()) {
            p.add_bytes_or_null(c.contender);
            p.add_switch(c.passes);
            p.add_switch(c.watch);
            return {&share, std::move(p)};
        }
        p.add_number(fence);
        p.add_bytes_or_null(c.contender);
        if (!c.any)
            p.add_switch(c.grows);
        p.add_switch(c.handed_on == node_command::handovers::follow);
        p.add_switch(c.watch);
        return {c.any ? &acquire_any : &acquire, std::move(p)};
    case kind::raise:
        p.add_number(fence);
        p.add_switch(c.is_shared());
        return {&raise, std::move(p)};
    case kind::extend:
        p.add_bytes(c.value);
        p.add_number(c.ttl.count());
        p.add_switch(c.heal);
        if (c.is_shared())
            p.add_switch(c.alone);
        return {c.is_shared() ? &extend_shared : &extend, std::move(p)};
    case kind::release:
        p.add_bytes(c.value);
        p.add_switch(tombstone);
        if (!c.is_shared())
            p.add_switch(c.handed_on == node_command::handovers::end);
        return {c.is_shared() ? &release_shared : &release, std::move(p)};
    case kind::upgrade:
        p.add_bytes(c.value);
        p.add_number(c.ttl.count());
        p.add_number(fence);
        p.add_bytes_or_null(c.contender);
        p.add_switch(c.watch);
        return {&upgrade, std::move(p)};
    case kind::downgrade:
        p.add_bytes(c.value);
        return {&downgrade, std::move(p)};
    case kind::withdraw:
        p.add_bytes(c.contender);
        return {&withdraw, std::move(p)};
    case kind::inspect:
    case kind::connect:
        break;
    }
    return {&inspect, std::move(p)};
}

node_reply interpret(node_command const& c, PGresult const& answer)
{
    using kind = node_command::kind;
    if (PQresultStatus(&answer) != PGRES_TUPLES_OK)
        return refusal(answer);
    row r(answer);
    if (c.what == kind::inspect) {
        if (PQntuples(&answer) == 0)
            return {.vote = vote::denied};
        auto value = from_hex(r.text());
        return {.vote = vote::granted, .text = std::move(value), .remaining = r.time()};
    }
    if (PQntuples(&answer) != 1)
        return {.error = errc::unexpected_reply, .text = "a function of ours did not answer with one row"};
    switch (c.what) {
    case kind::acquire:
        return c.is_shared() ? read_share(c, r) : read_acquire(c, r);
    case kind::extend:
        return read_extend(r);
    case kind::release:
        return c.is_shared() ? node_reply{.vote = vote_of(r.flag())} : read_release(c, r);
    case kind::upgrade:
        return read_upgrade(r);
    case kind::downgrade:
        return {.vote = vote_of(r.flag())};
    case kind::raise: {
        node_reply reply{.vote = vote::granted};
        reply.fence = r.counter();
        return reply;
    }
    default:
        return {.vote = vote::granted};
    }
}

// An error of one statement undoes it. What ends the connection says nothing of a commit that was under way.
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
    if (state == "42P01" || state == "42883")
        text += "; see docs/stores.md for how the tables are made";
    return {.untouched = undone, .error = undone ? reason_of(state) : errc::connection_lost, .text = std::move(text)};
}

}  // namespace redlock::pg
