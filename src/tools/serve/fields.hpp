#pragma once

#include <boost/json/monotonic_resource.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::serve {

/// A field of a request that is wrong: its name, its value and the limit.
struct wrong_field : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// A field or a parameter that there is not. @param kind "field"
wrong_field unknown_field(std::string_view kind, std::string_view name, std::initializer_list<std::string_view> known);

/// The fields of a JSON document in a request. All functions throw @ref wrong_field.
class fields {
public:
    /// @param known the names that the document may have
    fields(std::string_view text, std::initializer_list<std::string_view> known);
    fields(fields const&) = delete;
    fields& operator=(fields const&) = delete;

    /// A time of @p least to @p most.
    std::chrono::milliseconds milliseconds(std::string_view name, std::chrono::milliseconds otherwise,
                                           std::chrono::milliseconds least = {},
                                           std::chrono::milliseconds most = std::chrono::hours(24)) const;

    bool flag(std::string_view name) const;         ///< false if there is none
    std::string text(std::string_view name) const;  ///< empty if there is none
    std::string word(std::string_view name) const;  ///< not empty; empty if there is none

    /// An array of 1 to @p most objects.
    std::vector<boost::json::object> objects(std::string_view name, std::size_t most) const;

    /// The names of locks: one text or an array of 1 to 256 texts, each of 1 to 512 bytes.
    std::vector<std::string> texts(std::string_view name) const;

private:
    std::array<unsigned char, 1024> memory_;  ///< enough for most requests
    boost::json::monotonic_resource resource_{memory_.data(), memory_.size()};
    boost::json::object all_{&resource_};
};

}  // namespace redlock::serve
