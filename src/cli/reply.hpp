#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// What a server has answered.
struct reply {
    enum class kind : std::uint8_t {
        nothing,  ///< a null
        text,     ///< a string, a number, a truth value
        list,     ///< of a map: names and values in turn
        error,    ///< in the server's own words, without secrets
        silence,  ///< there was no answer, and why
    };

    kind what = kind::nothing;
    std::string text{};
    std::vector<reply> elements{};

    bool failed() const noexcept { return what == kind::error || what == kind::silence; }

    /// The number that it is; nothing if it is none.
    std::optional<std::int64_t> number() const;

    /// Of a list of names and values, or of the lines of an INFO. Empty: there is no such field.
    std::string field(std::string_view name) const;
};

}  // namespace redlock::cli
