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
    executor, and can be told to misbehave.

    @par Thread safety
    Safe on distinct and on shared objects.
*/
class REDLOCK_API memory_node {
public:
    /// How the node treats requests.
    enum class mood {
        well,         ///< It answers.
        unreachable,  ///< It refuses connections: requests are not sent.
        hung,         ///< It takes requests and answers them when it is well again.
        deaf,         ///< It carries requests out, and the answers get lost.
    };

    /// The node called @p name; the first call makes it. It exists while somebody refers to it.
    static std::shared_ptr<memory_node> at(std::string_view name);

    memory_node();
    ~memory_node();
    memory_node(memory_node const&) = delete;
    memory_node& operator=(memory_node const&) = delete;

    void set_mood(mood);

    /// Every answer takes this long. Zero, the default: one turn of the event loop.
    void set_delay(std::chrono::milliseconds);

    /// Forgets all keys, as a restart without persistence does.
    void clear();

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
