#include "locks/call_of_parts.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>

#include <utility>

namespace redlock::inline v1::locks {

void call_of_parts::start(std::shared_ptr<handle_state> s, call each, detail::error_handler done, ends when)
{
    auto const& strand = s->lock.state->strand();
    auto c = std::make_shared<call_of_parts>(std::move(s), std::move(done), when);
    c->done_.on_cancel(c);
    asio::dispatch(strand, [c = std::move(c), each = std::move(each)] { c->begin(each); });
}

call_of_parts::call_of_parts(std::shared_ptr<handle_state> s, detail::error_handler done, ends when)
    : shared_operation(s->lock.state->strand()), state_(std::move(s)), done_(std::move(done)), ends_(when)
{
}

void call_of_parts::begin(call const& each)
{
    auto const& strand = state_->lock.state->strand();
    left_ = state_->parts().size();
    for (auto const& part : state_->parts()) {
        auto ended = asio::bind_executor(strand, [self = shared_from_this()](error_code ec) { self->ended(ec); });
        each(detail::access::handle_of(part),
             detail::error_handler(asio::bind_cancellation_slot(signals_.emplace_back().slot(), std::move(ended)),
                                   strand));
    }
}

void call_of_parts::ended(error_code ec)
{
    bool const is_first = left_ == state_->parts().size();
    if (!ec_ || ec == errc::lost)
        ec_ = ec;
    if (--left_ == 0)
        done_(ec_);
    else if (is_first && ends_ == ends::with_the_first)
        cancel(asio::cancellation_type::terminal);
}

void call_of_parts::cancel(asio::cancellation_type type)
{
    for (auto& s : signals_)
        s.emit(type);
}

}  // namespace redlock::locks
