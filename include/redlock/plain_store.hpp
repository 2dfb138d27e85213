#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/node.hpp>
#include <redlock/server_identity.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace redlock::inline v1 {

/** A store that needs no scripts: derive from this class, and make a node of it with @ref make_plain_node .

    Two functions suffice, if each is one atomic step of the store, by the store's own clock: set a key that does not
    exist, and delete a key that holds a value. The node does the rest.

    A function returns whether the store did it. If it is unknown what the store did, the function throws. If the store
    certainly did nothing and will do nothing, it throws `system_error(errc::node_unreachable)`. The message of an
    exception appears in `node_report::message`, so it must not contain secrets.

    The functions are coroutines on the node's executor. They must not block it. After `plain_node_options::timeout`,
    the node cancels a function (`asio::cancellation_type::terminal`), and counts its answer as lost.

    @par Thread safety
    The nodes of one manager call the functions one after the other, also while earlier calls wait. If managers in
    several threads share a store, it must be safe on shared objects.
*/
class REDLOCK_API plain_store {
public:
    virtual ~plain_store();

    /// Sets the key to the value if the key does not exist. The key expires after the ttl.
    /// @return whether the key was set. False: it exists, whatever its value is.
    virtual asio::awaitable<bool> set_if_absent(std::string key, std::string value, std::chrono::milliseconds ttl) = 0;

    /// Deletes the key if it holds the value.
    /// @return whether the key was deleted
    virtual asio::awaitable<bool> compare_and_delete(std::string key, std::string value) = 0;

    /// If the key holds the value, makes it expire after the ttl or later. It never shortens the time that is left: a
    /// holder relies on it. Optional. Without it, extensions end with `errc::unsupported`. Then a lock that needs the
    /// vote of this node cannot be renewed.
    /// @return whether the key holds the value
    virtual asio::awaitable<bool> compare_and_extend(std::string key, std::string value, std::chrono::milliseconds ttl);

    /// The holder of a key.
    struct entry {
        std::string value{};                     ///< The value of the key.
        std::chrono::milliseconds remaining{0};  ///< Until the key expires.
    };

    /// Returns the holder of the key; none if the key does not exist. Optional. Without it, inspections and
    /// `lock_manager::async_break` do not see this node: `errc::unsupported`.
    virtual asio::awaitable<std::optional<entry>> read(std::string key);
};

/// The settings of @ref make_plain_node .
struct plain_node_options {
    /// How long a function of the store may take, 1 ms to a minute. See also `node_limits::timeout`.
    std::chrono::milliseconds timeout{1'000};
    /// Whether the store may forget locks. The default is a store that never does.
    server_identity identity{};
};

/** Makes a node of a plain store.

    The node:
    - locks one key at a time, exclusively, without fencing tokens. The manager refuses other calls with
      `errc::unsupported`;
    - calls the store for one key after the other in the order of the manager's operations, and for different keys at
      the same time;
    - skips operations that the manager has withdrawn, or whose time is over;
    - notifies of nothing, so waiters poll.

    If an answer is lost, the store may still carry out the call later, after the release of the lock. A set that comes
    late leaves a key that nobody holds. The manager tries to delete it until its ttl is over; at the latest, the key
    expires. No second holder gets the lock through this.

    @param name The address for people, such as `table://a`, without user and password.
    @param store The store. The node keeps it.
    @param options See @ref plain_node_options.
    @throws std::invalid_argument if @p name is empty, @p store is null, or the timeout is out of range
*/
REDLOCK_API std::shared_ptr<node> make_plain_node(std::string name, std::shared_ptr<plain_store> store,
                                                  plain_node_options options = {});

}  // namespace redlock
