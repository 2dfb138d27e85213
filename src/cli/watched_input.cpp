#include "cli/watched_input.hpp"

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

}  // namespace redlock::cli
