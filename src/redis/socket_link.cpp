#include "redis/socket_link.hpp"

#include "redis/addresses.hpp"
#include "redis/tls.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/redis/connection.hpp>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <chrono>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace redlock::redis {

namespace {

using namespace std::chrono_literals;
using detail::strand;
using stream = boost::redis::basic_connection<strand>;

auto& socket_of(stream& s)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return s.next_layer().next_layer();
#pragma GCC diagnostic pop
}

SSL* ssl_of(stream& s)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
    return s.next_layer().native_handle();
#pragma GCC diagnostic pop
}

// Whether a connection ended because the peer does not speak the protocol.
bool is_nonsense(error_code ec)
{
    using boost::redis::error;
    return ec.category() == boost::redis::make_error_code(error::invalid_data_type).category()
        && ec != error::resolve_timeout && ec != error::connect_timeout && ec != error::ssl_handshake_timeout;
}

bool is_address(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

std::string words_of(std::exception_ptr const& e)
{
    try {
        std::rethrow_exception(e);
    } catch (std::exception const& thrown) {
        return presentable(thrown.what());
    }
}

class socket_link final : public link, public std::enable_shared_from_this<socket_link> {
public:
    socket_link(url const& server, config const& c)
        : server_(server),
          connect_timeout_(c.connect_timeout),
          tls_(server.transport == transport::tls ? tls_settings(server, c.tls) : tls_settings())
    {
    }

    void start(std::shared_ptr<detail::runtime> const& by, listener& l) override
    {
        strand_.emplace(by->strand());
        listener_ = &l;
    }

    void open(std::shared_ptr<batch> greeting) override
    {
        asio::co_spawn(*strand_, serve(shared_from_this(), std::move(greeting)), [self = shared_from_this()](std::exception_ptr e) {
            if (e)
                self->end({.error = errc::node_unreachable, .text = words_of(e)});
        });
    }

    void keep() override
    {
        kept_ = true;
        if (server_.transport == transport::unix_socket)
            return;
        // Small commands must leave at once; and a connection that is given up must not go on retransmitting them, or a lock would
        // reappear after its release.
        error_code ignored;
        socket_of(*stream_).set_option(asio::ip::tcp::no_delay(true), ignored);
        socket_of(*stream_).set_option(asio::socket_base::linger(true, 0), ignored);
    }

    void send(std::shared_ptr<batch> const& b) override
    {
        stream_->async_exec(b->request, b->adapter(), [self = shared_from_this(), s = stream_, b](error_code, std::size_t) {
            if (self->listener_)
                self->listener_->answered(b);
        });
    }

    void cut() override
    {
        if (stream_)
            stream_->cancel(boost::redis::operation::run);
    }

    void close() override
    {
        listener_ = nullptr;
        if (auto const s = std::exchange(stream_, {}))
            s->cancel();
        if (auto const search = search_.lock())
            search->cancel();
        strand_.reset();
    }

    void abandon() override
    {
        // Whatever waits in the context's services goes with them; cancelling it could reach into services that are gone.
        listener_ = nullptr;
        stream_.reset();
        strand_.reset();
    }

private:
    // One connection, from its beginning to its end.
    static asio::awaitable<void, strand> serve(std::shared_ptr<socket_link> self, std::shared_ptr<batch> greeting)
    {
        if (!self->listener_)
            co_return;
        auto where = co_await self->find_address();
        if (!self->listener_)
            co_return;
        if (!where.failure.empty())
            co_return self->end({.error = errc::node_unreachable, .text = std::move(where.failure)});
        self->listener_->connecting();
        auto const s = self->make_stream();
        self->send(greeting);
        auto const settings = self->settings_for(where.address);
        auto [ec] = co_await s->async_run(settings, asio::as_tuple(asio::deferred));
        s->cancel();  // what waits for it comes back
        if (!self->listener_)
            co_return;
        error_code ignored;
        socket_of(*s).close(ignored);  // what a destructor closes is flushed in the background, whatever SO_LINGER says
        self->addresses_.note(std::move(where.address), self->kept_);
        self->end(self->reason(*s, ec));
    }

    // At once: what is sent to a stream that has ended would wait for ever.
    void end(node_reply why)
    {
        if (auto const s = std::exchange(stream_, {}))
            s->cancel();
        if (listener_)
            listener_->ended(std::move(why));
    }

    asio::awaitable<reached, strand> find_address()
    {
        if (server_.transport == transport::unix_socket || is_address(server_.host))
            co_return reached{.address = server_.host};
        if (!lookup_ || lookup_->done()) {  // another thread would hang as the one before does
            try {
                lookup_ = name_lookup::start(server_.host, server_.port);
            } catch (std::system_error const& e) {
                co_return reached{.failure = std::string("no thread to resolve its name on: ") + e.what()};
            }
        }
        auto search = std::make_shared<address_search>(*strand_, connect_timeout_);
        search_ = search;
        auto find = search->async_find(lookup_, addresses_, asio::deferred);
        search.reset();  // it is to know us, and not we it: the context may go before it has ended
        co_return co_await std::move(find);
    }

    std::shared_ptr<stream> make_stream()
    {
        auto const s = std::make_shared<stream>(*strand_, tls_.context(), boost::redis::logger(boost::redis::logger::level::disabled));
        if (server_.transport == transport::tls && !is_address(server_.host))  // a server name is no address (RFC 6066)
            SSL_set_tlsext_host_name(ssl_of(*s), server_.host.c_str());
        pushes_.take();
        auto pushes = pushes_.adapter([this](std::string_view key) {
            if (listener_)
                listener_->change_read(key);
        });
        s->set_receive_response(pushes);
        receive_pushes(s);
        stream_ = s;
        kept_ = false;
        return s;
    }

    // What nobody takes would block the connection in the end.
    void receive_pushes(std::shared_ptr<stream> const& s)
    {
        s->async_receive2([self = shared_from_this(), s](error_code ec) {
            if (ec || self->stream_ != s)
                return;
            for (auto const& key : self->pushes_.take()) {
                if (self->listener_)
                    self->listener_->changed(key);
            }
            self->receive_pushes(s);
        });
    }

    boost::redis::config settings_for(std::string const& address) const
    {
        boost::redis::config c;
        c.use_ssl = server_.transport == transport::tls;
        if (server_.transport == transport::unix_socket)
            c.unix_socket = server_.path;
        c.addr = {address, server_.port};
        c.resolve_timeout = connect_timeout_;
        c.connect_timeout = connect_timeout_;
        c.ssl_handshake_timeout = connect_timeout_;
        c.health_check_interval = 0s;    // ours looks once a second, not with two timers for each write and read
        c.reconnect_wait_interval = 0s;  // whoever opens us does so again, with growing pauses
        c.max_read_size = 4 * 1024 * 1024;
        c.read_buffer_append_size = 2 * 1024;
        c.use_setup = true;  // we greet the server ourselves, to hear its own words when it refuses
        c.setup.clear();
        return c;
    }

    node_reply reason(stream& s, error_code ec) const
    {
        if (ec == errc::unexpected_reply)
            return {.error = ec, .text = "it answered what nobody had asked"};
        if (kept_)
            return {.error = errc::node_unreachable, .text = ec.message()};
        if (is_nonsense(ec))
            return {.error = errc::unexpected_reply, .text = "it does not answer as Redis does: " + failure_to_connect(s, ec)};
        return {.error = errc::node_unreachable, .text = failure_to_connect(s, ec)};
    }

    std::string failure_to_connect(stream& s, error_code ec) const
    {
        if (ec == asio::error::operation_aborted)
            return "it accepts connections but does not answer";
        auto const words = presentable(ec.message());
        if (server_.transport == transport::tls) {
            auto const verified = SSL_get_verify_result(ssl_of(s));
            if (verified != X509_V_OK)
                return words + ": " + X509_verify_cert_error_string(verified);
            if (ec.category() == asio::error::get_ssl_category() || ec == boost::redis::error::ssl_handshake_timeout)
                return words + "; does it speak TLS on this port? Without, its URL begins with redis://";
        } else if (is_nonsense(ec) || ec == asio::error::eof || ec == asio::error::connection_reset) {
            return words + "; does it want TLS on this port? Then its URL begins with rediss://";
        }
        return words;
    }

    url const server_;
    std::chrono::milliseconds const connect_timeout_;
    tls_settings const tls_;
    std::optional<strand> strand_;
    listener* listener_ = nullptr;         ///< null after the end
    std::shared_ptr<name_lookup> lookup_;
    std::weak_ptr<address_search> search_;
    known_addresses addresses_;
    std::shared_ptr<stream> stream_;       ///< null while there is none
    bool kept_ = false;
    push_reader pushes_;
};

}  // namespace

std::shared_ptr<link> make_socket_link(url const& server, config const& c)
{
    return std::make_shared<socket_link>(server, c);
}

}  // namespace redlock::redis
