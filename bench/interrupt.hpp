#pragma once

#include <stdexcept>

namespace redlock::bench {

struct interrupted : std::runtime_error {
    interrupted() : std::runtime_error("stopped") {}
};

/// From now on SIGINT and SIGTERM are only noted, so that servers and their folders go in good order.
void note_interrupts();
bool was_interrupted() noexcept;

/// @throws interrupted
void throw_if_interrupted();

}  // namespace redlock::bench
