#include "relay/relay_connection.hpp"

#include "relay/relay_failure.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>

namespace redlock::bench {

namespace {

using clock = std::chrono::steady_clock;
using ending = delay_line::ending;

constexpr std::size_t pending_max = 4 << 20;  // in one direction of one connection; then reading stops

bool is_temporary(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

void relay_side::deliver()
{
    owner.deliver_to(*this);
}

relay_connection::relay_connection(relay_hub& h, int client, int server, std::atomic<std::int64_t> const& one_way_ns)
    : hub_(h), one_way_ns_(one_way_ns), client_(*this, client), server_(*this, server)
{
    for (auto* s : {&client_, &server_})
        watch(*s);
}

void relay_connection::on_event(relay_side& s, std::uint32_t events)
{
    if (finished_ || s.broken)
        return;  // by an event before this one, of the same wait
    if (events & EPOLLOUT)
        s.writable = true;
    if (s.ended && (events & (EPOLLERR | EPOLLHUP)))
        return on_reset(s);
    if (!s.ended && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)))
        read(s);
    if (!finished_ && !s.broken && (events & EPOLLOUT))
        deliver_to(s);
}

void relay_connection::deliver_to(relay_side& s)
{
    s.arriving.advance_to(clock::now());
    if (s.arriving.end() != ending::reset && s.writable && !s.arriving.due().empty() && !write(s))
        return on_reset(s);
    switch (s.arriving.end()) {
    case ending::none:
        break;
    case ending::close:
        if (!std::exchange(s.closed, true))
            ::shutdown(s.socket, SHUT_WR);
        if (other(s).closed)
            return finish();
        break;
    case ending::reset:
        write(s);  // what was due with it or before
        return reset(s);
    }
    set_alarm(s);
    watch(s);
    watch(other(s));  // there may be room again
}

clock::time_point relay_connection::arrival() const
{
    return clock::now() + std::chrono::nanoseconds(one_way_ns_.load(std::memory_order_relaxed));
}

void relay_connection::read(relay_side& s)
{
    auto& to = other(s);
    auto const n = ::recv(s.socket, hub_.buffer, sizeof hub_.buffer, 0);
    if (n < 0)
        return is_temporary(errno) ? void() : on_reset(s);
    if (n > 0) {
        to.arriving.put({hub_.buffer, static_cast<std::size_t>(n)}, arrival());
    } else {
        s.ended = true;
        to.arriving.put(ending::close, arrival());
    }
    set_alarm(to);
    watch(s);
}

/// @return false if the connection is broken
bool relay_connection::write(relay_side& s)
{
    auto const bytes = s.arriving.due();
    auto const n = ::send(s.socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n < 0 && !is_temporary(errno))
        return false;
    auto const sent = static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    s.writable = sent == bytes.size();
    s.arriving.take(sent);
    return true;
}

/// @p s is gone; the other side learns of it when the news has travelled.
void relay_connection::on_reset(relay_side& s)
{
    auto& to = other(s);
    if (to.broken)
        return finish();
    s.broken = s.ended = true;
    to.ended = true;  // what it says from now on reaches nobody
    s.arriving.clear();
    s.alarm.clear();
    to.arriving.put(ending::reset, arrival());
    set_alarm(to);
    watch(s);
    watch(to);
}

void relay_connection::reset(relay_side& s)
{
    linger const at_once{1, 0};
    ::setsockopt(s.socket, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    finish();
}

void relay_connection::set_alarm(relay_side& s)
{
    if (auto const at = s.arriving.next(); at && !s.alarm.is_set())  // what comes later never is due earlier
        hub_.alarms.set(s.alarm, *at);
}

void relay_connection::watch(relay_side& s)
{
    // A side that is done, in either way, would report so for ever.
    bool const wanted = !s.broken && !(s.ended && s.closed);
    bool const room = other(s).arriving.size() < pending_max;
    epoll_event event{};
    event.events = (!s.ended && room ? EPOLLIN : 0u) | (s.writable ? 0u : EPOLLOUT);
    event.data.ptr = &s;
    if (wanted == s.registered && event.events == s.events)
        return;
    if (!wanted && !s.registered)
        return;
    auto const change = !wanted ? EPOLL_CTL_DEL : s.registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (::epoll_ctl(hub_.epoll, change, s.socket, &event) != 0)
        relay_failure("cannot wait for a socket");
    s.registered = wanted;
    s.events = event.events;
}

void relay_connection::finish()
{
    finished_ = true;
    ++hub_.finished;
    close();
}

void relay_connection::close()
{
    for (auto* s : {&client_, &server_}) {
        s->alarm.clear();
        if (s->socket >= 0)
            ::close(std::exchange(s->socket, -1));
    }
}

}  // namespace redlock::bench
