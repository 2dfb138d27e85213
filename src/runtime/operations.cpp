#include "runtime/operations.hpp"

#include <system_error>

namespace redlock::inline v1::runtime {

void operations::enter(operation& o)
{
    if (o.is_linked())
        return;
    running_.push_back(o);
    size_.store(running_.size(), std::memory_order_relaxed);
}

void operations::leave(operation& o)
{
    if (!o.is_linked())
        return;
    running_.erase(running_.iterator_to(o));
    size_.store(running_.size(), std::memory_order_relaxed);
    left_();
}

void operations::stop()
{
    // An operation may leave the list when it stops, so each one first moves to the end. Stopping twice is harmless.
    for (auto left = running_.size(); left > 0 && !running_.empty(); --left) {
        auto& o = running_.front();
        running_.splice(running_.end(), running_, running_.begin());
        o.stop();
    }
}

void operations::abandon()
{
    while (!running_.empty()) {
        auto& o = running_.front();
        running_.pop_front();
        o.abandon();
    }
}

// A task fails only if there is no memory, or no random numbers.
error_code operations::error_of(std::exception_ptr const& failure) noexcept
{
    try {
        std::rethrow_exception(failure);
    } catch (std::system_error const& e) {
        return e.code();
    } catch (...) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
}

}  // namespace redlock::runtime
