#pragma once

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/doctor/call.hpp"

namespace redlock::cli::doctor {

/// How the doctor was called. @param line  has been read @param s  what it has returned
call read_call(command_line const& line, settings const& s);

}  // namespace redlock::cli::doctor
