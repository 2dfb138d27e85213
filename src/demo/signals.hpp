#pragma once

#include <chrono>

namespace redlock::demo {

/// Thrown when the program has been asked to end: by Ctrl-C, by SIGTERM, or because its terminal has gone.
struct interrupted {
    int signal;
};

/** From now on these signals wait until @ref sleep_unless_interrupted takes note of them.

    The program then ends by an exception, and its destructors leave nothing behind. Child processes inherit this: what
    Ctrl-C sends to all of them is left to the parent.
*/
void hold_back_signals();

/// @throws interrupted as soon as one of the signals has come
void sleep_unless_interrupted(std::chrono::milliseconds duration);

}  // namespace redlock::demo
