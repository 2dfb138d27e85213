#include "stores/mysql/session.hpp"

#include "stores/mysql/schema.hpp"
#include "stores/mysql/statements.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <errmsg.h>
#include <system_error>
#include <utility>

namespace redlock::my {

namespace {

// Behind the library's words stands a number: "… (111)".
std::string with_words(std::string text)
{
    auto const bracket = text.rfind('(');
    auto const number = bracket == text.npos ? 0 : std::atoi(text.c_str() + bracket + 1);
    return number > 0 ? text + ": " + std::generic_category().message(number) : text;
}

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout, owner& o)
    : client_session(std::move(e), connect_timeout, o), address_(std::move(a))
{
}

session::~session()
{
    disconnect();
}

// Connecting

void session::connect()
{
    set_limit(3 * connect_timeout_);
    if (address_->host.empty()) {
        places_ = {""};
        return connect_next();
    }
    look_up(address_->host, [this](auto const& found, auto const& why) {
        if (found.empty())
            return refuse(errc::node_unreachable, why);
        places_ = found;
        connect_next();
    });
}

void session::connect_next()
{
    auto const place = places_.front();
    places_.erase(places_.begin());
    client_ = std::make_shared<client>(executor_, address_, place, [this] {  // the end, or why: an answer to whatever is asked next
        if (up() && questions_.empty())
            ask("DO 0", [](answer const&) {});
    });
    client_->connect([this](answer const& a) {
        if (a.error == 0)
            return greet();
        bool const not_there = a.error == CR_CONN_HOST_ERROR || a.error == CR_CONNECTION_ERROR;
        if (not_there && !places_.empty()) {
            client_->close();
            return connect_next();
        }
        auto why = why_not(a);
        if (not_there)
            why.text = with_words(std::move(why.text)) + (address_->socket.empty() ? fmt::format(", port {}", address_->port) : "");
        else if (why.error == errc::permission_denied)
            why.text += way_out(rights_to_lock, address_->database, address_->user + "@%");
        cut(std::move(why));
    });
}

std::string session::for_our_table(std::string_view text) const
{
    return for_table(text, address_->options.table);
}

// Questions

void session::ask(std::string text, std::function<void(answer const&)> tell)
{
    questions_.push_back({std::move(text), std::move(tell)});
    if (!sent_at_)
        send();
}

void session::send()
{
    sent_at_ = clock::now();
    client_->ask(questions_.front().text, [this](answer a) { answered(std::move(a)); });
}

// A procedure that has failed may have left what it had begun.
void session::answered(answer a)
{
    auto const self = shared_from_this();
    auto const before = life();
    auto const tell = std::move(questions_.front().tell);
    questions_.pop_front();
    sent_at_.reset();
    a.text = presentable(std::move(a.text), *address_);
    bool const over = ends_connection(a.error);
    if (a.error != 0 && !over)
        questions_.push_front({"ROLLBACK", [](answer const&) {}});
    if (!over && !questions_.empty())
        send();
    tell(a);
    if (over && before == life())
        refuse(errc::node_unreachable, a.text);
}

void session::carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done)
{
    ask(put(c, tombstone, address_->options.table),
        [this, &c, done = std::move(done)](answer const& a) { deliver(done, interpret(c, a)); });
}

// Whether there is still such a connection is known only from who asks to end it.
void session::end(sql::backend const& b, std::function<void(bool)> done)
{
    ask(fmt::format("KILL CONNECTION {}", b.id), [done = std::move(done)](answer const& a) { done(a.error == no_such_thread); });
}

void session::clean()
{
    ask(for_our_table("CALL redlock_clean()"), [](answer const&) {});
}

// The end

void session::go_silent()
{
    if (client_)
        client_->abandon();
    questions_.clear();
}

void session::disconnect()
{
    sent_at_.reset();
    if (client_)
        client_->close();
    client_.reset();
}

void session::tell_all_lost()
{
    for (auto const& q : std::exchange(questions_, {}))
        q.tell({.error = CR_SERVER_LOST, .text = "the connection was lost"});
}

}  // namespace redlock::my
