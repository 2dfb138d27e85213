#include <redlock/lock.hpp>

#include "locks/held_lock.hpp"

namespace redlock::inline v1 {

namespace {

std::string const none;

}  // namespace

lock_handle& lock_handle::operator=(lock_handle&& other) noexcept
{
    if (this != &other) {
        if (state_)
            locks::give_back(state_);
        state_ = std::move(other.state_);
        report_ = std::move(other.report_);
    }
    return *this;
}

lock_handle::~lock_handle()
{
    if (state_)
        locks::give_back(state_);
}

bool lock_handle::held() const noexcept { return state_ && state_->held(); }

clock::time_point lock_handle::valid_until() const noexcept
{
    return state_ ? state_->valid_until() : clock::time_point{};
}

clock::duration lock_handle::remaining() const noexcept
{
    if (!held())
        return clock::duration::zero();
    return std::max(state_->valid_until() - state_->lock.state->now(), clock::duration::zero());
}

std::string const& lock_handle::resource() const noexcept
{
    return state_ ? state_->resources().names().front() : none;
}

std::span<std::string const> lock_handle::resources() const noexcept
{
    return state_ ? state_->resources().names() : std::span<std::string const>();
}

mode lock_handle::mode() const noexcept { return state_ ? state_->lock.mode() : mode::exclusive; }

std::string const& lock_handle::token() const noexcept { return state_ ? state_->lock.grant()->value : none; }

std::uint64_t lock_handle::fencing_token() const noexcept { return state_ ? state_->lock.grant()->fence.load() : 0; }

namespace locks {

asio::any_io_executor executor_of(std::shared_ptr<handle_state> const& s) noexcept
{
    if (!s || s->lock.state->abandoned())
        return detail::nowhere();
    return s->lock.state->user_executor();
}

}  // namespace locks
}  // namespace redlock
