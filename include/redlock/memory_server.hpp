#pragma once

#include <redlock/clock.hpp>
#include <redlock/detail/api.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock {

/** The lock server behind `memory://name`: in this process, for tests that need no server.

    All managers of the process that name it share it. It keeps time to live, answers through the manager's
    executor, and can be told to fail. A request goes by the `config::test_clock` of the manager that sends it, and what is called here by
    that of the manager that was made last: give all of them the same.

    @par Thread safety
    Safe on distinct and on shared objects.
*/
class REDLOCK_API memory_server {
public:
    /// How the server treats requests.
    enum class fault {
        none,         ///< It answers.
        unreachable,  ///< It refuses connections: requests are not sent.
        hung,         ///< It takes requests and answers them when the fault is over.
        mute,         ///< It carries requests out, and the answers get lost.
        deaf = mute,  ///< Its name before 0.1.
    };

    /// The node called @p name; the first call makes it. It exists while somebody refers to it.
    static std::shared_ptr<memory_server> at(std::string_view name);

    memory_server();
    ~memory_server();
    memory_server(memory_server const&) = delete;
    memory_server& operator=(memory_server const&) = delete;

    void set_fault(fault);

    /// Every answer takes this long. Zero, the default: one pass of the event loop.
    void set_delay(std::chrono::milliseconds);

    /// Keeps keys for no longer than @p session unless they are extended, and says so, as stores do whose locks end with a session or
    /// a lease. The maximum, the default: for the ttl.
    void set_session(std::chrono::milliseconds session);

    /// Forgets all keys, and nobody notices: as `FLUSHALL` does.
    void clear();

    /// Stops and starts again without what it knew, tokens included: managers that knew it notice, and by `config::restart_guard` it
    /// does not vote for `config::max_ttl`.
    void restart();

    /// Deletes @p key, as a foreign client would.
    void erase(std::string_view key);

    /// The number of keys that have not expired.
    std::size_t size() const;

    /// The value of @p key, or nothing.
    std::optional<std::string> value(std::string_view key) const;

    /// Sets @p key as a foreign client would. A ttl of zero: it never expires.
    void set(std::string_view key, std::string_view value, std::chrono::milliseconds ttl);

    // For the library itself.
    struct state;
    state& internals() const noexcept { return *state_; }

private:
    std::unique_ptr<state> state_;
};

}  // namespace redlock
