#include "bed/proxy.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <new>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace asio = boost::asio;
using asio::ip::tcp;

static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // two processes share it

namespace {

[[noreturn]] void failure(std::string const& what, std::string const& why)
{
    throw std::runtime_error("proxy: " + what + ": " + why);
}

std::int64_t one_way(std::chrono::microseconds rtt)
{
    using namespace std::chrono_literals;
    if (rtt < 0us || rtt > 1h)
        failure("rtt is " + std::to_string(rtt.count()) + " us", "but must be 0 to 1 h");
    return std::chrono::nanoseconds(rtt).count() / 2;  // nanoseconds: half of an odd number of microseconds is exact
}

}  // namespace

proxy::proxy(std::vector<target> const& targets)
{
    auto const bytes = std::max<std::size_t>(targets.size(), 1) * sizeof(proxy_conditions);
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        failure("no shared memory", std::strerror(errno));
    conditions_.reset(static_cast<proxy_conditions*>(memory), [bytes](proxy_conditions* w) { ::munmap(w, bytes); });
    asio::io_context passing;
    for (auto const& t : targets) {
        auto* const now = ::new (conditions_.get() + ways_.size()) proxy_conditions;
        now->one_way_ns = one_way(t.rtt);
        tcp::acceptor a(passing, {asio::ip::address_v4::loopback(), 0});
        auto const port = a.local_endpoint().port();
        a.listen(1024);
        ways_.push_back({port, t.port, a.release(), now});
        ::fcntl(ways_.back().listener, F_SETFD, FD_CLOEXEC);
    }
}

proxy::~proxy()
{
    if (context_)
        context_->stop();
    if (thread_.joinable())
        thread_.join();
    context_.reset();  // destroys the connections, which use the conditions
    apart_.reset();
    for (auto const& w : ways_) {
        if (w.listener >= 0)
            ::close(w.listener);
    }
}

void proxy::serve()
{
    for (auto& w : ways_) {
        auto const accept = [this, &w]() -> asio::awaitable<void> {
            tcp::acceptor a(*context_, tcp::v4(), std::exchange(w.listener, -1));
            for (;;) {
                auto [ec, client] = co_await a.async_accept(asio::as_tuple(asio::use_awaitable));
                if (!ec)
                    std::make_shared<proxy_connection>(std::move(client), *w.now)->open(w.server_port);
                else if (ec != asio::error::connection_aborted)  // the client has closed it already
                    failure("cannot accept a connection", ec.message());
            }
        };
        asio::co_spawn(*context_, accept, [](std::exception_ptr failed) {
            if (failed)
                std::rethrow_exception(failed);
        });
    }
}

void proxy::start()
{
    context_ = std::make_unique<asio::io_context>(1);
    serve();
    thread_ = std::thread([this] { context_->run(); });
}

pid_t proxy::start_apart()
{
    apart_.emplace([this] { return serve_apart(); }, process_options{.name = "the network"});
    for (auto& w : ways_)
        ::close(std::exchange(w.listener, -1));
    return apart_->pid();
}

int proxy::serve_apart()
{
    ::setpgid(0, 0);  // Ctrl-C reaches only the parent, which ends this process
    close_all_but_listeners();
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
    context_ = std::make_unique<asio::io_context>(1);
    serve();
    context_->run();
    return 1;
}

/// Closes inherited descriptors, such as pipes and connections: their readers may wait for the end of the stream.
void proxy::close_all_but_listeners() const
{
    int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);  // replaced, not closed: a socket would take the number
    ::dup2(nothing, STDOUT_FILENO);
    std::vector<unsigned> keep{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO};
    for (auto const& w : ways_)
        keep.push_back(static_cast<unsigned>(w.listener));
    std::sort(keep.begin(), keep.end());
    unsigned first = 0;
    for (auto const k : keep) {
        if (first < k)
            ::close_range(first, k - 1, 0);
        first = k + 1;
    }
    ::close_range(first, std::numeric_limits<unsigned>::max(), 0);
}

void proxy::set(std::size_t i, fault f) { ways_.at(i).now->what = f; }

void proxy::set_all(fault f)
{
    for (std::size_t i = 0; i < size(); ++i)
        set(i, f);
}

void proxy::set_rtt(std::size_t i, std::chrono::microseconds rtt)
{
    if (i >= size())
        failure("there is no target " + std::to_string(i), "there are " + std::to_string(size()));
    ways_[i].now->one_way_ns.store(one_way(rtt), std::memory_order_relaxed);
}

int proxy::connections(std::size_t i) const { return ways_.at(i).now->connections; }

}  // namespace redlock::testbed
