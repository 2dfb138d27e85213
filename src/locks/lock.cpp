#include <redlock/lock.hpp>

#include "locks/held_lock.hpp"

namespace redlock::inline v0 {

namespace {

std::string const none;

}  // namespace

lock_handle& lock_handle::operator=(lock_handle&& other) noexcept
{
    if (this != &other) {
        if (stake_)
            detail::give_back(stake_);
        stake_ = std::move(other.stake_);
    }
    return *this;
}

lock_handle::~lock_handle()
{
    if (stake_)
        detail::give_back(stake_);
}

bool lock_handle::held() const noexcept { return stake_ && stake_->held(); }

clock::time_point lock_handle::valid_until() const noexcept
{
    return stake_ ? stake_->valid_until() : clock::time_point{};
}

clock::duration lock_handle::remaining() const noexcept
{
    if (!held())
        return clock::duration::zero();
    return std::max(stake_->valid_until() - stake_->lock.state->now(), clock::duration::zero());
}

std::string const& lock_handle::resource() const noexcept
{
    return stake_ ? stake_->resources().names().front() : none;
}

std::span<std::string const> lock_handle::resources() const noexcept
{
    return stake_ ? stake_->resources().names() : std::span<std::string const>();
}

mode lock_handle::mode() const noexcept { return stake_ ? stake_->lock.mode() : mode::exclusive; }

std::string const& lock_handle::token() const noexcept { return stake_ ? stake_->lock.grant()->value : none; }

std::uint64_t lock_handle::fencing_token() const noexcept { return stake_ ? stake_->lock.grant()->fence.load() : 0; }

namespace detail {

asio::any_io_executor executor_of(std::shared_ptr<stake> const& s) noexcept
{
    if (!s || s->lock.state->abandoned())
        return nowhere();
    return s->lock.state->user_executor();
}

}  // namespace detail
}  // namespace redlock
