#pragma once

#include "serve/keyed_hash.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/json/object.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::serve {

/** Makes and reads the ids of locks. An id is the ticket of a lock as text for URLs, with a signature. So any instance
    with the same keys can use it, and nobody can make the id of a lock that the service has not given. Anybody who
   knows the id can release the lock.
*/
class lock_ids {
public:
    /// @param keys the first one signs, and all are believed; at least one
    explicit lock_ids(std::vector<std::string> const& keys) : keys_(keys.begin(), keys.end()) {}

    std::string id_of(lock_ticket const&) const;

    /// @return empty: the text is no id of this service
    std::optional<lock_ticket> ticket_of(std::string_view id) const;

    /// The entity tag of a lock, with its quotation marks. It is the same as long as the lock is held.
    std::string etag_of(lock_ticket const&) const;

    /// A name for the holder of a key that has this value. Nobody can compute the value from it.
    std::string holder_of(std::string_view value) const { return keys_.front().digits("holder", value); }

    /// For `acquire_options::request`: the same on each instance for the same key of the same client.
    /// @param what the resources and the mode
    std::uint64_t request_of(std::string_view client, std::string_view key, std::string_view what) const;

    /// The fields of a lock that its holder knows: `id`, `resources`, `mode`, `fencing_token`.
    boost::json::object json_of(lock_ticket const&) const;

private:
    std::vector<keyed_hash> keys_;
};

/// The time left. Zero: it is over.
inline std::chrono::milliseconds left_until(clock::time_point valid_until)
{
    auto const left = std::chrono::floor<std::chrono::milliseconds>(valid_until - clock::now());
    return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace redlock::serve
