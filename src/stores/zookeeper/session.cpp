#include "stores/zookeeper/session.hpp"

#include "core/validity.hpp"
#include "runtime/as_result.hpp"
#include "stores/zookeeper/refusal.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string_view>
#include <utility>

namespace redlock::stores::zookeeper {

namespace {

std::string random_id()
{
    std::random_device random;
    return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// Finds the message of the operating system in a log line of the C client: "Socket 10.0.0.1:2181 zk retcode=-4,
// errno=111(Connection refused): server refused …".
std::string_view system_error_in(std::string_view words)
{
    auto const begin = words.find('(', std::min(words.find("errno="), words.size()));
    auto const end = words.find(')', std::min(begin, words.size()));
    return end == words.npos ? words : words.substr(begin + 1, end - begin - 1);
}

// The reply for a connection that failed before its first request.
node_reply unreachable(int code, std::string_view words)
{
    constexpr std::string_view asks_for_port =
        "; is this the client port of a ZooKeeper server (clientPort, mostly 2181)?";
    if (code == ZRUNTIMEINCONSISTENCY)
        return {.untouched = true,
                .error = errc::unexpected_reply,
                .text = fmt::format("the server there is not ZooKeeper{}", asks_for_port)};
    auto why = refusal(code, words);
    if (code == ZOPERATIONTIMEOUT)
        why.text = fmt::format("it does not answer as ZooKeeper does{}", asks_for_port);
    else if (code == ZCONNECTIONLOSS)
        why.text = fmt::format("{}{}", words.empty() ? "the connection ended" : system_error_in(words), asks_for_port);
    why.untouched = true;
    why.error = why.error == errc::authentication_failed ? why.error : errc::node_unreachable;
    return why;
}

}  // namespace

session::session(asio::any_io_executor e, address const& a, session_settings s, owner& o)
    : executor_(e),
      address_(a),
      settings_(std::move(s)),
      limits_{settings_.connect_timeout + a.options.timeout, 3 * a.options.timeout},
      layout_{a.options.chroot + "/redlock"},
      owner_(&o),
      resolver_(e),
      beat_(e)
{
}

asio::awaitable<node_reply> session::visit(member where)
{
    auto const self = shared_from_this();
    auto const [ec, results] = co_await resolver_.async_resolve(where.host, where.port, runtime::as_result);
    node_reply why{
        .untouched = true, .error = errc::node_unreachable, .text = "cannot resolve its name: " + ec.message()};
    for (auto const& r : results) {
        auto const endpoint = r.endpoint();
        auto became = outcome::expired;
        while (owner_ && became == outcome::expired)
            why = co_await live(where, endpoint, became);
        if (!owner_ || became == outcome::used)
            break;
    }
    co_return why;
}

// Runs one connection. @return why it has ended
asio::awaitable<node_reply> session::live(member const& where, asio::ip::tcp::endpoint endpoint, outcome& became)
{
    auto words = [weak = weak_from_this()](log_level level, std::string_view line) {
        if (auto const self = weak.lock(); self && self->owner_)
            self->settings_.log(level, line);
    };
    became = outcome::unreachable;
    owner_->next_connection();
    auto const server = server_ = std::make_shared<transport>(executor_, limits_, std::move(words), *owner_);
    if (!address_.user.empty())
        server->identify(address_.user + ":" + address_.password);
    auto const asked = clock::now();
    auto const opened = co_await server->open(endpoint, address_.options.session, id_);
    if (!owner_)
        co_return node_reply();
    if (opened.code == ZSESSIONEXPIRED) {
        became = outcome::expired;
        id_ = {};
        owner_->lost();
    }
    if (opened.code != ZOK)
        co_return unreachable(opened.code, server->words());
    id_ = server->session();
    timeout_ = server->timeout();
    uses_.begin(asked);
    auto const fresh_id = settings_.reads_only ? std::string() : random_id();
    auto const g = co_await greet(server, layout_, fresh_id);
    auto why = g.why;
    if (owner_ && !why.error)
        why = owner_->check_server(g);
    if (!owner_ || why.error) {
        server->close(ZCLOSING);
        co_return why;
    }
    became = outcome::used;
    asio::co_spawn(executor_, beat(shared_from_this(), server), asio::detached);
    owner_->up(g, fmt::format("connected to {}, with a session of {} ms", net::to_string(where), timeout_.count()));
    auto const code = co_await server->end();
    co_return refusal(code, server->words());
}

// Uses the session every sixth of its timeout, and notes the latest change.
asio::awaitable<void> session::beat(std::shared_ptr<session> self, std::shared_ptr<transport> server)
{
    auto& s = *self;
    while (s.owner_ && s.server_ == server) {
        auto const asked = clock::now();
        auto const a = co_await answer_of(server->get(s.layout_.locks(), false));
        if (a.code != ZOK || !s.owner_)
            co_return;
        s.uses_.add(asked, s.timeout_);
        s.owner_->heard(a.zxid);
        s.beat_.expires_after(s.timeout_ / 6);
        co_await s.beat_.async_wait(runtime::as_result);
    }
}

std::chrono::milliseconds session::promise(clock::time_point asked) const
{
    auto const certain = uses_.promise(asked, timeout_);
    auto const rounded = std::chrono::floor<std::chrono::milliseconds>(certain);
    return std::chrono::floor<std::chrono::milliseconds>(certain - core::drift(rounded, settings_.drift_factor));
}

// The end.

void session::close(bool for_good)
{
    owner_ = nullptr;
    resolver_.cancel();
    beat_.cancel();
    if (server_)
        for_good ? server_->end_session() : server_->close(ZCLOSING);
}

void session::abandon()
{
    owner_ = nullptr;
    if (server_)
        server_->abandon();
}

}  // namespace redlock::stores::zookeeper
