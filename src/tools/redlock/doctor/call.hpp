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

/** The command line of the doctor, for the lines that it prints.

    A line repeats the nodes and the options of the call, with one change. It never contains a password. It names a
    password file again; passwords in the environment or in a configuration file stay there.
*/
struct call {
    struct node {
        std::string name{};         ///< the name in findings
        std::string url{};          ///< without its password
        std::string password{};     ///< a shell word that reads it from a file: see server_user
        bool has_password = false;  ///< the URL contains a password
    };

    std::vector<node> nodes{};
    bool names_nodes = true;  ///< by --url; false: in the environment or in a configuration file
    std::vector<std::pair<std::string, std::string>> of_all{};  ///< options that every command has, with their values
    std::vector<std::pair<std::string, std::string>> own{};     ///< options of the doctor; a flag has no value

    /// The call with another value of an option.
    call with(std::string_view option, std::string value) const;

    /// The call with @p url in place of the node @p name.
    call with_node(std::string_view name, std::string url) const;

    /// The call without the node @p name.
    call without_node(std::string_view name) const;

    /// The call with one more node.
    call with_another_node(std::string url) const;

    bool has_node(std::string_view name) const;

    /// "redlock -u redis://10.0.0.1 --prefix jobs: doctor --ttl 5s"
    std::string line() const;

    /// The line of another command on the same nodes: "redlock -u redis://10.0.0.1 list --waits". The @p words are
    /// quoted for a shell.
    std::string line_of(std::string_view command, std::vector<std::string> const& words) const;

private:
    std::string beginning() const;
};

/// @param line  the command line, after command_line::read()
/// @param s     the result of command_line::read()
call read_call(command_line const& line, settings const& s);

/// A placeholder in a line: the reader replaces it by the name of a file.
inline constexpr std::string_view some_file = "FILE";

}  // namespace redlock::cli::doctor
