#include "tools/redlock/args/watched_input.hpp"

#include "runtime/as_result.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>

namespace redlock::cli {

asio::posix::stream_descriptor watched_input(asio::any_io_executor const& executor, error_code& ec)
{
    asio::posix::stream_descriptor watch(executor);
    watch.assign(::epoll_create1(EPOLL_CLOEXEC), ec);
    epoll_event wanted{.events = EPOLLIN, .data = {}};
    if (!ec && ::epoll_ctl(watch.native_handle(), EPOLL_CTL_ADD, STDIN_FILENO, &wanted) != 0)
        ec.assign(errno, boost::system::system_category());
    return watch;
}

asio::awaitable<void> wait_for_ever()
{
    asio::steady_timer timer(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await timer.async_wait(runtime::as_result);
}

}  // namespace redlock::cli
