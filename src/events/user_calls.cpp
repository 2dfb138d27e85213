#include "events/user_calls.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

namespace redlock::inline v1::events {

std::unique_ptr<user_calls::slot> user_calls::free_slot()
{
    if (free_.empty())
        return std::make_unique<slot>();
    auto one = std::move(free_.back());
    free_.pop_back();
    return one;
}

void user_calls::recycle(std::unique_ptr<slot> used) noexcept
try {
    if (free_.size() < free_max)
        free_.push_back(std::move(used));
} catch (...) {  // out of memory: the slot is freed
}

void user_calls::put(std::unique_ptr<slot> call)
{
    calls_.push_back(std::move(call));
    if (calls_.size() > 1)
        return;
    // On the inner executor first, because a function of the user may be running on the strand now.
    asio::post(strand_.inner(),
               [self = shared_from_this()] { asio::dispatch(self->strand_, [self] { self->make(); }); });
}

// A call may run the execution context, and so enter this function again.
void user_calls::make() noexcept
{
    auto calls = std::exchange(calls_, std::move(spare_));
    for (auto& call : calls) {
        try {
            std::move (*call)();
        } catch (...) {  // an exception of the user's function does not affect the other calls
        }
        recycle(std::move(call));
    }
    calls.clear();
    if (calls.capacity() <= free_max)
        spare_ = std::move(calls);
    if (auto const then = std::exchange(then_, nullptr))
        then();
}

void user_calls::end(std::function<void()> then)
{
    ended_ = true;
    if (calls_.empty())
        then();
    else
        then_ = std::move(then);
}

void user_calls::abandon() noexcept
{
    ended_ = true;
    calls_.clear();
    then_ = nullptr;
}

}  // namespace redlock::events
