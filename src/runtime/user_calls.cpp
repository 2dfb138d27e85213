#include "runtime/user_calls.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

namespace redlock::inline v0::detail {

void user_calls::put(std::function<void()> call)
{
    calls_.push_back(std::move(call));
    if (calls_.size() > 1)
        return;
    // On the inner executor first: a shift of the strand may be under way in a call of the user's.
    asio::post(strand_.inner(), [self = shared_from_this()] {
        asio::dispatch(self->strand_, [self] { self->make(); });
    });
}

void user_calls::make() noexcept
{
    for (auto const& call : std::exchange(calls_, {})) {
        try {
            call();
        } catch (...) {  // it must not throw; nobody else shall suffer for it
        }
    }
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

}  // namespace redlock::detail
