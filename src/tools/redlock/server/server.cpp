#include "tools/redlock/server/server.hpp"

#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/stores.hpp"
#include "net/secrets.hpp"
#include "net/url.hpp"
#include "runtime/as_result.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/hello.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/socket_transport.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace redlock::cli {

namespace {

using stores::redis::resp::type;

// Answers may be long: a list of thousands of keys, or the value of a key that is no lock.
constexpr stores::redis::resp::limits accepted{.text = 1024 * 1024, .elements = 4 * 1024 * 1024};

// Takes the next reply from @p parts. The elements of an aggregate are the deeper parts that follow it.
reply take(std::span<stores::redis::batch::part>& parts)
{
    auto& head = parts.front();
    parts = parts.subspan(1);
    switch (head.type) {
    case stores::redis::resp::type::null:
        return {};
    case stores::redis::resp::type::simple_error:
    case stores::redis::resp::type::blob_error:
        return {reply::kind::error, std::move(head.text), {}};
    case stores::redis::resp::type::array:
    case stores::redis::resp::type::map:
    case stores::redis::resp::type::set:
    case stores::redis::resp::type::push: {
        reply r{reply::kind::list, {}, {}};
        while (!parts.empty() && parts.front().depth > head.depth)
            r.elements.push_back(take(parts));
        return r;
    }
    default:
        return {reply::kind::text, std::move(head.text), {}};
    }
}

bool leads_to_a_server(net::url const& u)
{
    return u.wrong.empty() && u.topology == net::topology::server && u.transport != net::transport::memory;
}

}  // namespace

struct server::connection final : stores::redis::transport::owner {
    connection(asio::any_io_executor e, net::url u, redlock::manager_options const& c, ask_limits l)
        : runtime(runtime::make_system_runtime(e)),
          where(std::move(u)),
          limits(l),
          hello(where, c.credentials),
          name(where.name()),
          transport(stores::redis::make_socket_transport(where, c, accepted)),
          answer_comes(e)
    {
        transport->start(runtime, *this);
    }

    // Runs @p f on the strand, where the transport calls its owner, too.
    template <class F>
    void on_strand(F f)
    {
        asio::dispatch(runtime->strand(), std::move(f));
    }

    std::shared_ptr<stores::redis::batch> greeting()
    {
        auto b = std::make_shared<stores::redis::batch>();
        hello.say(b->request);
        if (where.database != 0)
            b->request.push("SELECT", where.database);
        return b;
    }

    // Ends the use of the connection. The next question opens another one.
    void give_up()
    {
        is_greeted = false;
        is_cut = is_open;
        if (is_cut)
            on_strand([this] { transport->cut(); });
    }

    // Lets the event loop notice first whether the connection has ended while the program waited for a person.
    asio::awaitable<void> catch_up()
    {
        for (int turn = 0; is_open && turn < 3; ++turn)
            co_await asio::post(asio::use_awaitable);
        while (is_cut) {
            answer_comes.expires_after(limits.connect);
            co_await answer_comes.async_wait(runtime::as_result);
        }
    }

    // @return one answer for each command; if the last one is missing, `silence` for each
    asio::awaitable<std::vector<reply>> exchange(std::shared_ptr<stores::redis::batch> b,
                                                 std::chrono::milliseconds limit)
    {
        trouble.clear();
        why.clear();
        auto const asked = b->request.commands();
        commands += static_cast<std::int64_t>(asked);
        b->keeps_parts = true;
        waits_for = b;
        answer_comes.expires_after(limit);
        on_strand([this, b] {
            if (is_open)
                return transport->send(b);
            is_open = true;
            transport->open(b);
        });
        co_await answer_comes.async_wait(runtime::as_result);
        waits_for.reset();
        if (!b->has(asked - 1)) {
            auto const told = !why.empty() ? why : "it has not answered within " + in_words(limit);
            if (why.empty() || !is_greeted)
                trouble = told;
            give_up();
            co_return std::vector<reply>(asked, reply{reply::kind::silence, told, {}});
        }
        std::vector<reply> answers;
        for (std::span rest(b->parts); !rest.empty();) {
            answers.push_back(take(rest));
            auto& last = answers.back();
            if (!last.failed())
                continue;
            last.said = last.text;
            commands -= !last.said.starts_with("WRONGTYPE");  // other errors: the server has not executed the command
            last.text = net::without(last.said, {hello.secret()});  // an error may quote the command
        }
        co_return answers;
    }

    void connecting() override {}
    void answered(std::shared_ptr<stores::redis::batch> const& b) override
    {
        if (b == waits_for && b->has(b->request.commands() - 1))
            answer_comes.cancel();
    }
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply reason) override
    {
        is_open = is_greeted = is_cut = false;
        why = reason.text;
        answer_comes.cancel();
    }

    std::shared_ptr<runtime::runtime> const runtime;
    net::url const where;
    ask_limits const limits;
    stores::redis::hello_command hello;
    std::string const name;
    std::shared_ptr<stores::redis::transport> const transport;
    asio::steady_timer answer_comes;  ///< expires at the timeout; an answer cancels it
    std::shared_ptr<stores::redis::batch> waits_for;
    bool is_open = false;
    bool is_greeted = false;
    bool is_cut = false;  ///< the connection was told to end
    std::string why;      ///< why the latest connection has ended
    std::string trouble;
    std::int64_t commands = 0;
};

server::server(asio::any_io_executor e, std::string const& url, redlock::manager_options const& c, ask_limits l)
    : connection_(std::make_shared<connection>(std::move(e), net::parse_url(url), c, l))
{
}

server::~server()
{
    connection_->on_strand([c = connection_] { c->transport->close(); });
}

std::string const& server::name() const noexcept { return connection_->name; }

std::string const& server::trouble() const noexcept { return connection_->trouble; }

std::int64_t server::commands() const noexcept { return connection_->commands; }

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
    co_await c->catch_up();
    if (!c->is_greeted) {
        // The greeting is sent alone. Otherwise a server that refuses the user would answer the questions as the
        // default user.
        std::shared_ptr<stores::redis::batch> greeting;
        try {
            greeting = c->greeting();
        } catch (std::exception const& e) {  // no password
            c->trouble = e.what();
            co_return std::vector<reply>(questions.size(), reply{reply::kind::silence, e.what(), {}});
        }
        auto const greeted = co_await c->exchange(greeting, c->limits.connect);
        auto const refused = std::ranges::find_if(greeted, &reply::failed);
        if (refused != greeted.end()) {
            c->give_up();
            co_return std::vector<reply>(questions.size(), *refused);
        }
        c->is_greeted = true;
        c->on_strand([c] { c->transport->server_accepted(); });
    }
    auto const b = std::make_shared<stores::redis::batch>();
    for (auto const& words : questions)
        b->request.push_range(words.front(), std::span(words).subspan(1));
    co_return co_await c->exchange(b, c->limits.answer);
}

bool is_server(std::string const& url) { return leads_to_a_server(net::parse_url(url)); }

bool is_cluster(std::string const& url) { return net::parse_url(url).topology == net::topology::cluster; }

std::string name_of(std::string const& url)
{
    auto const u = net::parse_url(url);
    if (u.wrong.empty())
        return u.name();
    try {
        redlock::manager_options c;
        c.nodes = {url};
        c.stores = known_stores();
        asio::io_context never_run;
        return lock_manager(never_run.get_executor(), c).stats().nodes.front().name;
    } catch (std::invalid_argument const&) {
        return url.substr(0, url.find("://")) + "://…";  // the rest may contain a password
    }
}

}  // namespace redlock::cli
