#include "tools/redlock/run/run_words.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <string_view>
#include <unistd.h>

namespace redlock::cli {

namespace {

constexpr std::string_view mark = "--";

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-' && word != mark; }

struct option_word {
    bool names_key = false;
    bool takes_next = false;  ///< the next word is its value
};

bool takes_value(CLI::Option const& o) { return o.get_items_expected_max() > 0; }

// Reads "--ttl", "--ttl=5s", "-t", "-t5s", or several letters, such as "-nt"; only the last may have a value.
option_word read_option(std::string const& word, CLI::App const& options)
{
    if (word.starts_with(mark)) {
        auto const end = word.find('=');
        auto const* const o = options.get_option_no_throw(word.substr(0, end));
        return o ? option_word{o->check_name("--key"), takes_value(*o) && end == word.npos} : option_word();
    }
    for (std::size_t i = 1; i < word.size(); ++i) {
        auto const* const o = options.get_option_no_throw(std::string("-") + word[i]);
        if (o && takes_value(*o))
            return {o->check_name("--key"), i + 1 == word.size()};
    }
    return {};
}

bool is_program(std::string const& word)
{
    if (word.find('/') != word.npos)
        return ::access(word.c_str(), F_OK) == 0;
    auto const* const path = std::getenv("PATH");
    std::istringstream folders(path ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        if (::access((folder.empty() ? word : folder + '/' + word).c_str(), X_OK) == 0)
            return true;
    }
    return false;
}

}  // namespace

run_words split_words(arguments given, CLI::App const& options)
{
    bool has_key = false;
    auto word = given.begin();
    for (; word != given.end(); ++word) {
        if (*word == mark && has_key)
            break;
        if (!is_option(*word)) {
            if (has_key)
                break;
            has_key = *word != mark;  // after a "--", the key may look like an option
            if (!has_key && word + 1 != given.end()) {
                ++word;
                has_key = true;
            }
            continue;
        }
        auto const o = read_option(*word, options);
        has_key = has_key || o.names_key;
        if (o.takes_next && word + 1 != given.end())
            ++word;
    }
    auto const command = word != given.end() && *word == mark ? word + 1 : word;
    run_words split{.command = {std::make_move_iterator(command), std::make_move_iterator(given.end())}};
    given.erase(word, given.end());
    split.ours = std::move(given);
    return split;
}

std::vector<std::string> names_before_mark(std::vector<std::string> const& command)
{
    auto const end = std::ranges::find(command, mark);
    if (end == command.end() || end == command.begin() || is_program(command.front()))
        return {};
    return {command.begin(), end};
}

}  // namespace redlock::cli
