#include "stores/mysql/statements.hpp"

#include "stores/mysql/take.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>

namespace redlock::my {

namespace {

std::string as_they_stand(auto const& keys)
{
    std::string all;
    for (auto const& k : keys)
        all.append(std::to_string(10'000 + k.size()), 1).append(k);
    return all;
}

}  // namespace

std::string in_hex(std::string_view bytes)
{
    std::string text;
    text.reserve(2 * bytes.size());
    for (unsigned char const c : bytes) {
        text += "0123456789abcdef"[c >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text;
}

std::string joined(std::vector<std::string_view> keys)
{
    std::sort(keys.begin(), keys.end());
    return as_they_stand(keys);
}

namespace {

using std::chrono::milliseconds;

// A call of one of our procedures, as text. Bytes are written in hexadecimal digits, so that they can be any.
class call {
public:
    call(std::string_view table, std::string_view procedure) : text_("CALL ") { text_.append(table).append("_").append(procedure).append("("); }

    call& bytes(std::string_view b)
    {
        begin() += "x'" + in_hex(b) + "'";
        return *this;
    }

    call& bytes_or_null(std::string_view b)
    {
        if (!b.empty())
            return bytes(b);
        begin() += "NULL";
        return *this;
    }

    call& number(std::int64_t n)
    {
        begin() += std::to_string(n);
        return *this;
    }

    call& flag(bool on) { return number(on ? 1 : 0); }

    call& keys(key_view all) { return bytes(all.size() == 1 ? as_they_stand(all) : joined({all.begin(), all.end()})); }
    call& keys_as_they_stand(key_view all) { return bytes(as_they_stand(all)); }

    std::string text() { return std::move(text_ += ')'); }

private:
    std::string& begin() { return text_.ends_with('(') ? text_ : text_ += ", "; }

    std::string text_;
};

std::int64_t to_number(std::string_view text)
{
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

// The first row of an answer, column by column.
class row {
public:
    explicit row(answer const& a) : cells_(a.rows.front()) {}

    std::string const& text()
    {
        static std::string const none;
        return column_ < cells_.size() ? cells_[column_++] : none;
    }
    std::int64_t number() { return to_number(text()); }
    bool flag() { return number() != 0; }
    milliseconds time() { return milliseconds(number()); }
    std::uint64_t counter() { return static_cast<std::uint64_t>(number()); }

private:
    std::vector<std::string> const& cells_;
    std::size_t column_ = 0;
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
    std::string_view rest = r.text();
    if (!c.contends() && !c.any)
        return reply;
    while (!rest.empty()) {  // such as 0:4711:0
        auto one = take(rest, ',');
        auto const index = to_number(take(one, ':')), remaining = to_number(take(one, ':'));
        reply.taken.push_back({static_cast<std::uint32_t>(index), milliseconds(remaining), one == "1"});
    }
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

node_reply read_inspect(answer const& a)
{
    if (a.rows.empty())
        return {.vote = vote::denied};
    row r(a);
    auto value = r.text();
    return {.vote = vote::granted, .text = std::move(value), .remaining = r.time()};
}

std::string put_acquire(node_command const& c, std::string_view table)
{
    auto const fence = static_cast<std::int64_t>(c.fence);
    call acquire(table, c.is_shared() ? "share" : c.any ? "acquire_any" : "acquire");
    acquire.keys(c.keys);
    if (c.any)
        acquire.keys_as_they_stand(c.keys);
    acquire.bytes(c.value).number(c.ttl.count());
    if (c.is_shared())
        return acquire.bytes_or_null(c.contender).flag(c.passes).text();
    acquire.number(fence).bytes_or_null(c.contender);
    if (!c.any)
        acquire.flag(c.grows);
    return acquire.flag(c.handed_on == node_command::handovers::follow).text();
}

}  // namespace

std::string put(node_command const& c, bool tombstone, std::string_view table)
{
    using kind = node_command::kind;
    auto const fence = static_cast<std::int64_t>(c.fence);
    switch (c.what) {
    case kind::acquire:
        return put_acquire(c, table);
    case kind::raise:
        return call(table, "raise").keys(c.keys).number(fence).flag(c.is_shared()).text();
    case kind::extend:
        if (c.is_shared())
            return call(table, "extend_shared").keys(c.keys).bytes(c.value).number(c.ttl.count()).flag(c.heal).flag(c.alone).text();
        return call(table, "extend").keys(c.keys).bytes(c.value).number(c.ttl.count()).flag(c.heal).text();
    case kind::release:
        if (c.is_shared())
            return call(table, "release_shared").keys(c.keys).bytes(c.value).flag(tombstone).text();
        return call(table, "release").keys(c.keys).bytes(c.value).bytes_or_null(tombstone ? std::string_view(c.key()) : "").flag(c.handed_on == node_command::handovers::end).text();
    case kind::upgrade:
        return call(table, "upgrade").keys(c.keys).bytes(c.value).number(c.ttl.count()).number(fence).bytes_or_null(c.contender).text();
    case kind::downgrade:
        return call(table, "downgrade").keys(c.keys).bytes(c.value).text();
    case kind::withdraw:
        return call(table, "withdraw").keys(c.keys).bytes(c.contender).text();
    case kind::inspect:
    case kind::connect:
        break;
    }
    return call(table, "inspect").keys(c.keys).text();
}

node_reply interpret(node_command const& c, answer const& a)
{
    using kind = node_command::kind;
    if (a.error != 0)
        return refusal(a);
    if (c.what == kind::inspect)
        return read_inspect(a);
    if (a.rows.size() != 1)
        return {.error = errc::unexpected_reply, .text = "a procedure of ours did not answer with one row"};
    row r(a);
    switch (c.what) {
    case kind::acquire:
        return c.is_shared() ? read_share(c, r) : read_acquire(c, r);
    case kind::extend:
        return read_extend(r);
    case kind::release:
        return read_release(c, r);
    case kind::upgrade:
        return read_upgrade(r);
    case kind::raise: {
        node_reply reply{.vote = vote::granted};
        reply.fence = r.counter();
        return reply;
    }
    default:
        return {.vote = vote_of(r.flag())};
    }
}

std::string put_meeting(std::string_view name, std::string_view table)
{
    return call(table, "meet").bytes(name).text();
}

namespace {

errc reason_of(unsigned error)
{
    static constexpr std::pair<unsigned, errc> reasons[] = {
        {1205, errc::node_busy},            // a lock was not to be had
        {deadlock, errc::node_busy},
        {1317, errc::node_busy},            // interrupted
        {1969, errc::node_busy},            // took too long
        {1037, errc::node_out_of_memory},
        {1038, errc::node_out_of_memory},
        {1041, errc::node_out_of_memory},
        {1021, errc::node_refuses_writes},  // the disk is full
        {1114, errc::node_refuses_writes},
        {1040, errc::node_refuses_writes},  // too many connections
        {1203, errc::node_refuses_writes},
        {1226, errc::node_refuses_writes},
        {1053, errc::node_loading},         // it is being shut down
        {1044, errc::permission_denied},
        {1142, errc::permission_denied},
        {1143, errc::permission_denied},
        {1227, errc::permission_denied},
        {1370, errc::permission_denied},
        {1449, errc::permission_denied},    // who made the procedures is gone
        {1045, errc::authentication_failed},
        {1130, errc::authentication_failed},
        {1251, errc::authentication_failed},
        {1698, errc::authentication_failed},
        {2058, errc::authentication_failed},
        {2059, errc::authentication_failed},
        {1290, errc::node_read_only},
        {1792, errc::node_read_only},
        {1836, errc::node_read_only},
        {1049, errc::unsupported_server},   // there is no such database
        {no_table, errc::unsupported_server},   // the tables are gone
        {no_procedure, errc::unsupported_server},
        {1644, errc::unsupported_server},   // the tables are others than this connection has met
        {1665, errc::unsupported_server},   // the binary log takes statements only
    };
    auto const* const known = std::find_if(std::begin(reasons), std::end(reasons), [&](auto& r) { return r.first == error; });
    return known != std::end(reasons) ? known->second : error >= 2000 && error < 3000 ? errc::node_unreachable : errc::server_error;
}

}  // namespace

bool ends_connection(unsigned error) noexcept
{
    constexpr unsigned over[] = {1053, 1080, 1152, 1153, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031};  // ended, killed, cut off
    return (error >= 2000 && error < 3000) || std::find(std::begin(over), std::end(over), error) != std::end(over);
}

namespace {

std::string words_of(answer const& a)
{
    return a.error == no_table || a.error == no_procedure ? a.text + "; see docs/stores.md for how the tables are made" : a.text;
}

}  // namespace

std::string way_out(std::string_view rights, std::string_view database, std::string_view account)
{
    auto const at = account.rfind('@');
    auto const whom = at == account.npos ? std::string("its account") : fmt::format("'{}'@'{}'", account.substr(0, at), account.substr(at + 1));
    return fmt::format("; let an administrator say: GRANT {} ON `{}`.* TO {}", rights, database, whom);
}

node_reply why_not(answer const& a)
{
    return {.untouched = true, .error = reason_of(a.error), .text = words_of(a)};
}

// A procedure answers before it commits, and who commits last may be told of a deadlock there: with other servers of a cluster.
node_reply refusal(answer const& a)
{
    if (ends_connection(a.error))
        return {.error = errc::connection_lost, .text = a.text};
    return {.untouched = !a.begun || a.error == deadlock, .error = reason_of(a.error), .text = words_of(a)};
}

}  // namespace redlock::my
