#pragma once

#include "locks/held_locks.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/quorum_state.hpp"
#include "events/event_log.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

namespace redlock::inline v1::locks {

/** The end of a manager, in three steps. No operation begins any more. When all locks are gone, the clean-up gets some
    time. Then the nodes are closed. On the strand.
*/
class shutdown {
public:
    /// @param alive the caller of @ref begin stores an owner there; it is dropped after everybody was told of the end
    shutdown(quorum::quorum_state&, runtime::operations&, locks::held_locks&, quorum::cleaner&, events::event_log&,
             std::shared_ptr<void>& alive);

    bool open() const noexcept { return phase_ == phase::open; }
    bool closed() const noexcept { return phase_ == phase::closed; }

    /// Begins the shutdown, unless it has begun. Calls @p done, if set, at the end.
    /// @param done gets the number of keys that could not be released
    void begin(std::function<void(std::size_t keys_left)> done);

    /// Call this when something has ended for which the shutdown may wait.
    void proceed();

    /// Call this when the execution context ends: the shutdown is over, and nobody is told.
    void abandon() noexcept;

private:
    enum class phase { open, closing, closed };

    void wait_for_nodes();
    void close();

    quorum::quorum_state& quorum_;
    runtime::operations& operations_;
    locks::held_locks& held_locks_;
    quorum::cleaner& cleaner_;
    events::event_log& log_;
    std::shared_ptr<void>& alive_;
    phase phase_ = phase::open;
    bool draining_ = false;     // all locks are gone
    std::size_t answered_ = 0;  // rounds, when the wait for the nodes began
    std::size_t keys_left_ = 0;
    std::vector<std::function<void(std::size_t)>> done_;
    runtime::alarm deadline_;
};

}  // namespace redlock::locks
