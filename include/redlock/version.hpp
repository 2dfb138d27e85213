#pragma once

/** @file
    The version of the library, as numbers and as text, and the version of its binary interface (ABI). Before 1.0, each
    minor version may be incompatible with earlier ones.
*/

/// The first number of the version.
#define REDLOCK_VERSION_MAJOR 0
/// The second number of the version.
#define REDLOCK_VERSION_MINOR 2
/// The third number of the version.
#define REDLOCK_VERSION_PATCH 0
/// The version as text.
#define REDLOCK_VERSION_STRING "0.2.0"

/// The number in `libredlock.so.1` and in the inline namespace `redlock::v1`. It increases with each release that
/// breaks programs which are not compiled again.
#define REDLOCK_ABI_VERSION 1
