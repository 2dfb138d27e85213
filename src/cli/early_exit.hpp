#pragma once

#include <stdexcept>
#include <string>

namespace redlock::cli {

/// Why a tool ends before it begins: it was asked for its help or version, or an argument is wrong. what() is what it
/// says.
class early_exit : public std::runtime_error {
public:
    early_exit(int status, std::string const& text) : std::runtime_error(text), status_(status) {}

    /// Says it. @return the exit status of the tool
    int tell() const;

    int status() const noexcept { return status_; }

private:
    int status_;
};

}  // namespace redlock::cli
