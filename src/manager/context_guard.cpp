#include "manager/context_guard.hpp"

#include "manager/engine.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>

namespace redlock::detail {

void context_guard::watch(boost::asio::any_io_executor const& executor, std::shared_ptr<engine> const& e, strand const& s)
{
    auto& context = boost::asio::query(executor, boost::asio::execution::context);
    auto& guard = boost::asio::use_service<context_guard>(context);
    std::lock_guard lock(guard.mutex_);
    std::erase_if(guard.all_, [](auto& w) { return w.engine.expired() && w.strand.expired(); });
    guard.all_.push_back({e, detail::strand::weak(s)});
}

void context_guard::shutdown()
{
    for (auto& w : all_) {
        if (auto e = w.engine.lock())
            e->abandon();
        w.strand.abandon();
    }
}

}  // namespace redlock::detail
