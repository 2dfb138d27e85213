#pragma once

#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/early_exit.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The heading of the options that every command has.
inline constexpr char global_group[] = "Options of all commands";

/// `redlock help options` describes the options of this group.
inline constexpr char common_options[] = "COMMAND";

/// One option of a command.
struct option_text {
    std::vector<std::string> names;    ///< "--output", "-o"
    std::string value;                 ///< the word for its value: "FILE"; empty: it takes no value
    std::vector<std::string> choices;  ///< the possible values; empty: any text
    std::string about;
    bool is_global = false;  ///< every command has it
};

/// The options and arguments of a command, for manual pages and completions.
struct command_text {
    std::string name;
    std::string takes;                 ///< "KEY…"
    std::vector<std::string> choices;  ///< the possible arguments; empty: any text
    std::string line;                  ///< its line in the list of commands
    std::string about;
    std::string notes;
    std::vector<option_text> options;
};

/// The descriptions of all commands that the help lists, in its order.
std::vector<command_text> describe_all();

/// The argument that makes a command throw its @ref description.
inline constexpr char describe_option[] = "--describe";
class description : public early_exit {
public:
    explicit description(CLI::App const&);
    command_text const& text() const noexcept { return text_; }

private:
    command_text text_;
};

}  // namespace redlock::cli
