#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The answer of a server to one command.
struct reply {
    enum class kind : std::uint8_t {
        nothing,  ///< null
        text,     ///< a string, a number or a Boolean
        list,     ///< a list, or a map as names and values in turn
        error,    ///< text: the server's message, without secrets, for people; said: the message as it came
        silence,  ///< there was no answer; text: why
    };

    kind what = kind::nothing;
    std::string text{};
    std::vector<reply> elements{};
    std::string said{};  ///< of an error; decisions depend on it, and it is never shown

    bool failed() const noexcept { return what == kind::error || what == kind::silence; }

    /// The text as a number; nothing if it is not a number.
    std::optional<std::int64_t> number() const;

    /// The value of a field, in a list of names and values or in the lines of INFO. Empty: there is no such field.
    std::string field(std::string_view name) const;
};

}  // namespace redlock::cli
