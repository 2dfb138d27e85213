#pragma once

#include "tools/redlock/args/commands.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace redlock::cli {

/// The arguments of "redlock run".
struct run_words {
    arguments ours{};     ///< the options of `redlock run`, and the key
    arguments command{};  ///< the command and its arguments, which @ref command_line must not parse
};

/** Finds where the command begins. flock(1) and env(1) use the same rule.

    Words that are options or their values do not count. The first other word is the key, and the command begins at the
    second one. With --key, the command begins at the first one. A "--" immediately before the command is removed; every
    later one is an argument of the command.
    @param options  the options of `redlock run`
*/
run_words split_words(arguments given, CLI::App const& options);

/** Detects a command line that names several locks before a "--" instead of using --key.

    @return the words before the "--", if the first of them is not a program; empty: @p command is a command
*/
std::vector<std::string> names_before_mark(std::vector<std::string> const& command);

}  // namespace redlock::cli
