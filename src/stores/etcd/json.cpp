#include "stores/etcd/json.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <openssl/evp.h>

#include <algorithm>
#include <charconv>

namespace redlock::stores::etcd {

namespace {

unsigned char* as_octets(char* text) { return reinterpret_cast<unsigned char*>(text); }

unsigned char const* as_octets(char const* text) { return reinterpret_cast<unsigned char const*>(text); }

std::string compare(std::string_view key, std::string_view result, std::string_view value)
{
    return fmt::format(R"({{"key":"{}","target":"VALUE","result":"{}","value":"{}"}})", base64(key), result,
                       base64(value));
}

}  // namespace

std::string base64(std::string_view bytes)
{
    std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // one more for the terminating zero of EVP_EncodeBlock
    auto const size = EVP_EncodeBlock(as_octets(text.data()), as_octets(bytes.data()), static_cast<int>(bytes.size()));
    text.resize(static_cast<std::size_t>(size));
    return text;
}

std::string from_base64(std::string_view text)
{
    std::string bytes(text.size() / 4 * 3, '\0');
    auto const size = EVP_DecodeBlock(as_octets(bytes.data()), as_octets(text.data()), static_cast<int>(text.size()));
    auto const padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
    bytes.resize(static_cast<std::size_t>(std::max(size - padding, 0)));
    return bytes;
}

std::string is_missing(std::string_view key)
{
    return fmt::format(R"({{"key":"{}","target":"CREATE","create_revision":"0"}})", base64(key));
}

std::string is_equal(std::string_view key, std::string_view value) { return compare(key, "EQUAL", value); }

std::string is_less(std::string_view key, std::string_view value) { return compare(key, "LESS", value); }

std::string is_greater(std::string_view key, std::string_view value) { return compare(key, "GREATER", value); }

std::string is_unchanged(std::string_view key, std::int64_t mod_revision)
{
    return fmt::format(R"({{"key":"{}","target":"MOD","mod_revision":"{}"}})", base64(key), mod_revision);
}

std::string put(std::string_view key, std::string_view value, std::string_view lease)
{
    return fmt::format(R"({{"request_put":{{"key":"{}","value":"{}","lease":"{}"}}}})", base64(key), base64(value),
                       lease.empty() ? "0" : lease);
}

std::string put_as_it_is(std::string_view key)
{
    return fmt::format(R"({{"request_put":{{"key":"{}","ignore_value":true,"ignore_lease":true}}}})", base64(key));
}

std::string put_under(std::string_view key, std::string_view lease)
{
    return fmt::format(R"({{"request_put":{{"key":"{}","ignore_value":true,"lease":"{}"}}}})", base64(key), lease);
}

std::string get(std::string_view key) { return fmt::format(R"({{"request_range":{{"key":"{}"}}}})", base64(key)); }

std::string find_any(std::string_view begin, std::string_view end, std::size_t most)
{
    return fmt::format(R"({{"request_range":{{"key":"{}","range_end":"{}","limit":"{}","keys_only":true}}}})",
                       base64(begin), base64(end), most);
}

std::string erase(std::string_view key)
{
    return fmt::format(R"({{"request_delete_range":{{"key":"{}"}}}})", base64(key));
}

std::string transaction_text::request() const
{
    return fmt::format(R"({{"compare":[{}],"success":[{}],"failure":[{}]}})", fmt::join(conditions, ","),
                       fmt::join(then, ","), fmt::join(otherwise, ","));
}

std::string transaction_text::step() const { return R"({"request_txn":)" + request() + "}"; }

std::string end_of(std::string prefix)
{
    while (prefix.ends_with('\xff'))
        prefix.pop_back();
    if (prefix.empty())
        return {'\0'};  // etcd's word for "to the last key"
    prefix.back() = static_cast<char>(static_cast<unsigned char>(prefix.back()) + 1);
    return prefix;
}

std::int64_t number_in(json::object const& o, std::string_view name)
{
    auto const* const v = o.if_contains(name);
    std::int64_t n = 0;
    if (v && v->is_int64())
        return v->get_int64();
    if (v && v->is_string())
        std::from_chars(v->get_string().begin(), v->get_string().end(), n);
    return n;
}

bool is_true(json::object const& o, std::string_view name)
{
    auto const* const v = o.if_contains(name);
    return v && v->is_bool() && v->get_bool();
}

std::string_view text_in(json::object const& o, std::string_view name)
{
    auto const* const v = o.if_contains(name);
    return v && v->is_string() ? std::string_view(v->get_string()) : std::string_view();
}

std::string bytes_in(json::object const& o, std::string_view name) { return from_base64(text_in(o, name)); }

json::object const& object_in(json::object const& o, std::string_view name)
{
    static json::object const nothing;
    auto const* const v = o.if_contains(name);
    return v && v->is_object() ? v->get_object() : nothing;
}

json::object const& object_in(json::object const& o, std::string_view list, std::size_t i)
{
    static json::object const nothing;
    auto const* const v = o.if_contains(list);
    auto const* const at = v && v->is_array() ? v->get_array().if_contains(i) : nullptr;
    return at && at->is_object() ? at->get_object() : nothing;
}

json::object const& found(json::object const& transaction, std::size_t i, std::size_t nth)
{
    return object_in(object_in(object_in(transaction, "responses", i), "response_range"), "kvs", nth);
}

json::object const& inner(json::object const& transaction, std::size_t i)
{
    return object_in(object_in(transaction, "responses", i), "response_txn");
}

}  // namespace redlock::stores::etcd
