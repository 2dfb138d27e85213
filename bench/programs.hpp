#pragma once

#include <string>

namespace redlock::bench {

/// The path of another program of this project: installed beside this one, or built in the folder @p built beside ours.
/// @throws std::runtime_error with the remedy @p otherwise if there is none
std::string program_of_ours(std::string const& name, std::string const& built, std::string const& otherwise);

}  // namespace redlock::bench
