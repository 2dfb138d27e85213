#include "runtime/context_guard.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>

namespace redlock::inline v1::runtime {

void context_guard::watch(boost::asio::any_io_executor const& executor, std::shared_ptr<context_user> const& guest,
                          strand const& s)
{
    auto& context = boost::asio::query(executor, boost::asio::execution::context);
    auto& guard = boost::asio::use_service<context_guard>(context);
    std::lock_guard lock(guard.mutex_);
    std::erase_if(guard.all_, [](auto& w) { return w.guest.expired() && w.strand.expired(); });
    guard.all_.push_back({guest, redlock::runtime::strand::weak(s)});
}

void context_guard::shutdown()
{
    for (auto& w : all_) {
        if (auto const guest = w.guest.lock())
            guest->abandon();
        w.strand.abandon();
    }
}

}  // namespace redlock::runtime
