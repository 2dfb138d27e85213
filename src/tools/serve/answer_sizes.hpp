#pragma once

#include <cstddef>

/** The thread that renews the locks builds all answers, and each is kept in memory until its client has read it. So
    everything that may be long is sent in parts.
*/
namespace redlock::serve {

inline constexpr std::size_t short_bytes = 16 * 1024;  ///< answers with more count until their clients have read them
inline constexpr std::size_t page_bytes = 256 * 1024;  ///< a page of a list ends when it has so many
inline constexpr std::size_t piece_bytes = 64 * 1024;  ///< a piece of a stream ends when it has so many
inline constexpr std::size_t events_bytes = 1024 * 1024;  ///< of events that a stream has not sent, or sends again

}  // namespace redlock::serve
