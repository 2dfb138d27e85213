#pragma once

#include "cli/commands.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace redlock::cli {

/// The words behind "redlock run".
struct run_words {
    arguments ours{};     ///< options, and the key
    arguments command{};  ///< the command and its arguments, which @ref command_line must not read
};

/** Finds where the command begins, as flock(1) and env(1) do: at the second word that is neither an option nor its
    value.

    The first word is the key. If --key names the keys, the command begins at the first word. A "--" right before the
    command is dropped; every later one is an argument of the command.
    @param options  those of `redlock run`
*/
run_words split_words(arguments given, CLI::App const& options);

/** The words before a "--", if the first of them is no program: the line was meant to name several locks.

    Empty: @p command is a command.
*/
std::vector<std::string> names_before_mark(std::vector<std::string> const& command);

}  // namespace redlock::cli
