#pragma once

#include "tools/serve/keyed_hash.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/json/object.hpp>
#include <boost/json/storage_ptr.hpp>

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

    /// The entity tag of a lock, with its quotation marks. It is the same as long as the lock is held, and not moved.
    std::string etag_of(lock_ticket const&) const;

    /// A name for the holder of a key that has this value. Nobody can compute the value from it.
    std::string holder_of(std::string_view value) const { return keys_.front().digits("holder", value); }

    /// Whether the text, with quotation marks, is the name for the holder by one of the keys.
    bool is_holder(std::string_view value, std::string_view tag) const { return is_by_a_key("holder", value, tag); }

    /// Whether the text is the entity tag of the lock by one of the keys.
    bool has_etag(lock_ticket const& t, std::string_view tag) const { return is_by_a_key("held", t.token, tag); }

    /// The token of a lock that is moved: the same whenever the request is repeated. It keeps the digits of
    /// `acquire_options::request`, the label and the note. @param session the one that gets the lock
    std::string token_after_move(lock_ticket const&, std::string_view session) const;

    /// For `acquire_options::request`, by each key: the same on each instance for the same key of the same client.
    /// @param what the resources and the mode
    std::vector<std::uint64_t> requests_of(std::string_view client, std::string_view key, std::string_view what) const;

    /// The fields of a lock that its holder knows: `id`, `resources`, `mode`, `fencing_token`.
    /// @param id the one that the holder knows
    static boost::json::object json_of(lock_ticket const&, std::string_view id, boost::json::storage_ptr = {});

private:
    bool is_by_a_key(std::string_view purpose, std::string_view text, std::string_view tag) const;

    std::vector<keyed_hash> keys_;
};

/// The clock of a client may lose one part of these against ours. NTP changes the rate of a clock by 500 parts in a
/// million at most, and both clocks may be changed.
inline constexpr std::int64_t clock_rate = 1000;

/// The time left. Zero: it is over.
inline std::chrono::milliseconds left_until(clock::time_point valid_until)
{
    auto const left = std::chrono::floor<std::chrono::milliseconds>(valid_until - clock::now());
    return std::max(left, std::chrono::milliseconds(0));
}

}  // namespace redlock::serve
