#include <redlock/lock.hpp>

#include "manager/held_lock.hpp"

#include <boost/asio/system_executor.hpp>

namespace redlock {

namespace {

std::string const nothing;

}  // namespace

lock& lock::operator=(lock&& other) noexcept
{
    if (this != &other) {
        if (held_)
            detail::give_back(held_);
        held_ = std::move(other.held_);
    }
    return *this;
}

lock::~lock()
{
    if (held_)
        detail::give_back(held_);
}

bool lock::held() const noexcept
{
    return held_ && held_->held();
}

clock::time_point lock::valid_until() const noexcept
{
    return held_ ? held_->valid_until() : clock::time_point{};
}

clock::duration lock::remaining() const noexcept
{
    if (!held())
        return clock::duration::zero();
    return std::max(held_->valid_until() - held_->engine->now(), clock::duration::zero());
}

std::string const& lock::resource() const noexcept
{
    return held_ ? held_->resource : nothing;
}

std::string const& lock::token() const noexcept
{
    return held_ ? held_->grant()->value : nothing;
}

std::uint64_t lock::fencing_token() const noexcept
{
    return held_ ? held_->grant()->fence : 0;
}

namespace detail {

asio::any_io_executor executor_of(std::shared_ptr<held_lock> const& held) noexcept
{
    if (!held || held->engine->abandoned())
        return asio::system_executor();
    return held->engine->user_executor();
}

}  // namespace detail
}  // namespace redlock
