#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

class command_line;
struct settings;

}  // namespace redlock::cli

namespace redlock::cli::doctor {

/** How the doctor was called, for the lines that it prints.

    A line repeats the nodes and the options of the call, with one thing changed. It never holds a password. A password
    file is named again. A password in the environment or in a configuration file stays there.
*/
struct call {
    struct node {
        std::string name{};         ///< as in findings
        std::string url{};          ///< without its password
        std::string password{};     ///< the word of a shell that reads it from a file: see server_user
        bool has_password = false;  ///< in the URL
    };

    std::vector<node> nodes{};
    bool names_nodes = true;  ///< by --url; otherwise they are in the environment or in a configuration file
    std::vector<std::pair<std::string, std::string>> of_all{};  ///< options of all commands, and their values
    std::vector<std::pair<std::string, std::string>> own{};     ///< options of the doctor; a flag has no value

    /// With another value of an option of the doctor, or of all commands.
    call with(std::string_view option, std::string value) const;

    /// With @p url in the place of the node that is called @p name.
    call with_node(std::string_view name, std::string url) const;

    /// Without this node.
    call without_node(std::string_view name) const;

    /// With one more node.
    call with_another_node(std::string url) const;

    bool has_node(std::string_view name) const;

    /// "redlock -u redis://10.0.0.1 --prefix jobs: doctor --ttl 5s"
    std::string line() const;
};

/// @param line  has been read
/// @param s     what it has returned
call read_call(command_line const& line, settings const& s);

/// The placeholder in a line for a file that the reader names.
inline constexpr std::string_view some_file = "FILE";

}  // namespace redlock::cli::doctor
