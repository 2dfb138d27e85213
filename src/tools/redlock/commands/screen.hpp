#pragma once

#include "tools/redlock/commands/snapshot.hpp"

#include <termios.h>
#include <vector>

namespace redlock::cli {

/// Takes over the whole terminal. The destructor restores it. Keys arrive without Enter and are not echoed.
class screen {
public:
    explicit screen(bool has_color);
    ~screen();
    screen(screen const&) = delete;
    screen& operator=(screen const&) = delete;

    /// Shows the lines. Lines and ends of lines that do not fit the terminal are cut off.
    /// @throws std::system_error if the terminal cannot be written to
    void show(std::vector<screen_line>);

    void redraw() const;  ///< after the size of the terminal has changed
    void suspend();       ///< stops the process like Ctrl-Z; returns when the process is continued

private:
    void enter();
    void leave() const;

    bool const has_color_;
    termios before_{};
    bool has_keys_ = false;
    std::vector<screen_line> lines_;
};

}  // namespace redlock::cli
