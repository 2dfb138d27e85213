#include "stores/kit/session.hpp"

#include <boost/asio/ip/address.hpp>

#include <fcntl.h>
#include <unistd.h>

namespace redlock::stores::kit {

node_reply replaced()
{
    return {.untouched = true, .error = errc::node_read_only, .text = "another server has been promoted in its place"};
}

node_reply shared_backend()
{
    return {.untouched = true,
            .error = errc::unsupported_server,
            .text = "a pooler shares server connections between clients; see \"Poolers\" in docs/stores.md"};
}

void silence(int socket)
{
    if (auto const nowhere = socket >= 0 ? ::open("/dev/null", O_RDWR | O_CLOEXEC) : -1; nowhere >= 0) {
        ::dup2(nowhere, socket);
        ::close(nowhere);
    }
}

client_session::client_session(asio::any_io_executor e, std::chrono::milliseconds connect_timeout, owner& o)
    : executor_(std::move(e)), connect_timeout_(connect_timeout), owner_(&o)
{
}

void client_session::open()
{
    ++life_;
    state_ = state::connecting;
    connect();
}

void client_session::look_up(std::string const& host, address_handler then)
{
    error_code no_address;
    asio::ip::make_address(host, no_address);
    if (!no_address)
        return then({host}, {});
    if (!resolver_)
        resolver_.emplace(executor_);
    resolver_->async_resolve(host, "", in_this_life([host, then = std::move(then)](error_code ec, auto const& found) {
                                 std::vector<std::string> addresses;
                                 for (auto const& one : found)
                                     addresses.push_back(one.endpoint().address().to_string());
                                 then(addresses, "cannot resolve " + host + ": " + ec.message());
                             }));
}

void client_session::set_limit(std::chrono::milliseconds d)
{
    after(d, [this] {
        if (!up())
            refuse(errc::node_unreachable, "it does not answer");
    });
}

void client_session::after(std::chrono::milliseconds d, std::function<void()> then)
{
    limit_.emplace(executor_, clock::now() + d);
    limit_->async_wait(in_this_life([then = std::move(then)](error_code ec) {
        if (!ec)
            then();
    }));
}

bool client_session::admit(introduction server)
{
    server_ = std::move(server);
    limit_.reset();
    auto const life = life_;
    if (auto refusal = owner_->check_server(*this, server_); refusal.error)
        cut(std::move(refusal));
    if (life != life_)
        return false;
    state_ = state::up;
    return true;
}

void client_session::deliver(std::function<void(node_reply)> const& done, node_reply reply)
{
    bool const gone = reply.error == errc::unsupported_server;
    auto text = gone ? reply.text : std::string();
    auto const life = life_;
    done(std::move(reply));
    if (gone && life == life_)
        refuse(errc::unsupported_server, std::move(text));
}

void client_session::refuse(error_code error, std::string why)
{
    cut({.untouched = true, .error = error, .text = std::move(why)});
}

void client_session::cut(node_reply why)
{
    if (!busy())
        return;
    bool const was_up = up();
    auto const self = shared_from_this();
    take_down();
    fail_all();
    if (owner_)
        owner_->down(*this, was_up, std::move(why));
}

void client_session::close()
{
    owner_ = nullptr;
    auto const self = shared_from_this();
    take_down();
    fail_all();
}

void client_session::abandon()
{
    owner_ = nullptr;
    abandon_connection();
    take_down();
}

void client_session::take_down()
{
    ++life_;
    state_ = state::down;
    limit_.reset();
    resolver_.reset();
    disconnect();
}

}  // namespace redlock::stores::kit
