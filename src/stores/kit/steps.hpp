#pragma once

#include "core/server_memory.hpp"

#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::kit {

/// Replaces the default name of the table in @p text with @p table.
std::string for_table(std::string_view text, std::string_view table);

std::string in_hex(std::string_view bytes);
std::string from_hex(std::string_view digits);

/// Removes and returns the text up to @p mark, and removes the mark. Without a mark: all of the text.
std::string_view take(std::string_view& rest, char mark);

std::int64_t to_integer(std::string_view text);

/// A parameter of a step (a stored function or procedure). The parameters follow the keys.
struct parameter {
    /// `tombstone` and `watch` are flags that not all databases take.
    enum class form { null, bytes, number, flag, tombstone, watch };
    form is = form::null;
    std::string_view bytes{};
    std::int64_t number = 0;
};

/// The name of the function or procedure that executes @p command, without the name of the table.
std::string_view step_of(node_command const& command) noexcept;

/// The parameters of that step, in their order. @param tombstone a release leaves a tombstone
std::vector<parameter> parameters_of(node_command const& command, bool tombstone);

using cells = std::vector<std::string>;  ///< of one row; a null is an empty text
using rows = std::vector<cells>;
using taken_keys = decltype(node_reply::taken);

/// A cell of @p row. Empty if there is no such column.
std::string const& cell(cells const& row, std::size_t column);

/// A cell of the first row. Empty if there is no such row or column.
std::string const& cell(rows const&, std::size_t column);
std::int64_t integer(rows const&, std::size_t column);

/// The record of the server's memory, in the columns from @p first on: word, beginning, age and wait.
core::memory_record read_record(cells const& row, std::size_t first);

/// Adds a key that another client holds. @p index and @p remaining (in milliseconds) are numbers as text.
void add_taken(taken_keys&, std::string_view index, std::string_view remaining, bool handed_on);

/// The reply that the answer to @p command contains.
/// @param taken reads the last columns of an acquisition: the keys that other clients hold
/// @param step the word for what has answered, such as "procedure"
node_reply decode(node_command const& command, rows const&, taken_keys (*taken)(cells const&), char const* step);

/** The reply to an inspection: what the tables say about a key. Each row has bytes, a number, and a word for what they
   are:

    - no word: the value and the remaining time of the key; without such a row, the key is free.
    - "reader": the value and the remaining time of a client. Such a row counts only if the key is shared.
    - "waiter": a contender, and whether it wants to share the key.

    @param knows_waiters whether there is a row for each waiter
*/
node_reply decode_inspection(rows const&, bool knows_waiters = true);

/// Some keys, in the order of their bytes.
struct key_range {
    std::string first{};  ///< No key before it.
    std::string end{};    ///< No key from it on. Empty: all further keys.
};

/// The keys that a scan lists. The place where a scan begins is the last key of the scan before.
key_range range_of(node_command const& scan);

/// The reply to a scan whose rows are the first keys of its range, as many as it may list.
node_reply decode_scan(node_command const& scan, rows const&);

}  // namespace redlock::stores::kit
