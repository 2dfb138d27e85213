#pragma once

#include <chrono>

namespace redlock::demo {

/// Thrown when a signal asks the program to end: Ctrl-C, SIGTERM, or the hang-up of its terminal.
struct interrupted {
    int signal;
};

/** Blocks these signals until @ref sleep_unless_interrupted handles them.

    The program then ends by an exception, and its destructors stop all servers and delete all files. Child processes
    inherit the blocked signals: Ctrl-C reaches all of them, but only the parent reacts.
*/
void hold_back_signals();

/// @throws interrupted as soon as one of the signals has come
void sleep_unless_interrupted(std::chrono::milliseconds duration);

}  // namespace redlock::demo
