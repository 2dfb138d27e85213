#pragma once

#include "cli/commands.hpp"
#include "cli/early_exit.hpp"

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace redlock::cli {

/// The heading of the options that all commands have.
inline constexpr char global_group[] = "Options of all commands";

/// One option of a command.
struct option_text {
    std::vector<std::string> names;    ///< "--output", "-o"
    std::string value;                 ///< what kind: "FILE"; empty: it takes none
    std::vector<std::string> choices;  ///< all that its value can be; empty: anything
    std::string about;
    bool is_global = false;  ///< all commands have it
};

/// What a command line consists of, for manual pages and completions.
struct command_text {
    std::string name;
    std::string takes;                 ///< "KEY…"
    std::vector<std::string> choices;  ///< all that it can take; empty: anything
    std::string line;                  ///< of the list of commands
    std::string about;
    std::string notes;
    std::vector<option_text> options;
};

/// All that are for people, in the order of the help.
std::vector<command_text> describe_all();

/// How a command is asked for that: it reads this as its options, and throws.
inline constexpr char describe_option[] = "--describe";
class description : public early_exit {
public:
    explicit description(CLI::App const&);
    command_text const& text() const noexcept { return text_; }

private:
    command_text text_;
};

}  // namespace redlock::cli
