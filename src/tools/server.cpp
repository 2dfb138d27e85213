#include "tools/server.hpp"

#include "redis/secrets.hpp"
#include "redis/tls.hpp"
#include "redis/url.hpp"
#include "tools/output.hpp"
#include "tools/stores.hpp"

#include <redlock/error.hpp>
#include <redlock/lock_manager.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancel_after.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/redis/connection.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::tools {

namespace {

using boost::redis::resp3::type;
using resp_node = boost::redis::resp3::basic_node<std::string>;

// The next reply: a node, and, of an aggregate, those behind it that are deeper.
reply take(std::span<resp_node const>& nodes)
{
    auto const& head = nodes.front();
    reply r;
    auto const depth = head.depth;
    nodes = nodes.subspan(1);
    switch (head.data_type) {
    case type::null:
        return r;
    case type::simple_error:
    case type::blob_error:
        r.what = reply::kind::error;
        r.text = head.value;
        return r;
    case type::array:
    case type::map:
    case type::set:
    case type::push:
    case type::attribute:
        r.what = reply::kind::list;
        while (!nodes.empty() && nodes.front().depth > depth)
            r.elements.push_back(take(nodes));
        return r;
    default:
        r.what = reply::kind::text;
        r.text = head.value;
        return r;
    }
}

bool leads_to_a_server(redis::url const& u)
{
    return u.wrong.empty() && u.topology == redis::topology::server && u.transport != redis::transport::memory;
}

}  // namespace

struct server::connection {
    connection(asio::any_io_executor e, redis::url u, redlock::config const& c, ask_limits l)
        : executor(std::move(e)),
          where(std::move(u)),
          tls(where.transport == redis::transport::tls ? redis::tls_settings(where, c.tls) : redis::tls_settings()),
          connect_timeout(c.connect_timeout),
          limits(l),
          name(where.name())
    {
    }

    boost::redis::config settings() const
    {
        boost::redis::config c;
        c.use_ssl = where.transport == redis::transport::tls;
        if (where.transport == redis::transport::unix_socket)
            c.unix_socket = where.path;
        else
            c.addr = {where.host, where.port};
        c.resolve_timeout = c.connect_timeout = c.ssl_handshake_timeout = connect_timeout;
        c.health_check_interval = c.reconnect_wait_interval = std::chrono::seconds(0);
        c.use_setup = true;  // we greet the server ourselves, to hear its own words when it refuses
        c.setup.clear();
        return c;
    }

    boost::redis::request greeting() const
    {
        boost::redis::request r;
        if (where.password.empty())
            r.push("HELLO", "3", "SETNAME", "redlock");
        else
            r.push("HELLO", "3", "AUTH", where.user.empty() ? "default" : where.user, where.password, "SETNAME", "redlock");
        if (where.database != 0)
            r.push("SELECT", std::to_string(where.database));
        return r;
    }

    // Each time a new one: what a connection has failed with is told by its run, which ends then.
    void open()
    {
        socket = std::make_shared<boost::redis::connection>(executor, tls.context(), boost::redis::logger(boost::redis::logger::level::disabled));
        why = std::make_shared<error_code>();
        socket->async_run(settings(), [keep = socket, told = why](error_code ec) {
            if (!*told)
                *told = ec ? ec : asio::error::eof;
            keep->cancel(boost::redis::operation::exec);  // who asks would wait for another connection
        });
    }

    void close(error_code ec)
    {
        socket->cancel();
        *why = ec;
    }

