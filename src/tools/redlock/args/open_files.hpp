#pragma once

#include <cstddef>

namespace redlock::cli {

/// Raises this process's limit of open files to @p wanted, if the system permits that.
/// @return the limit
std::size_t raise_open_files(std::size_t wanted);

}  // namespace redlock::cli
