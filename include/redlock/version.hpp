#pragma once

/** @file
    The version of the library, as numbers and as text. Before 1.0, each minor version may be incompatible with earlier
    ones.
*/

#define REDLOCK_VERSION_MAJOR 0
#define REDLOCK_VERSION_MINOR 1
#define REDLOCK_VERSION_PATCH 0
#define REDLOCK_VERSION_STRING "0.1.0"
