#pragma once

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

namespace redlock::bench {

/// Throws: what a relay cannot do, and why.
[[noreturn]] inline void relay_failure(char const* what)
{
    throw std::runtime_error(std::string("relay: ") + what + ": " + std::strerror(errno));
}

}  // namespace redlock::bench
