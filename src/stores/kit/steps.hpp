#pragma once

#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::kit {

/// @p text with @p table in the place of the default's name.
std::string for_table(std::string_view text, std::string_view table);

std::string in_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);

/// Up to @p mark, which is taken away, too; all of it if there is none.
std::string_view take(std::string_view& rest, char mark);

std::int64_t to_integer(std::string_view text);

/// One of the values that a step gets behind the keys.
struct parameter {
    /// The last two are flags that not all databases take.
    enum class form { null, bytes, number, flag, tombstone, watch };
    form is = form::null;
    std::string_view bytes{};
    std::int64_t number = 0;
};

/// The name of the function or procedure that carries out @p command, without the name of the table.
std::string_view step_of(node_command const& command) noexcept;

/// Its parameters, in their order. @p tombstone: of a release: leave one.
std::vector<parameter> parameters_of(node_command const& command, bool tombstone);

using cells = std::vector<std::string>;  ///< of one row; what is null is empty
using rows = std::vector<cells>;
using taken_keys = decltype(node_reply::taken);

/// Empty behind the last column.
std::string const& cell(cells const& row, std::size_t column);

/// Of the first row; empty if there is none.
std::string const& cell(rows const&, std::size_t column);
std::int64_t integer(rows const&, std::size_t column);

/// What an answer to @p command says. @p taken reads the last columns of an acquisition: the keys that others hold.
/// @p step: what has answered, such as "procedure".
node_reply interpret(node_command const& command, rows const&, taken_keys (*taken)(cells const&), char const* step);

}  // namespace redlock::stores::kit
