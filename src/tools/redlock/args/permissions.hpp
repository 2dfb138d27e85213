#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

class option_parser;

/// The features that need more permissions than acquiring, extending and releasing a lock.
struct uses {
    bool fencing = false;
    bool waiting = false;  ///< notifications when a lock is released, and turns
    bool shared = false;
    bool sets = false;      ///< several locks at once; needs no additional permission
    bool database = false;  ///< a database other than 0
    bool cluster = false;   ///< a Redis Cluster
    bool doctor = false;    ///< `redlock doctor`
    bool move = false;      ///< `redlock nodes move`
    bool look = false;      ///< only `redlock status`, `list` and `top`; then no other feature

    /// Adds an option for each feature, such as "--fencing".
    void add_to(option_parser&);
};

/// A command that a user of locks must be permitted to run, and how to test the permission.
struct permission {
    std::string_view name;  ///< its name in access lists: "script|load"
    bool (*is_needed)(uses const&);
    bool is_vital;             ///< false: without it locks of that kind work, but with a disadvantage
    std::string_view without;  ///< what does not work without it
    /// The test: a command that changes nothing but KEY, which contains a string then. Empty: another part of the
    /// doctor runs the command.
    std::string_view trial;

    std::vector<std::string> question(std::string const& key) const;
};

std::span<permission const> permissions();

/// The rules of an access list that permit the needed commands: "+set +get".
std::string rules_for(uses const&);

/// A pattern for SCAN and for access lists that matches all keys that begin with @p prefix.
std::string pattern_of(std::string_view prefix);

/// @p word in single quotes for a shell.
std::string shell_quoted(std::string_view word);

/// @p word as an argument for redis-cli or a shell, quoted only if needed.
std::string shell_word(std::string_view word);

}  // namespace redlock::cli
