#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::cli {

/// The width for texts on standard output: that of the terminal, from 40 to 120 columns; 80 without a terminal.
std::size_t columns_of_output();

/// Breaks @p text, without line ends, into lines of at most @p columns. The first line begins at the column @p indent,
/// and so do all others, after blanks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t columns);

/// Breaks the paragraphs and the rows of a text into lines of at most @p columns. An empty line ends a paragraph. A
/// line that begins with blanks is a row; its continuation begins below its second column, if it has two.
std::string wrapped_document(std::string_view text, std::size_t columns);

}  // namespace redlock::cli
