#include "tools/redlock/run/default_note.hpp"

#include "tools/redlock/args/output.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace redlock::cli {

namespace {

constexpr std::size_t characters_max = 60, bytes_max = 200;

// The text of -c is one argument with blanks and line ends.
constexpr std::string_view blanks = " \t\r\n";

bool may_have_a_password(std::string_view word) { return word.find("://") != word.npos && word.find('@') != word.npos; }

}  // namespace

std::string default_note(std::span<std::string const> command)
{
    std::string all;
    for (std::string_view rest : command) {
        for (rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size())); !rest.empty();
             rest.remove_prefix(std::min(rest.find_first_not_of(blanks), rest.size()))) {
            auto const word = rest.substr(0, rest.find_first_of(blanks));
            all += all.empty() ? "" : " ";
            all += may_have_a_password(word) ? "…" : printable(word);
            rest.remove_prefix(word.size());
        }
    }
    std::size_t end = 0;
    for (std::size_t at = 0, characters = 0; at <= std::min(all.size(), bytes_max); ++at) {
        bool const is_continuation = at < all.size() && (static_cast<unsigned char>(all[at]) & 0xc0) == 0x80;
        if (is_continuation)
            continue;
        end = at;
        if (characters++ == characters_max)
            break;
    }
    all.resize(end);
    return all;
}

}  // namespace redlock::cli
