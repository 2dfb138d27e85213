#pragma once

/// @file
/// The header of @ref redlock::manager_options , by the name of version 0.1.

#include <redlock/manager_options.hpp>
