#include "stores/redis/stream.hpp"

#include <redlock/detail/recycler.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstring>
#include <utility>

namespace redlock::stores::redis {

namespace {

using runtime::strand;

constexpr std::size_t read_at_once = 16 * 1024;
constexpr auto as_result = asio::as_tuple(asio::use_awaitable_t<runtime::strand>());

template <class F>
auto recycled(F f)
{
    return asio::bind_allocator(detail::recycler<void>(), std::move(f));
}

}  // namespace

stream::stream(runtime::strand const& on, owner& o, std::size_t rest_max)
    : socket_(on), owner_(&o), space_(rest_max + read_at_once), bytes_(std::make_unique_for_overwrite<char[]>(space_))
{
}

asio::awaitable<error_code, runtime::strand> stream::connect(endpoint to)
{
    auto const self = shared_from_this();
    auto [ec] = co_await socket_.async_connect(to, as_result);
    if (!ec)
        socket_.non_blocking(true, ec);
    if (!ec && to.protocol().family() != AF_UNIX)
        socket_.set_option(asio::ip::tcp::no_delay(true), ec);
    co_return ec;
}

asio::awaitable<error_code, runtime::strand> stream::shake_hands(net::tls_settings const& tls, std::string const& name)
{
    auto const self = shared_from_this();
    auto context = tls.context();
    tls_.emplace(socket_, context);
    if (!name.empty())
        SSL_set_tlsext_host_name(tls_->native_handle(), name.c_str());
    auto [ec] = co_await tls_->async_handshake(asio::ssl::stream_base::client, as_result);
    co_return ec;
}

void stream::start() { read(); }

// Waiting first saves a system call: async_read_some would try to read at once, and usually find nothing.
void stream::read()
{
    if (tls_) {
        tls_->async_read_some(asio::buffer(bytes_.get() + size_, space_ - size_),
                              recycled([self = shared_from_this()](error_code ec, std::size_t n) {
                                  if (ec)
                                      self->broke(ec);
                                  else
                                      self->received(n);
                              }));
        return;
    }
    socket_.async_wait(socket::wait_read, recycled([self = shared_from_this()](error_code ec) {
                           if (ec)
                               self->broke(ec);
                           else
                               self->read_what_is_there();
                       }));
}

void stream::read_what_is_there()
{
    if (!owner_)
        return;
    error_code ec;
    auto const n = socket_.read_some(asio::buffer(bytes_.get() + size_, space_ - size_), ec);
    if (ec && ec != asio::error::would_block)
        return broke(ec);
    received(n);
}

void stream::received(std::size_t n)
{
    if (!owner_)
        return;
    size_ += n;
    std::string_view rest(bytes_.get(), size_);
    if (n > 0)
        owner_->received(rest);
    std::memmove(bytes_.get(), rest.data(), rest.size());
    size_ = rest.size();
    if (owner_)
        read();
}

void stream::write(std::string_view bytes)
{
    if (!owner_)
        return;
    bool const is_free = !tls_ && leaving_.empty();
    if (is_free) {
        error_code ec;
        auto const n = socket_.write_some(asio::buffer(bytes), ec);
        if (ec && ec != asio::error::would_block)
            return broke(ec);
        bytes.remove_prefix(n);
    }
    unsent_ += bytes;
    if (leaving_.empty() && !unsent_.empty())
        write_rest();
}

void stream::write_rest()
{
    leaving_.swap(unsent_);
    auto done = recycled([self = shared_from_this()](error_code ec, std::size_t) {
        self->leaving_.clear();
        if (ec)
            self->broke(ec);
        else if (self->owner_ && !self->unsent_.empty())
            self->write_rest();
    });
    if (tls_)
        asio::async_write(*tls_, asio::buffer(leaving_), std::move(done));
    else
        asio::async_write(socket_, asio::buffer(leaving_), std::move(done));
}

void stream::linger_never()
{
    error_code ignored;
    socket_.set_option(asio::socket_base::linger(true, 0), ignored);
}

void stream::broke(error_code ec)
{
    if (auto* const o = std::exchange(owner_, nullptr))
        o->broke(ec);
}

void stream::close()
{
    owner_ = nullptr;
    error_code ignored;
    socket_.close(ignored);  // a destructor would ignore SO_LINGER, and flush in the background
}

std::string stream::certificate_failure() const
{
    auto const verified = tls_ ? SSL_get_verify_result(const_cast<stream&>(*this).tls_->native_handle()) : X509_V_OK;
    return verified == X509_V_OK ? std::string() : X509_verify_cert_error_string(verified);
}

}  // namespace redlock::stores::redis
