#pragma once

#include "cli/snapshot.hpp"

#include <termios.h>
#include <vector>

namespace redlock::cli {

/// The whole terminal, which is as it was when this goes. Keys come at once, and are not shown.
class screen {
public:
    explicit screen(bool has_color);
    ~screen();
    screen(screen const&) = delete;
    screen& operator=(screen const&) = delete;

    /// Shows as many of the lines, and as much of each, as there is room for.
    /// @throws std::system_error if that cannot be written
    void show(std::vector<screen_line>);

    void redraw() const;  ///< the terminal has another size
    void stand_aside();   ///< stops the process, as Ctrl-Z does, and comes back with it

private:
    void enter();
    void leave() const;

    bool const has_color_;
    termios before_{};
    bool has_keys_ = false;
    std::vector<screen_line> lines_;
};

}  // namespace redlock::cli
