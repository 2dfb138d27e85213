#include "stores/mysql/encoder.hpp"

#include "stores/kit/steps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

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

}  // namespace

std::string encode(node_command const& c, bool tombstone, std::string_view table)
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

std::string encode_inspection(node_command const& c, std::string_view table)
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

std::string encode_scan(node_command const& c, std::string_view table)
{
    auto const range = kit::range_of(c);
    auto const end = range.end.empty() ? std::string() : " AND lock_key < " + literal(range.end);
    return fmt::format("SELECT lock_key FROM {} WHERE lock_key >= {}{} AND expires > UTC_TIMESTAMP(6) "
                       "ORDER BY lock_key LIMIT {}",
                       table, literal(range.first), end, c.as<commands::scan>().limit);
}

std::string encode_signature(std::string_view name, std::string_view life, bool durable,
                             std::chrono::milliseconds holds, std::string_view verdict, std::string_view table)
{
    return fmt::format("CALL {}_sign({}, {}, {}, {}, {})", table, literal(name), literal(life), durable ? 1 : 0,
                       holds.count(), literal(verdict));
}

}  // namespace redlock::stores::mysql
