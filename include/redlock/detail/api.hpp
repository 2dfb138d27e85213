#pragma once

/// Marks the exported symbols of the shared library. All others are hidden.
#if defined(__GNUC__)
#define REDLOCK_API [[gnu::visibility("default")]]
#else
#define REDLOCK_API
#endif
