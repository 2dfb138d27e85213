#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::cli {

/** The command line parser of all tools of this project, based on CLI11.

    If an option is given twice, the last value counts. The value of a variable before the parsing is its default, which
    the help names.
*/
class option_parser : public CLI::App {
    using nanoseconds = std::chrono::nanoseconds;

public:
    /// @param notes  the last paragraphs of the help
    option_parser(std::string program, std::string about, std::string notes = {});

    /// A number from @p low to @p high.
    template <class Number>
    CLI::Option* add_number(std::string const& option, Number& into, std::type_identity_t<Number> low,
                            std::type_identity_t<Number> high, std::string const& about);

    /// A duration such as "250ms", "30s" or "2min". A number without a unit is in milliseconds, unless
    /// @ref require_units was called.
    /// @param range  the range in the help; empty: "@p low to @p high"
    template <class Duration>
    CLI::Option* add_duration(std::string const& option, Duration& into, nanoseconds low, nanoseconds high,
                              std::string const& about, std::string const& range = {})
    {
        return add_nanoseconds(option, into, {low, high}, range, about,
                               [&into](auto ns) { into = std::chrono::duration_cast<Duration>(ns); });
    }

    /// Sets the text after the options in the usage line of the help: "KEY CMD…".
    void set_operands(std::string text) { operands_ = std::move(text); }

    /// Leaves the options of @p group out of the help, which has the text @p where instead.
    void list_elsewhere(std::string group, std::string where)
    {
        group_elsewhere_ = std::move(group);
        elsewhere_ = std::move(where);
    }

    /// From now on, a duration without a unit is an error.
    void require_units() { needs_units_ = true; }

    /// A text that is not empty. @param kind  the word for it in the help: "FILE"
    CLI::Option* add_text(std::string const& option, std::string const& kind, std::string& into,
                          std::string const& about);

    /// A list, separated by commas.
    CLI::Option* add_numbers(std::string const& option, std::string const& kind, std::vector<int>& into, int low,
                             int high, std::string const& about);
    CLI::Option* add_list(std::string const& option, std::string const& kind, std::vector<std::string>& into,
                          std::string const& about);

    /// --nodes and --nodes-file.
    void add_nodes(std::vector<std::string>& into, std::string const& about, std::string const& otherwise);

    /// @throws early_exit
    void read(std::vector<std::string> arguments);

    std::vector<std::string> names_of_options() const;  ///< "--ttl", …
    std::string help_of_options() const;                ///< the text of --help, without an end of line

    /// @throws early_exit
    [[noreturn]] void refuse(std::string const& why) const;

private:
    CLI::Option* add_value(std::string const& option, std::string const& kind, std::string const& about,
                           std::function<void(std::string const&)> take);
    CLI::Option* add_nanoseconds(std::string const& option, nanoseconds given,
                                 std::pair<nanoseconds, nanoseconds> limits, std::string const& range,
                                 std::string const& about, std::function<void(nanoseconds)> take);
    template <class Number>
    Number number(std::string const& option, std::string const& text, Number low, Number high) const;
    /// Turns "--prefix=" into "--prefix" and an empty word. CLI11 would take the next word as the value.
    void split_empty_values(std::vector<std::string>& arguments) const;
    [[noreturn]] void refuse(std::string const& option, std::string const& value, std::string const& must) const;
    std::string help_text() const;

    bool needs_units_ = false;
    std::string operands_, group_elsewhere_, elsewhere_;
};

}  // namespace redlock::cli
