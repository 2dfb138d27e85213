#pragma once

#include "locks/holdings.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/quorum.hpp"
#include "runtime/event_log.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

#include <redlock/error.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace redlock::inline v0::detail {

/** The end of a manager: first nothing new begins; when all locks are gone, what is to be released has a while left for
    it; then the nodes are closed. On the strand.
*/
class shutdown {
public:
    /// @param alive what the caller of @ref begin keeps there lives until everybody has been told of the end
    shutdown(detail::quorum&, detail::operations&, detail::holdings&, detail::cleaner&, event_log&,
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

    detail::quorum& quorum_;
    detail::operations& operations_;
    detail::holdings& holdings_;
    detail::cleaner& cleaner_;
    event_log& log_;
    std::shared_ptr<void>& alive_;
    phase phase_ = phase::open;
    bool draining_ = false;  // all locks are gone
    std::vector<std::function<void(error_code)>> done_;
    alarm deadline_;
};

}  // namespace redlock::detail
