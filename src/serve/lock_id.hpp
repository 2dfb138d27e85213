#pragma once

#include <redlock/lock_ticket.hpp>

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

}  // namespace redlock::serve
