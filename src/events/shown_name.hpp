#pragma once

#include <redlock/resource_set.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::inline v1::events {

/// The number of bytes of the character at the beginning of @p text. 0: a control character, or not UTF-8.
std::size_t printable_size(std::string_view text) noexcept;

/// Replaces each byte of @p text that does not belong to a printable character by "?".
std::string in_one_line(std::string_view text);

/// The name of a resource for messages: of bounded length, and without characters that disturb a terminal or a log.
class shown_name {
public:
    explicit shown_name(std::string_view resource) noexcept { add_name(resource); }

    /// The first name in quotation marks, and the number of further names. The internal lock of an upgrade is shown as
    /// `the right to upgrade "NAME"`.
    explicit shown_name(resource_set const&, bool any = false) noexcept;

    operator std::string_view() const noexcept { return {text_, size_}; }

private:
    void add_name(std::string_view resource) noexcept;
    void add(std::string_view) noexcept;

    static constexpr std::size_t size_max = 64;
    char text_[size_max + 48];  // also has room for "…", quotation marks, and a number
    std::size_t size_ = 0;
};

}  // namespace redlock::events
