#include "tools/serve/http_server.hpp"

#include "runtime/as_result.hpp"
#include "tools/serve/peer.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <optional>
#include <string>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::serve {

namespace {

using namespace std::chrono_literals;

// How long TCP waits for the confirmation of what was sent. Events are sent every few seconds, so a host that has
// vanished ends its session after about this time.
constexpr unsigned unconfirmed_ms = 10'000;

// Nothing is sent while a request waits for a lock. So TCP asks every few seconds whether the client is still there.
// With the limit above, a vanished host ends its wait after 15 s; without it, after 20 s.
constexpr int keepalive_idle = 10, keepalive_interval = 5, keepalive_count = 2;

// A client that sends many requests and reads no answer makes the system keep only so much for it, and not megabytes.
constexpr int unsent_max = 64 * 1024;

// Unix sockets have no such options, and need none.
void set_options(http_connection::socket& s)
{
    auto const set = [&](int level, int name, auto value) {
        ::setsockopt(s.native_handle(), level, name, &value, sizeof value);
    };
    set(IPPROTO_TCP, TCP_NODELAY, 1);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, unconfirmed_ms);
    set(IPPROTO_TCP, TCP_NOTSENT_LOWAT, unsent_max);
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, keepalive_idle);
    set(IPPROTO_TCP, TCP_KEEPINTVL, keepalive_interval);
    set(IPPROTO_TCP, TCP_KEEPCNT, keepalive_count);
}

// The socket at the path; nothing: there is something else, or nothing.
std::optional<struct stat> socket_at(std::string const& path)
{
    struct stat is {};
    return ::lstat(path.c_str(), &is) == 0 && S_ISSOCK(is.st_mode) ? std::optional(is) : std::nullopt;
}

// Whether the file of a Unix socket was left behind by a process that was killed.
bool is_abandoned(listen_address const& a)
{
    if (!socket_at(a.socket))
        return false;
    asio::io_context context;
    http_connection::socket probe(context, a.endpoint.protocol());
    boost::system::error_code ec;
    probe.connect(a.endpoint, ec);
    return ec == asio::error::connection_refused;
}

// Keeps other processes from listening on a socket in the same folder.
class locked_folder {
public:
    explicit locked_folder(std::string const& socket)
        : descriptor_(socket.empty() ? -1 : ::open(folder_of(socket).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))
    {
        // Another program may keep its own lock on the folder, so this one does not wait for ever.
        for (int i = 0; i < 50 && descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++i)
            std::this_thread::sleep_for(20ms);
    }
    ~locked_folder()
    {
        if (descriptor_ >= 0)
            ::close(descriptor_);
    }
    locked_folder(locked_folder const&) = delete;
    locked_folder& operator=(locked_folder const&) = delete;

private:
    static std::string folder_of(std::string const& path)
    {
        auto const slash = path.rfind('/');
        return slash == path.npos ? "." : path.substr(0, slash + 1);
    }

    int const descriptor_;
};

}  // namespace

http_server::http_server(asio::any_io_executor of_api, api& a, connection_shares& connections,
                         std::vector<asio::any_io_executor> of_connections, std::shared_ptr<asio::ssl::context> tls)
    : executor_(of_api),
      api_(a),
      connections_(connections),
      of_connections_(std::move(of_connections)),
      tls_(std::move(tls)),
      acceptor_(of_api),
      room_(of_api)
{
}

void http_server::listen(listen_address const& a)
{
    acceptor_.open(a.endpoint.protocol());
    if (a.socket.empty())
        acceptor_.set_option(asio::socket_base::reuse_address(true));
    {
        // Another start must not find the new socket before this server listens, and take it for abandoned.
        locked_folder const alone(a.socket);
        bind(a);
        acceptor_.listen();
    }
    if (auto const made = socket_at(a.socket)) {
        socket_path_ = a.socket;
        socket_inode_ = made->st_ino;
    }
    url_ = url_of(a, acceptor_.local_endpoint());
    if (tls_ && a.socket.empty())
        url_.insert(4, "s");  // https://
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->accept(); }, asio::detached);
}

void http_server::bind(listen_address const& a)
{
    boost::system::error_code ec;
    acceptor_.bind(a.endpoint, ec);
    if (ec == asio::error::address_in_use && !a.socket.empty() && is_abandoned(a)) {
        ::unlink(a.socket.c_str());
        ec.clear();
        acceptor_.bind(a.endpoint, ec);
    }
    if (ec)
        throw boost::system::system_error(ec);
}

void http_server::stop()
{
    stopping_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    if (auto const there = socket_at(socket_path_); there && there->st_ino == socket_inode_)
        ::unlink(socket_path_.c_str());
    connections_.for_each([](client_connection& c) { c.stop(); });
}

void http_server::close()
{
    connections_.for_each([](client_connection& c) { c.close(); });
}

asio::awaitable<void> http_server::accept()
{
    asio::steady_timer pause(executor_);
    while (!stopping_) {
        if (connections_.is_full()) {
            co_await acceptor_.async_wait(asio::socket_base::wait_read, runtime::as_result);
            connections_.make_room();  // HTTP lets a server close idle connections at any time
            room_.expires_after(10ms);
            co_await room_.async_wait(runtime::as_result);
            continue;
        }
        auto const& thread = of_connections_[accepted_++ % of_connections_.size()];
        auto [ec, s] = co_await acceptor_.async_accept(thread, runtime::as_result);
        if (stopping_)
            co_return;
        if (ec) {  // such as too many open files
            pause.expires_after(100ms);
            co_await pause.async_wait(runtime::as_result);
            continue;
        }
        start(std::move(s));
    }
}

void http_server::start(http_connection::socket s)
{
    set_options(s);
    auto peer = peer_of(s);
    auto const c = http_connection::make(std::move(s), accepted_, api_, executor_, tls_.get());
    connections_.add(accepted_, c, std::move(peer));
    c->start([self = shared_from_this(), number = accepted_] {
        self->connections_.remove(number);
        self->room_.cancel();
    });
}

}  // namespace redlock::serve
