#include "relay/relay_loop.hpp"

#include "relay/relay_connection.hpp"
#include "relay/relay_failure.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <utility>

namespace redlock::bench {

namespace {

using clock = std::chrono::steady_clock;

void set_option(int socket, int level, int name, int value)
{
    ::setsockopt(socket, level, name, &value, sizeof value);
}

int connect_to(std::uint16_t port)
{
    int const s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s < 0)
        relay_failure("cannot make a socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    // Whether it succeeds is found out like everything else about it, by an event.
    (void)::connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address);
    return s;
}

class relay_loop {
public:
    relay_loop(int epoll, int timer, std::vector<relay_door> const& doors) : timer_(timer), doors_(doors)
    {
        hub_.epoll = epoll;
        epoll_event event{};
        event.events = EPOLLIN | EPOLLET;  // so that the timer need not be read
        if (::epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) != 0)
            relay_failure("cannot wait for a timer");
        event.events = EPOLLIN;
        for (auto const& d : doors_) {
            event.data.ptr = const_cast<relay_door*>(&d);
            if (::epoll_ctl(epoll, EPOLL_CTL_ADD, d.listener, &event) != 0)
                relay_failure("cannot wait for connections");
        }
    }

    [[noreturn]] void run()
    {
        epoll_event events[256];
        for (;;) {
            set_timer();
            int const n = ::epoll_wait(hub_.epoll, events, std::size(events), -1);
            if (n < 0 && errno != EINTR)
                relay_failure("cannot wait for events");
            for (int i = 0; i < n; ++i)
                handle(events[i]);
            hub_.alarms.ring_until(clock::now());
            if (std::exchange(hub_.finished, 0) > 0)  // not earlier: further events may have been theirs
                std::erase_if(connections_, [](auto const& c) { return c->finished(); });
        }
    }

private:
    void handle(epoll_event const& e)
    {
        auto const* door = static_cast<relay_door const*>(e.data.ptr);
        if (!door)
            return;  // the timer
        if (door >= doors_.data() && door < doors_.data() + doors_.size())
            return accept(*door);
        auto& s = *static_cast<relay_side*>(e.data.ptr);
        s.owner.on_event(s, e.events);
    }

    void accept(relay_door const& d)
    {
        int const client = ::accept4(d.listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (client < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                relay_failure("cannot accept a connection");
            return;  // it is gone already
        }
        int const server = connect_to(d.target_port);
        for (int const s : {client, server})
            set_option(s, IPPROTO_TCP, TCP_NODELAY, 1);
        connections_.push_back(std::make_unique<relay_connection>(hub_, client, server, *d.one_way_ns));
    }

    /// Sets the timer only if it would ring too late: ringing in vain is cheaper, under load, than moving it each time.
    void set_timer()
    {
        auto const next = hub_.alarms.next();
        if (!next || (timer_at_ > clock::now() && timer_at_ <= *next))
            return;
        // The steady clock is CLOCK_MONOTONIC. Zero would stop the timer.
        auto const ns = std::max<std::int64_t>(std::chrono::nanoseconds(next->time_since_epoch()).count(), 1);
        itimerspec at{};
        at.it_value.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
        at.it_value.tv_nsec = static_cast<long>(ns % 1'000'000'000);
        if (::timerfd_settime(timer_, TFD_TIMER_ABSTIME, &at, nullptr) != 0)
            relay_failure("cannot set a timer");
        timer_at_ = *next;
    }

    relay_hub hub_;
    int timer_;
    clock::time_point timer_at_{};
    std::vector<relay_door> const& doors_;
    std::vector<std::unique_ptr<relay_connection>> connections_;
};

}  // namespace

void run_relay(int epoll, int timer, std::vector<relay_door> const& doors)
{
    relay_loop(epoll, timer, doors).run();
}

}  // namespace redlock::bench
