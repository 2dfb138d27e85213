#pragma once

#include <stdexcept>

namespace redlock::bench {

struct interrupted : std::runtime_error {
    interrupted() : std::runtime_error("stopped") {}
};

/// Makes SIGINT and SIGTERM only set a flag, so that destructors can stop the servers and delete their folders.
void note_interrupts();
bool was_interrupted() noexcept;

/// @throws interrupted
void throw_if_interrupted();

}  // namespace redlock::bench
