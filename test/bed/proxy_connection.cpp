#include "bed/proxy_connection.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::testbed {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t pending_max = 4 << 20;  // bytes in one direction; above this, reading stops

}  // namespace

proxy_connection::proxy_connection(tcp::socket client, proxy_conditions& now)
    : now_(now), client_(std::move(client)), server_(client_.get_executor())
{
}

void proxy_connection::open(std::uint16_t server_port)
{
    ++now_.connections;
    if (now_.what == fault::refuse)
        return close(true);
    server_.async_connect({asio::ip::address_v4::loopback(), server_port}, [self = shared_from_this()](error_code ec) {
        if (ec)
            return self->close(true);
        error_code ignored;
        for (auto* s : {&self->client_, &self->server_}) {
            s->set_option(tcp::no_delay(true), ignored);
            s->non_blocking(true, ignored);
        }
        self->read(self->requests_);
        self->read(self->replies_);
    });
}

void proxy_connection::read(lane& l)
{
    l.from.async_read_some(asio::buffer(l.buffer), [self = shared_from_this(), &l](error_code ec, std::size_t size) {
        if (ec)
            return self->put(l, {}, ec == asio::error::eof ? ending::close : ending::reset);
        self->put(l, {l.buffer.data(), size}, ending::none);
        l.full = l.size >= pending_max;
        if (!l.full)
            self->read(l);
    });
}

void proxy_connection::put(lane& l, std::string_view bytes, ending end)
{
    auto due = clock::now() + std::chrono::nanoseconds(now_.one_way_ns.load(std::memory_order_relaxed));
    if (!l.pieces.empty())
        due = std::max(due, l.pieces.back().due);  // no piece overtakes an earlier one
    l.pieces.push_back({due, std::string(bytes), end});
    l.size += bytes.size();
    if (!std::exchange(l.busy, true))
        deliver(l);
}

void proxy_connection::deliver_at(lane& l, clock::time_point at)
{
    l.alarm.expires_at(at);
    l.alarm.async_wait([self = shared_from_this(), &l](error_code) { self->deliver(l); });
}

/// Writes the pieces that are due, unless a fault delays them, and sets the alarm for the rest.
void proxy_connection::deliver(lane& l)
{
    if (!client_.is_open())
        return;
    auto const now = clock::now();
    fault const what = now_.what;
    if (what == fault::half_open || (l.replies && what == fault::mute)) {
        l.lost = l.lost || what == fault::mute;
        return deliver_at(l, now + 5ms);
    }
    if (l.lost)
        return close(true);
    for (; !l.pieces.empty() && l.pieces.front().due <= now && l.end == ending::none; l.pieces.pop_front()) {
        l.bytes += l.pieces.front().bytes;  // joined, so that one write sends them
        l.end = l.pieces.front().end;
    }
    if (!l.bytes.empty())
        return write(l, l.replies ? what : fault::none);
    if (l.end == ending::reset)
        return close(true);
    if (std::exchange(l.end, ending::none) == ending::close) {
        error_code ignored;
        l.to.shutdown(tcp::socket::shutdown_send, ignored);
        l.closed = true;
        if (requests_.closed && replies_.closed)
            return close(false);
    }
    l.busy = !l.pieces.empty();
    if (l.busy)
        deliver_at(l, l.pieces.front().due);
}

void proxy_connection::write(lane& l, fault what)
{
    auto const half = (l.bytes.size() + 1) / 2;
    auto const size = what == fault::trickle ? 1 : what == fault::reset ? half : l.bytes.size();
    error_code ec;
    auto const written = l.to.write_some(asio::buffer(l.bytes, size), ec);
    if (what == fault::reset)
        return close(true);
    // A failed write reaches the other side as a reset, after the delay.
    if (ec && ec != asio::error::would_block)
        return put(l.replies ? requests_ : replies_, {}, ending::reset);
    l.bytes.erase(0, written);
    l.size -= written;
    if (l.full && l.size < pending_max) {
        l.full = false;
        read(l);
    }
    auto again = [self = shared_from_this(), &l](error_code = {}) { self->deliver(l); };
    if (ec)
        return l.to.async_wait(tcp::socket::wait_write, std::move(again));
    if (what == fault::garbage && l.bytes.empty())
        l.to.write_some(asio::buffer(std::string_view("\x01?garbage\r\n$-5\r\n")), ec);
    if (what == fault::trickle)
        return asio::post(client_.get_executor(), std::move(again));
    deliver(l);
}

void proxy_connection::close(bool reset)
{
    error_code ignored;
    for (auto* s : {&client_, &server_}) {
        if (reset)
            s->set_option(asio::socket_base::linger(true, 0), ignored);
        s->close(ignored);
    }
    requests_.alarm.cancel();
    replies_.alarm.cancel();
}

}  // namespace redlock::testbed
