#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

using arguments = std::vector<std::string>;

/// One of the commands of the tool.
struct command {
    std::string_view name;
    std::string_view takes;  ///< for the list of commands: "KEY…"
    std::string_view about;  ///< empty: help and completion do not list the command
    int (*run)(arguments);   ///< @return the exit status. @throws early_exit
};

/// All commands, in the order of the help.
std::span<command const> commands();

int run(arguments);
int hold(arguments);
int acquire(arguments);
int renew(arguments);
int release(arguments);
int status(arguments);
int list(arguments);
int break_lock(arguments);
int top(arguments);
int nodes(arguments);
int doctor_command(arguments);
int acl(arguments);
int serve(arguments);
int demo(arguments);
int bench(arguments);
int completion(arguments);
int version(arguments);
int man(arguments);

}  // namespace redlock::cli
