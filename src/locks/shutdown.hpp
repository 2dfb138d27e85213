#pragma once

#include "locks/held_locks.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/event_log.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

#include <redlock/error.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace redlock::inline v0::locks {

/** The end of a manager: first nothing new begins; when all locks are gone, what is to be released has a while left for
    it; then the nodes are closed. On the strand.
*/
class shutdown {
public:
    /// @param alive what the caller of @ref begin keeps there lives until everybody has been told of the end
    shutdown(quorum::quorum_state&, runtime::operations&, locks::held_locks&, quorum::cleaner&, runtime::event_log&,
             std::shared_ptr<void>& alive);

    bool open() const noexcept { return phase_ == phase::open; }
    bool closed() const noexcept { return phase_ == phase::closed; }

    /// Begins it, unless it has begun; @p done is called when it is over, if it is set.
    void begin(std::function<void(error_code)> done);

    /// Something has ended that it may have waited for.
    void go_on();

    /// The execution context goes: it is over, and nobody is told.
    void abandon() noexcept;

private:
    enum class phase { open, closing, closed };

    void close();

    quorum::quorum_state& quorum_;
    runtime::operations& operations_;
    locks::held_locks& held_locks_;
    quorum::cleaner& cleaner_;
    runtime::event_log& log_;
    std::shared_ptr<void>& alive_;
    phase phase_ = phase::open;
    bool draining_ = false;  // all locks are gone
    std::vector<std::function<void(error_code)>> done_;
    runtime::alarm deadline_;
};

}  // namespace redlock::locks
