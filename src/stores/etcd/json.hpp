#pragma once

#include <boost/json/object.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// JSON for etcd's gateway: https://etcd.io/docs/v3.4/dev-guide/api_grpc_gateway/. Bytes are in base64, and 64-bit
// numbers in quotes. Answers omit values that are zero, empty or false.
namespace redlock::stores::etcd {

std::string base64(std::string_view bytes);
std::string from_base64(std::string_view text);  ///< empty if @p text is not base64

// Conditions of a transaction. A comparison with the value of a missing key is false.

std::string is_missing(std::string_view key);
std::string is_equal(std::string_view key, std::string_view value);
std::string is_less(std::string_view key, std::string_view value);
std::string is_greater(std::string_view key, std::string_view value);
std::string is_unchanged(std::string_view key, std::int64_t mod_revision);  ///< zero: the key is missing

// Steps of a transaction.

std::string put(std::string_view key, std::string_view value, std::string_view lease = {});
/// Keeps value and lease. The whole request fails if the key is missing.
std::string put_as_it_is(std::string_view key);
/// Keeps the value, and moves the key to @p lease. The whole request fails if the key is missing.
std::string put_under(std::string_view key, std::string_view lease);
std::string get(std::string_view key);
/// Finds up to @p most keys from @p begin to before @p end, without their values.
std::string find_any(std::string_view begin, std::string_view end, std::size_t most = 1);
std::string erase(std::string_view key);

struct transaction_text {
    std::vector<std::string> conditions{}, then{}, otherwise{};

    std::string request() const;
    std::string step() const;  ///< as a step of another transaction
};

/// The end of the range of keys that begin with @p prefix.
std::string end_of(std::string prefix);

// Parts of answers.

namespace json = boost::json;

std::int64_t number_in(json::object const&, std::string_view name);  ///< zero: missing
bool is_true(json::object const&, std::string_view name);
std::string bytes_in(json::object const&, std::string_view name);
std::string_view text_in(json::object const&, std::string_view name);
json::object const& object_in(json::object const&, std::string_view name);  ///< empty: missing
/// An element of a list. Empty: missing.
json::object const& object_in(json::object const&, std::string_view list, std::size_t i);

/// A key that step @p i has read. Empty: the step has read no key, or fewer.
json::object const& found(json::object const& transaction, std::size_t i, std::size_t nth = 0);

/// The answer to step @p i, which is a transaction.
json::object const& inner(json::object const& transaction, std::size_t i);

}  // namespace redlock::stores::etcd
