#include "stores/postgresql/encoder.hpp"

#include "stores/kit/database_options.hpp"
#include "stores/kit/steps.hpp"
#include "stores/postgresql/schema.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace redlock::stores::postgresql {

namespace {

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

std::span<statement const> all_statements() noexcept { return steps; }

std::string prepared_name(statement const& s, std::string_view table)
{
    // The server ignores what is behind the 63rd character.
    auto const place = table.size() <= kit::table_max ? std::string(table) : fmt::format("{:016x}", fnv1a(table));
    return fmt::format("{}:{}.{}:{}", place, schema_version, texts_version, s.name);
}

std::pair<statement const*, parameters> encode_watch(node_command const& c)
{
    parameters key;
    key.add_bytes(c.key());
    return {statement_named("watch"), std::move(key)};
}

std::pair<statement const*, parameters> encode(node_command const& c, bool tombstone, bool is_standby)
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

}  // namespace redlock::stores::postgresql
