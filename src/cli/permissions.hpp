#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

class option_parser;

/// What locks are used for, beyond being acquired, extended and released.
struct uses {
    bool fencing = false;
    bool waiting = false;  ///< being told when a lock goes, and turns
    bool shared = false;
    bool sets = false;      ///< several at once: needs no permission of its own
    bool database = false;  ///< other than 0
    bool doctor = false;    ///< what `redlock doctor` reads
    bool move = false;      ///< what `redlock nodes move` reads and raises

    /// "--fencing" and so on.
    void add_to(option_parser&);
};

/// A command that a user of locks must be allowed, and how to find out whether it is.
struct permission {
    std::string_view name;  ///< as access lists name it: "script|load"
    bool (*is_needed)(uses const&);
    bool is_vital;             ///< without it there are no locks of that kind; otherwise they are less good
    std::string_view without;  ///< what does not work without it
    std::string_view trial;  ///< words that change nothing but KEY, which holds a string then; empty: others ask for it

    std::vector<std::string> question(std::string const& key) const;
};

std::span<permission const> permissions();

/// The names of what is needed, each with a plus before it: "+set +get".
std::string rules_for(uses const&);

/// The pattern of all keys that begin with @p prefix, in the words of SCAN and of access lists.
std::string pattern_of(std::string_view prefix);

/// A word for a shell, in single quotes.
std::string shell_quoted(std::string_view word);

/// A word of a command for redis-cli or a shell, quoted only if it has to be.
std::string shell_word(std::string_view word);

}  // namespace redlock::cli
