#pragma once

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::serve {

/** Asks the nodes until when a lock is certainly held, without an extension.

    @return @ref errc::not_held : a majority does not hold each resource for this lock. Another error: it is not known
    whether it is held. No error, and no time: it is a reader, and the nodes do not tell until when.
*/
boost::asio::awaitable<std::pair<error_code, std::optional<clock::time_point>>> held_until(lock_manager&, lock_ticket,
                                                                                           double drift_factor);

/// Whether a node holds the lock with a token that begins with one of @p requests: see `acquire_options::request`.
boost::asio::awaitable<bool> has_request(lock_manager&, std::string resource, std::vector<std::uint64_t> requests);

}  // namespace redlock::serve
