#include "serve/call_on.hpp"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <exception>
#include <memory>
#include <utility>

namespace redlock::serve {

namespace {

template <class Handler>
struct remote_call {
    explicit remote_call(Handler h) : handler(std::move(h)) {}

    Handler handler;
    asio::cancellation_signal signal{};
};

}  // namespace

asio::awaitable<void> call_on(asio::any_io_executor there, std::function<asio::awaitable<void>()> start)
{
    auto const here = co_await asio::this_coro::executor;
    if (here == there) {
        co_await start();
        co_return;
    }
    auto initiate = [here, there, &start](auto handler) {
        auto slot = asio::get_associated_cancellation_slot(handler);
        auto const call = std::make_shared<remote_call<decltype(handler)>>(std::move(handler));
        if (slot.is_connected()) {
            slot.assign([weak = std::weak_ptr(call), there](asio::cancellation_type type) {
                if (auto alive = weak.lock())
                    asio::post(there, [alive, type] { alive->signal.emit(type); });
            });
        }
        auto ended = [call, slot, work = asio::make_work_guard(here)](std::exception_ptr failure) {
            asio::post(work.get_executor(), [call, slot, failure]() mutable {
                slot.clear();
                std::move(call->handler)(failure);
            });
        };
        asio::co_spawn(there, start, asio::bind_cancellation_slot(call->signal.slot(), std::move(ended)));
    };
    co_await asio::async_initiate<asio::use_awaitable_t<> const, void(std::exception_ptr)>(initiate,
                                                                                           asio::use_awaitable);
}

}  // namespace redlock::serve
