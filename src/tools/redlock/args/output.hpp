#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// Lines of columns. Each column is as wide as its widest cell.
class table {
public:
    explicit table(std::vector<std::string> header);

    void add(std::vector<std::string> line);

    /// @param bold  print the header in bold, for a terminal
    std::string text(bool bold) const;

    /// The lines that were added since the last call; the first call begins with the header. Columns never become
    /// narrower.
    std::string take_text(bool bold);

private:
    std::vector<std::vector<std::string>> lines_;
    std::vector<std::size_t> widths_;
    bool has_header_ = true;  // before the lines
};

/// A JSON document, safe for a terminal: escapes unprintable characters, and replaces invalid UTF-8.
std::string json_text(boost::json::value const&);

/// One JSON document in one line. It begins with "schema": 1. The number grows when a field is removed or changes its
/// meaning.
std::string json_line(boost::json::object const& fields);
void print_json(boost::json::object const& fields);

/// A duration for people: "250 ms", "7.5 s", "3 min", "2 h".
std::string in_words(std::chrono::milliseconds);

/// Makes a text from a server or user safe for a terminal: escapes unprintable characters and invalid UTF-8.
std::string printable(std::string_view text);

/// Makes a text from a server or user valid for JSON: replaces invalid UTF-8 by U+FFFD.
std::string valid_utf8(std::string_view text);

/// @p text with a backslash before each character of @p special.
std::string escaped(std::string_view text, std::string_view special);

/// Writes a line for people to standard error. It never blocks, because the same thread renews locks and stops the
/// command. Text that does not fit into a full pipe is lost.
void say(std::string_view line) noexcept;

/// Writes @p text to @p file. It waits for a full pipe, but in all for at most @p limit. Write errors are ignored.
/// @return false: the pipe was full until then
bool write_within(int file, std::string_view text, std::chrono::milliseconds limit) noexcept;

/// Writes a text of any length for people to standard error. It may block. Write errors are ignored.
void remark(std::string_view text) noexcept;

/// Writes a result to standard output.
/// @throws std::system_error if it cannot be written
void print(std::string const& text);

}  // namespace redlock::cli
