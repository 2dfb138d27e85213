#include "manager/context_guard.hpp"

#include "manager/engine.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>

namespace redlock::detail {

void context_guard::watch(boost::asio::any_io_executor const& executor, std::shared_ptr<engine> const& e)
{
    auto& context = boost::asio::query(executor, boost::asio::execution::context);
    auto& guard = boost::asio::use_service<context_guard>(context);
    std::lock_guard lock(guard.mutex_);
    std::erase_if(guard.engines_, [](auto& weak) { return weak.expired(); });
    guard.engines_.push_back(e);
}

void context_guard::shutdown()
{
    for (auto& weak : engines_) {
        if (auto e = weak.lock())
            e->abandon();
    }
}

}  // namespace redlock::detail
