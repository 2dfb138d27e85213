#include <redlock/lock.hpp>

#include "locks/held_lock.hpp"

namespace redlock {

namespace {

std::string const none;

}  // namespace

lock_handle& lock_handle::operator=(lock_handle&& other) noexcept
{
    if (this != &other) {
        if (held_)
            detail::give_back(held_);
        held_ = std::move(other.held_);
    }
    return *this;
}

lock_handle::~lock_handle()
{
    if (held_)
        detail::give_back(held_);
}

bool lock_handle::held() const noexcept
{
    return held_ && held_->held();
}

clock::time_point lock_handle::valid_until() const noexcept
{
    return held_ ? held_->valid_until() : clock::time_point{};
}

clock::duration lock_handle::remaining() const noexcept
{
    if (!held())
        return clock::duration::zero();
    return std::max(held_->valid_until() - held_->state->now(), clock::duration::zero());
}

std::string const& lock_handle::resource() const noexcept
{
    return held_ ? held_->resources.names().front() : none;
}

std::span<std::string const> lock_handle::resources() const noexcept
{
    return held_ ? held_->resources.names() : std::span<std::string const>();
}

std::string const& lock_handle::token() const noexcept
{
    return held_ ? held_->grant()->value : none;
}

std::uint64_t lock_handle::fencing_token() const noexcept
{
    return held_ ? held_->grant()->fence : 0;
}

namespace detail {

asio::any_io_executor executor_of(std::shared_ptr<held_lock> const& held) noexcept
{
    if (!held || held->state->abandoned())
        return nowhere();
    return held->state->user_executor();
}

}  // namespace detail
}  // namespace redlock