    // @return as many answers as there are commands; if none comes, silence to each
    asio::awaitable<std::vector<reply>> exchange(boost::redis::request request, std::chrono::milliseconds limit)
    {
        trouble.clear();
        commands += static_cast<std::int64_t>(request.get_commands());
        std::vector<resp_node> nodes;
        // It takes every answer, errors included: one that complained would end the connection, and the words of the server were lost.
        auto const collect = [&nodes](auto event, boost::redis::resp3::node_view const& n, error_code&) {
            if (event == boost::redis::any_adapter::parse_event::node)
                nodes.push_back({n.data_type, n.aggregate_size, n.depth, std::string(n.value)});
        };
        boost::redis::any_adapter adapter{boost::redis::any_adapter::impl_t(collect)};
        auto [ec, size] = co_await socket->async_exec(request, std::move(adapter),
                                                      asio::cancel_after(limit, asio::as_tuple(asio::deferred)));
        if (ec) {
            auto const told = *why ? why->message() : "it has not answered within " + in_words(limit);
            if (!*why || !is_greeted)
                trouble = told;
            close(ec);
            co_return std::vector<reply>(request.get_commands(), reply{reply::kind::silence, told, {}});
        }
        std::vector<reply> answers;
        for (std::span<resp_node const> rest(nodes); !rest.empty();) {
            answers.push_back(take(rest));
            auto& text = answers.back().text;
            if (!answers.back().failed())
                continue;
            commands -= !text.starts_with("WRONGTYPE");  // the server has refused the command before it carried it out
            text = redis::without(std::move(text), where.password);  // an error may quote our words
        }
        co_return answers;
    }

    asio::any_io_executor const executor;
    redis::url const where;
    redis::tls_settings const tls;
    std::chrono::milliseconds const connect_timeout;
    ask_limits const limits;
    std::string const name;
    std::shared_ptr<boost::redis::connection> socket;
    std::shared_ptr<error_code> why;  // the latest one has ended
    bool is_greeted = false;          // on the latest one
    std::string trouble;
    std::int64_t commands = 0;
};

server::server(asio::any_io_executor e, std::string const& url, redlock::config const& c, ask_limits l)
    : connection_(std::make_shared<connection>(std::move(e), redis::parse_url(url), c, l))
{
}

server::~server()
{
    if (connection_->socket)
        connection_->socket->cancel();
}

std::string const& server::name() const noexcept
{
    return connection_->name;
}

std::string const& server::trouble() const noexcept
{
    return connection_->trouble;
}

std::int64_t server::commands() const noexcept
{
    return connection_->commands;
}

asio::awaitable<reply> server::ask(std::vector<std::string> words)
{
    std::vector<std::vector<std::string>> question;
    question.push_back(std::move(words));
    auto answers = co_await ask_all(std::move(question));
    co_return std::move(answers.front());
}

asio::awaitable<std::vector<reply>> server::ask_all(std::vector<std::vector<std::string>> questions)
{
    auto const c = connection_;
    if (!c->socket || *c->why) {
        c->open();
        c->is_greeted = false;
        // The greeting goes alone: a server that refuses the user would answer the questions as to the default user.
        auto const greeted = co_await c->exchange(c->greeting(), c->limits.connect);
        auto const refused = std::ranges::find_if(greeted, &reply::failed);
        if (refused != greeted.end()) {
            c->close(asio::error::access_denied);
            co_return std::vector<reply>(questions.size(), *refused);
        }
        c->is_greeted = true;
    }
    boost::redis::request request;
    for (auto const& words : questions) {
        if (words.size() == 1)
            request.push(words.front());
        else  // push_range leaves out a command without arguments
            request.push_range(words.front(), words.begin() + 1, words.end());
    }
    co_return co_await c->exchange(std::move(request), c->limits.answer);
}

bool is_server(std::string const& url)
{
    return leads_to_a_server(redis::parse_url(url));
}

std::string name_of(std::string const& url)
{
    auto const u = redis::parse_url(url);
    if (u.wrong.empty())
        return u.name();
    try {
        redlock::config c;
        c.nodes = {url};
        c.stores = known_stores();
        asio::io_context never_run;
        return lock_manager(never_run.get_executor(), c).stats().nodes.front().name;
    } catch (std::invalid_argument const&) {
        return url.substr(0, url.find("://")) + "://…";  // the rest may contain a password
    }
}

}  // namespace redlock::tools
