#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The texts of etcd's JSON gateway: https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/. Bytes are in base64, 64-bit
// numbers in quotes, and what is zero, empty or false is left out of answers.
namespace redlock::stores::etcd {

std::string base64(std::string_view bytes);
std::string from_base64(std::string_view text);  ///< nothing, if it is none

// Conditions of a transaction. Of a key that is not there, a value is none of them.

std::string is_missing(std::string_view key);
std::string is_equal(std::string_view key, std::string_view value);
std::string is_less(std::string_view key, std::string_view value);
std::string is_greater(std::string_view key, std::string_view value);
std::string is_unchanged(std::string_view key, std::int64_t mod_revision);  ///< zero: it is missing

// Its steps.

std::string put(std::string_view key, std::string_view value, std::string_view lease = {});
std::string put_as_it_is(std::string_view key);                       ///< which must be there
std::string put_under(std::string_view key, std::string_view lease);  ///< the same, under another lease
std::string get(std::string_view key);
std::string find_any(std::string_view begin, std::string_view end);  ///< one of the keys from the first to before the
                                                                     ///< other, without its value
std::string erase(std::string_view key);

struct transaction_text {
    std::vector<std::string> conditions{}, then{}, otherwise{};

    std::string request() const;
    std::string step() const;  ///< as a step of another transaction
};

/// The end of the keys that begin with @p prefix, which does not end with the highest byte.
std::string end_of(std::string prefix);

// Answers.

namespace json = boost::json;

std::int64_t number(json::object const&, std::string_view name);  ///< zero: it is not there
bool is_true(json::object const&, std::string_view name);
std::string bytes(json::object const&, std::string_view name);
std::string_view text(json::object const&, std::string_view name);
json::object const& object(json::object const&, std::string_view name);                 ///< empty: it is not there
json::object const& object(json::object const&, std::string_view list, std::size_t i);  ///< the same, of one in a list

/// Of the step @p i, which was to get one key: what is there. Empty: nothing.
json::object const& found(json::object const& transaction, std::size_t i);

/// The step @p i was a transaction.
json::object const& inner(json::object const& transaction, std::size_t i);

}  // namespace redlock::stores::etcd
