#pragma once

#include <redlock/detail/selection.hpp>
#include <redlock/elect.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/options.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

// The longest texts, in bytes.
inline constexpr std::size_t group_max = 64;
inline constexpr std::size_t note_max = 200;
inline constexpr std::size_t owner_max = 256;
inline constexpr std::size_t token_max = 512;  // the library's own have at most 510 bytes

// Each check returns the first problem: the field, its value and the limit. Empty: no problem.

std::string check(manager_options const&);
std::string check_resource(std::string_view resource, std::string_view prefix);
std::string check_ttl(std::chrono::milliseconds ttl, manager_options const&);
std::string check_wait(std::chrono::milliseconds);
std::string check(acquire_options const&, manager_options const&);
std::string check(detail::selection const&, acquire_options const&, manager_options const&);
std::string check(elect_options const&, manager_options const&);
std::string check(lock_ticket const&, manager_options const&);
std::string check(lock_ticket const&, acquire_options const&, manager_options const&);

/// How a candidate acquires the lock of each term.
acquire_options lock_of(elect_options const&);

}  // namespace redlock::locks
