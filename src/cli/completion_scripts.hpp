#pragma once

#include "cli/description.hpp"

#include <string>
#include <vector>

namespace redlock::cli {

// Scripts that complete the command line of these commands. Nothing that they do asks a lock server.
std::string for_bash(std::vector<command_text> const&);
std::string for_zsh(std::vector<command_text> const&);
std::string for_fish(std::vector<command_text> const&);

}  // namespace redlock::cli
