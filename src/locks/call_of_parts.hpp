#pragma once

#include "locks/held_lock.hpp"

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>

namespace redlock::inline v1::locks {

/// One call on a handle with parts: the same call on each part, all at once.
class call_of_parts final : public runtime::shared_operation<call_of_parts> {
public:
    using call = std::function<void(std::shared_ptr<handle_state>, detail::error_handler)>;
    enum class ends : std::uint8_t { with_all, with_the_first };

    /// Completes with the first error. If any part reports a loss, completes with the loss.
    static void start(std::shared_ptr<handle_state>, call, detail::error_handler done, ends = ends::with_all);

    call_of_parts(std::shared_ptr<handle_state>, detail::error_handler done, ends);

    void cancel(asio::cancellation_type) override;
    void abandon() override {}

private:
    void begin(call const&);
    void ended(error_code);

    std::shared_ptr<handle_state> const state_;
    detail::error_handler done_;
    ends const ends_;
    std::deque<asio::cancellation_signal> signals_;  // one for each part
    std::size_t left_ = 0;
    error_code ec_;
};

}  // namespace redlock::locks
