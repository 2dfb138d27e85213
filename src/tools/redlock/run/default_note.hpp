#pragma once

#include <span>
#include <string>

namespace redlock::cli {

/** The note of a `redlock run` without --note: the first 60 characters of the command.

    The library never refuses it: unprintable bytes are escaped, and the text is cut before it becomes too long. A word
    that may be a URL with a password is left out, because other users can read the note.
*/
std::string default_note(std::span<std::string const> command);

}  // namespace redlock::cli
