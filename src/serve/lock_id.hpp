#pragma once

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::serve {

/// The id of a lock in the service: its ticket as text for URLs. So any process with the same nodes can use it. Anybody
/// who knows the id can release the lock.
std::string id_of(lock_ticket const&);

/// @return empty: the text is no id
std::optional<lock_ticket> ticket_of(std::string_view id);

/// The entity tag of a lock, with its quotation marks. It is the same as long as the lock is held.
std::string etag_of(lock_ticket const&);

/// The fields of a lock that its holder knows: `id`, `resources`, `mode`, `fencing_token`.
boost::json::object json_of(lock_ticket const&);

/// The time left. Zero: it is over.
inline std::chrono::milliseconds left_until(clock::time_point valid_until)
{
    auto const left = std::chrono::floor<std::chrono::milliseconds>(valid_until - clock::now());
    return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace redlock::serve
