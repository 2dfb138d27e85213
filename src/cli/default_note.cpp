#include "cli/default_note.hpp"

#include "runtime/shown_name.hpp"

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
            all += may_have_a_password(word) ? "…" : runtime::in_one_line(word);
            rest.remove_prefix(word.size());
        }
    }
    std::size_t size = 0;
    for (std::size_t count = 0; size < all.size() && count < characters_max; ++count) {
        auto const next = size + runtime::printable_size(std::string_view(all).substr(size));
        if (next > bytes_max)
            break;
        size = next;
    }
    all.resize(size);
    return all;
}

}  // namespace redlock::cli
