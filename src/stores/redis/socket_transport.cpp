#include "stores/redis/socket_transport.hpp"

#include "net/addresses.hpp"
#include "net/secrets.hpp"
#include "net/url_text.hpp"
#include "stores/redis/inbox.hpp"
#include "stores/redis/stream.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace redlock::stores::redis {

namespace {

using runtime::strand;

constexpr std::size_t changes_max = 4096;  // if more keys change at once, the transport reports "any key"

stream::endpoint endpoint_of(std::string const& address, std::string const& port)
{
    std::uint16_t number = 0;
    std::from_chars(port.data(), port.data() + port.size(), number);
    return asio::ip::tcp::endpoint(asio::ip::make_address(address), number);
}

std::string words_of(std::exception_ptr const& e)
{
    try {
        std::rethrow_exception(e);
    } catch (std::exception const& thrown) {
        return net::presentable(thrown.what());
    }
}

// The server as it is reached: behind NAT, or by its host name, at another place than it announces.
net::url routed(net::url server)
{
    auto const way = server.route_to({server.host, server.port});
    server.host = way.host;
    server.port = way.port;
    return server;
}

class socket_transport final : public transport, stream::owner, public std::enable_shared_from_this<socket_transport> {
public:
    socket_transport(net::url const& server, manager_options const& c, resp::limits accepted)
        : server_(routed(server)),
          connect_timeout_(c.connect_timeout),
          tls_(is_encrypted() ? net::tls_settings(server_, c.tls) : net::tls_settings()),
          name_(net::is_address(server_.host) ? std::string() : server_.host),
          accepted_(accepted)
    {
    }

    void start(std::shared_ptr<runtime::runtime> const& by, transport::owner& o) override
    {
        runtime_ = by;
        owner_ = &o;
    }

    void open(std::shared_ptr<batch> greeting) override
    {
        asio::co_spawn(runtime_->urgent(), connect(shared_from_this(), std::move(greeting)),
                       [self = shared_from_this()](std::exception_ptr e) {
                           if (e)
                               self->end({.error = errc::node_unreachable, .text = words_of(e)});
                       });
    }

    void server_accepted() override
    {
        kept_ = true;
        // The system must not resend a command after the connection ended: a lock would reappear after its release.
        if (stream_ && !is_local())
            stream_->linger_never();
    }

    void send(std::shared_ptr<batch> const& b) override
    {
        inbox_.expect(b);
        if (!stream_)  // the connection has ended, and ended() follows soon
            return;
        try {
            stream_->write(b->request.bytes());
        } catch (std::exception const& e) {  // out of memory; then the inbox returns the batch
            end({.error = errc::node_unreachable, .text = e.what()});
        }
    }

    void cut() override
    {
        if (stream_)
            end(failure(asio::error::operation_aborted));
    }

    std::string address() const override { return address_; }
    std::vector<std::string> addresses() const override { return all_addresses_; }
    void prefer(std::string address) override { preferred_ = std::move(address); }

    void close() override
    {
        owner_ = nullptr;
        limit_.clear();
        if (auto const s = std::exchange(stream_, {}))
            s->close();
        if (auto const search = search_.lock())
            search->cancel();
        runtime_.reset();
    }

    void abandon() override
    {
        // The context's services drop pending operations themselves. close() could use services that are destroyed.
        owner_ = nullptr;
        limit_.clear();
        stream_.reset();
        runtime_.reset();
    }

private:
    bool is_encrypted() const noexcept { return server_.transport == net::transport::tls; }
    bool is_local() const noexcept { return server_.transport == net::transport::unix_socket; }

    static asio::awaitable<void, runtime::strand> connect(std::shared_ptr<socket_transport> self,
                                                          std::shared_ptr<batch> greeting)
    {
        if (!self->owner_)
            co_return;
        auto where = co_await self->find_address();
        if (!self->owner_)
            co_return;
        if (!where.failure.empty())
            co_return self->end({.error = errc::node_unreachable, .text = std::move(where.failure)});
        self->owner_->connecting();
        self->all_addresses_ = std::move(where.all);
        self->begin(std::move(where.address), greeting);
        auto const s = self->stream_;
        self->limit(fmt::format("it was not connected to within {} ms", self->connect_timeout_.count()));
        auto ec = co_await s->connect(self->endpoint());
        if (!ec && self->is_encrypted() && self->stream_ == s) {
            self->limit(fmt::format("no TLS handshake within {} ms{}", self->connect_timeout_.count(), self->hint()));
            ec = co_await s->shake_hands(self->tls_, self->name_);
        }
        if (self->stream_ != s)
            co_return;  // the connection was cut, or timed out
        if (ec)
            co_return self->end(self->failure(ec));
        self->limit_.clear();
        s->start();
        s->write(greeting->request.bytes());
    }

    asio::awaitable<net::reached, runtime::strand> find_address()
    {
        if (is_local() || net::is_address(server_.host))
            co_return net::reached{.address = server_.host};
        if (!lookup_ || lookup_->done()) {  // a second lookup would hang like the first one
            try {
                lookup_ = net::name_lookup::start(server_.host, server_.port);
            } catch (std::system_error const& e) {
                co_return net::reached{.failure = std::string("cannot start a thread to resolve its name: ")
                                                  + e.what()};
            }
        }
        auto search = std::make_shared<net::address_search>(runtime_->urgent(), connect_timeout_);
        search_ = search;
        auto find = search->async_find(lookup_, addresses_, asio::use_awaitable_t<runtime::strand>());
        search.reset();  // the coroutine must not own the search: the context may be destroyed before its end
        co_return co_await std::move(find);
    }

