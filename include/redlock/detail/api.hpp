#pragma once

/// Marks what a shared library shows; everything else in it is hidden.
#if defined(__GNUC__)
#define REDLOCK_API [[gnu::visibility("default")]]
#else
#define REDLOCK_API
#endif
