#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::cli {

/** The arguments of a tool: CLI11, and what all of ours have in common.

    Of an option that is given twice, the later one counts. What a variable has before is its default, which the help
    names.
*/
class option_parser : public CLI::App {
    using nanoseconds = std::chrono::nanoseconds;

public:
    /// @param notes  end the help
    option_parser(std::string program, std::string about, std::string notes = {});

    /// A number of at least @p low and at most @p high.
    template <class Number>
    CLI::Option* add_number(std::string const& option, Number& into, std::type_identity_t<Number> low,
                            std::type_identity_t<Number> high, std::string const& about);

    /// A duration such as "250ms", "30s" or "2min"; without a unit, milliseconds, unless @ref require_units was called.
    /// @param range  what the help says in place of "@p low to @p high"; empty: that
    template <class Duration>
    CLI::Option* add_duration(std::string const& option, Duration& into, nanoseconds low, nanoseconds high,
                              std::string const& about, std::string const& range = {})
    {
        return add_nanoseconds(option, into, {low, high}, range, about,
                               [&into](auto ns) { into = std::chrono::duration_cast<Duration>(ns); });
    }

    /// Sets the text behind the options in the usage line of the help: "KEY CMD…".
    void set_operands(std::string text) { operands_ = std::move(text); }

    /// A duration without a unit is refused from now on.
    void require_units() { needs_units_ = true; }

    /// Anything but nothing. @param kind  what it is, for the help: "FILE"
    CLI::Option* add_text(std::string const& option, std::string const& kind, std::string& into,
                          std::string const& about);

    /// Some, with commas between them.
    CLI::Option* add_numbers(std::string const& option, std::string const& kind, std::vector<int>& into, int low,
                             int high, std::string const& about);
    CLI::Option* add_list(std::string const& option, std::string const& kind, std::vector<std::string>& into,
                          std::string const& about);

    /// --nodes and --nodes-file.
    void add_nodes(std::vector<std::string>& into, std::string const& about, std::string const& otherwise);

    /// @throws early_exit
    void read(std::vector<std::string> arguments);

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
    [[noreturn]] void refuse(std::string const& option, std::string const& value, std::string const& must) const;
    std::string help_text() const;

    bool needs_units_ = false;
    std::string operands_;
};

}  // namespace redlock::cli