    void begin(std::string address, std::shared_ptr<batch> greeting)
    {
        address_ = std::move(address);
        kept_ = false;
        inbox_ = inbox(accepted_);
        inbox_.expect(std::move(greeting));
        changed_.clear();
        stream_ = std::make_shared<stream>(runtime_->urgent(), static_cast<stream::owner&>(*this), inbox_.rest_max());
    }

    stream::endpoint endpoint() const
    {
        if (is_local())
            return asio::local::stream_protocol::endpoint(server_.path);
        return endpoint_of(address_, server_.port);
    }

    void limit(std::string too_late)
    {
        too_late_ = std::move(too_late);
        runtime_->set(limit_, runtime_->now() + connect_timeout_);
    }

    void received(std::string_view& bytes) override
    {
        auto const s = stream_;
        for (auto e = inbox_.next(bytes); e != inbox::event::none; e = inbox_.next(bytes)) {
            handle(e);
            if (stream_ != s)
                return;  // the owner has ended the connection
        }
        for (auto const& key : std::exchange(changed_, {})) {
            if (stream_ == s)
                owner_->changed(key);
        }
    }

    void handle(inbox::event e)
    {
        switch (e) {
        case inbox::event::answered:
            return owner_->answered(inbox_.take_answered());
        case inbox::event::changed:
            owner_->push_arrived(inbox_.key());
            return note_change(inbox_.key());
        case inbox::event::malformed:
            if (kept_)
                return end({.error = errc::unexpected_reply, .text = "its reply is malformed"});
            return end({.error = errc::unexpected_reply, .text = "it does not answer as Redis does" + hint()});
        case inbox::event::unasked:
            return end({.error = errc::unexpected_reply, .text = "it sent a reply without a request"});
        case inbox::event::none:
            break;
        }
    }

    void note_change(std::string_view key)
    {
        if (changed_.size() < changes_max)
            changed_.emplace_back(key);
        else
            changed_.back().clear();
    }

    void broke(error_code ec) override { end(failure(ec)); }

    // Posts the call of ended(), because the owner may be calling this transport right now.
    void end(node_reply why)
    {
        limit_.clear();
        if (auto const s = std::exchange(stream_, {})) {
            s->close();
            addresses_.note(std::move(address_), kept_);
            if (!preferred_.empty())
                addresses_.good = std::exchange(preferred_, {});
        }
        if (!owner_)
            return;
        asio::post(runtime_->urgent(), [self = shared_from_this(), why = std::move(why)] {
            auto const lost = self->inbox_.take_waiting();
            if (self->owner_)
                self->owner_->ended(why);
            for (auto const& b : lost) {
                if (self->owner_)
                    self->owner_->answered(b);
            }
        });
    }

    node_reply failure(error_code ec) const
    {
        return {.error = errc::node_unreachable,
                .text = kept_ ? net::presentable(ec.message()) : failure_to_connect(ec)};
    }

    std::string failure_to_connect(error_code ec) const
    {
        if (ec == asio::error::operation_aborted)
            return "it accepts connections but does not answer";
        auto const words = net::presentable(ec.message());
        if (auto const why = stream_->certificate_failure(); !why.empty())
            return words + ": " + why;
        bool const may_be_the_other = is_encrypted() ? ec.category() == asio::error::get_ssl_category()
                                                     : ec == asio::error::eof || ec == asio::error::connection_reset;
        if (!may_be_the_other)
            return words;
        if (words.find("certificate required") != words.npos)
            return words + "; it accepts only clients with a certificate: manager_options::tls, or --certificate-file";
        if (words.find("alert") != words.npos)  // so it does speak TLS
            return words;
        return words + hint() + (is_encrypted() ? "" : ". Or is it a proxy that does not know HELLO?");
    }

    std::string hint() const
    {
        std::string_view const kind = server_.asked.empty() ? "" : server_.service.empty() ? "-cluster" : "-sentinel";
        auto const words =
            is_encrypted()
                ? fmt::format("; does it speak TLS on this port? Without, its URL begins with redis{}://", kind)
                : fmt::format("; does it want TLS on this port? Then its URL begins with rediss{}://", kind);
        return server_.service.empty() ? words
                                       : words + ", with ?sentinel_tls= if the Sentinels differ from the servers";
    }

    net::url const server_;
    std::chrono::milliseconds const connect_timeout_;
    net::tls_settings const tls_;
    std::string const name_;  ///< host name for TLS; empty for an IP address (RFC 6066)
    resp::limits const accepted_;
    std::shared_ptr<runtime::runtime> runtime_;
    transport::owner* owner_ = nullptr;  ///< null after close or abandon
    std::shared_ptr<net::name_lookup> lookup_;
    std::weak_ptr<net::address_search> search_;
    net::known_addresses addresses_;
    std::string address_;  ///< of the connection
    std::vector<std::string> all_addresses_;
    std::string preferred_;  ///< the address to try next; empty: any
    runtime::alarm limit_{[this] { end({.error = errc::node_unreachable, .text = too_late_}); }};
    std::string too_late_;            ///< error text if `limit_` expires
    std::shared_ptr<stream> stream_;  ///< null while there is none
    inbox inbox_;
    std::vector<std::string> changed_;  ///< keys to report after the replies that arrived with them
    bool kept_ = false;
};

}  // namespace

std::shared_ptr<transport> make_socket_transport(net::url const& server, manager_options const& c,
                                                 resp::limits accepted)
{
    return std::make_shared<socket_transport>(server, c, accepted);
}

}  // namespace redlock::stores::redis
