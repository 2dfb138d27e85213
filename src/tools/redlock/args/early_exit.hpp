#pragma once

#include <stdexcept>
#include <string>

namespace redlock::cli {

/// Ends a tool before it does any work: the user wants the help or the version, or an argument is invalid. what() is
/// the text to print.
class early_exit : public std::runtime_error {
public:
    early_exit(int status, std::string const& text) : std::runtime_error(text), status_(status) {}

    /// Prints the text. @return the exit status of the tool
    int tell() const;

    int status() const noexcept { return status_; }

private:
    int status_;
};

}  // namespace redlock::cli
