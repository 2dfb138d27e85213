#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// Lines in columns, each as wide as what is in it.
class table {
public:
    explicit table(std::vector<std::string> header);

    void add(std::vector<std::string> line);

    /// @param bold  whether the header is to stand out, on a terminal
    std::string text(bool bold) const;

    /// Of a long one, what was added since the last call, and the header with the first. Columns never become narrower.
    std::string take_text(bool bold);

private:
    std::vector<std::vector<std::string>> lines_;
    std::vector<std::size_t> widths_;
    bool has_header_ = true;  // before the lines
};

/// One document in one line. Each begins with "schema": 1, which grows when a field changes its meaning or goes.
std::string json_line(boost::json::object const& fields);
void print_json(boost::json::object const& fields);

/// "250 ms", "7.5 s", "3 min", "2 h"; for people.
std::string in_words(std::chrono::milliseconds);

/// What a server or a user has written, for a terminal: what is not printable, and what is no UTF-8, is escaped.
std::string printable(std::string_view text);

/// The same for JSON: what is no UTF-8 is replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

/// @p text with a backslash before each of @p special.
std::string escaped(std::string_view text, std::string_view special);

/// Says something to people, on the standard error stream: a line. It never waits for whoever should read it, as a lock
/// is renewed, and a command stopped, by the thread that says so: what does not fit into a full pipe is left out.
void say(std::string_view line) noexcept;

/// What is said to people beside what is printed, and may be of any length. Where it cannot be written, what is under
/// way goes on all the same.
void remark(std::string_view text) noexcept;

/// Prints what has been found.
/// @throws std::system_error if it cannot be written
void print(std::string const& text);

}  // namespace redlock::cli
