#pragma once

#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/doctor/call.hpp"

namespace redlock::tools::doctor {

/// How the doctor was called. @param line  has been read @param s  what it has returned
call read_call(command_line const& line, settings const& s);

}  // namespace redlock::tools::doctor
