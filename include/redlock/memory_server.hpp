#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::inline v1 {

/** The lock server behind `memory://name`: in this process, for tests without a server.

    All managers of the process that use this name share it. It supports time to live, answers through the manager's
    executor, and can simulate faults.

    A request uses the `manager_options::test_clock` of the manager that sends it. This class uses that of the manager
   that was made last. So give all managers the same clock.

    @par Lifetime
    A server exists, with its keys, while a manager that uses it or a pointer to it exists.

    @par Thread safety
    Safe on distinct and on shared objects. No function waits for an event loop.
*/
class REDLOCK_API memory_server {
public:
    /// How the server treats requests.
    enum class fault {
        none,         ///< It answers.
        unreachable,  ///< It refuses connections: requests are not sent.
        hung,         ///< It accepts requests, and answers them when the fault is over.
        mute,         ///< It carries out requests, but its answers get lost.
    };

    /// The server called @p name: the one behind `memory://name`. If it does not exist, the call creates it.
    static std::shared_ptr<memory_server> at(std::string_view name);

    memory_server();   ///< Makes a server without a name, which no manager can use; see @ref at.
    ~memory_server();  ///< Forgets the keys.
    memory_server(memory_server const&) = delete;
    memory_server& operator=(memory_server const&) = delete;

    /// Sets the fault from now on. After `fault::hung`, the requests that were held back are carried out.
    void set_fault(fault);

    /// Delays every request that is sent from now on by this time, and so its answer. Zero, the default: one pass of
    /// the event loop.
    void set_delay(std::chrono::milliseconds);

    /// Keeps keys no longer than @p session unless they are extended, and says so, as stores with sessions or leases
    /// do.
    /// @param session The maximum, the default: keys are kept for their ttl.
    void set_session(std::chrono::milliseconds session);

    /// Deletes all keys and notifies waiters, as if all locks had expired. The server does not count as restarted.
    void clear();

    /// Restarts without its memory, fencing counters included. Managers that knew it notice the restart. By
    /// `manager_options::restart_guard`, it does not vote for `manager_options::max_ttl`.
    void restart();

    /// Deletes @p key, prefix included, as another client would.
    void erase(std::string_view key);

    /// The number of keys that have not expired.
    std::size_t size() const;

    /// The value of @p key, prefix included. Nothing: it does not exist.
    std::optional<std::string> value(std::string_view key) const;

    /// Sets @p key, prefix included, as another client would. A ttl of zero: it never expires.
    void set(std::string_view key, std::string_view value, std::chrono::milliseconds ttl);

    // For the library itself.
    struct state;
    state& internals() const noexcept { return *state_; }

private:
    std::unique_ptr<state> state_;
};

}  // namespace redlock
