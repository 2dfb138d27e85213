#include "stores/mysql/session.hpp"

#include "stores/mysql/schema.hpp"
#include "stores/mysql/statements.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <errmsg.h>
#include <system_error>
#include <utility>

namespace redlock::my {

namespace {

bool is_address(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

// Behind the library's words stands a number: "… (111)".
std::string with_words(std::string text)
{
    auto const bracket = text.rfind('(');
    auto const number = bracket == text.npos ? 0 : std::atoi(text.c_str() + bracket + 1);
    return number > 0 ? text + ": " + std::generic_category().message(number) : text;
}

answer lost()
{
    return {.error = CR_SERVER_LOST, .text = "the connection was lost"};
}

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout, owner& o)
    : executor_(std::move(e)), address_(std::move(a)), connect_timeout_(connect_timeout), owner_(&o)
{
}

session::~session()
{
    take_down();
}

// Connecting

void session::open()
{
    ++life_;
    state_ = state::connecting;
    set_limit(3 * connect_timeout_);
    auto const& host = address_->host;
    if (host.empty() || is_address(host)) {
        places_ = {host};
        return connect();
    }
    resolver_.emplace(executor_);
    resolver_->async_resolve(host, "", [self = shared_from_this(), life = life_](error_code ec, auto const& found) {
        if (life != self->life_)
            return;
        if (ec || found.empty())
            return self->end({.untouched = true, .error = errc::node_unreachable, .text = "cannot resolve " + self->address_->host + ": " + ec.message()});
        self->places_.clear();
        for (auto const& one : found)
            self->places_.push_back(one.endpoint().address().to_string());
        self->connect();
    });
}

void session::connect()
{
    auto const place = places_.front();
    places_.erase(places_.begin());
    client_ = std::make_shared<client>(executor_, address_, place, [this] {  // the end, or why: an answer to whatever is asked next
        if (state_ == state::up && questions_.empty())
            ask("DO 0", [](answer const&) {});
    });
    client_->connect([this](answer const& a) {
        if (a.error == 0)
            return greet();
        if ((a.error == CR_CONN_HOST_ERROR || a.error == CR_CONNECTION_ERROR) && !places_.empty()) {
            client_->close();
            return connect();
        }
        auto why = why_not(a);
        if (a.error == CR_CONN_HOST_ERROR || a.error == CR_CONNECTION_ERROR)
            why.text = with_words(std::move(why.text)) + (address_->socket.empty() ? fmt::format(", port {}", address_->port) : "");
        else if (why.error == errc::permission_denied)
            why.text += way_out(rights_to_lock, address_->database, address_->user + "@%");
        end(std::move(why));
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
    auto const life = life_;
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
    if (over && life == life_)
        end({.untouched = true, .error = errc::node_unreachable, .text = a.text});
}

void session::carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done)
{
    ask(put(c, tombstone, address_->options.table), [this, life = life_, &c, done = std::move(done)](answer const& a) {
        auto reply = interpret(c, a);
        bool const gone = reply.error == errc::unsupported_server;
        auto text = gone ? reply.text : std::string();
        done(std::move(reply));
        if (gone && life == life_)  // the next connection makes the tables, or says what is missing
            end({.untouched = true, .error = errc::unsupported_server, .text = std::move(text)});
    });
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

std::optional<clock::time_point> session::waiting_since() const
{
    return sent_at_;
}

// The end

void session::set_limit(std::chrono::milliseconds d)
{
    limit_.emplace(executor_, clock::now() + d);
    limit_->async_wait([self = shared_from_this(), life = life_](error_code ec) {
        if (!ec && life == self->life_ && self->state_ != state::up)
            self->end({.untouched = true, .error = errc::node_unreachable, .text = "it does not answer"});
    });
}

void session::end(node_reply why)
{
    if (state_ == state::down)
        return;
    bool const was_up = state_ == state::up;
    auto const self = shared_from_this();
    take_down();
    tell_all_lost();
    if (owner_)
        owner_->down(*this, was_up, std::move(why));
}

void session::close()
{
    owner_ = nullptr;
    auto const self = shared_from_this();
    take_down();
    tell_all_lost();
}

void session::abandon()
{
    owner_ = nullptr;
    if (client_)
        client_->abandon();
    take_down();
    questions_.clear();
}

void session::take_down()
{
    ++life_;
    state_ = state::down;
    limit_.reset();
    resolver_.reset();
    sent_at_.reset();
    if (client_)
        client_->close();
    client_.reset();
}

void session::tell_all_lost()
{
    for (auto const& q : std::exchange(questions_, {}))
        q.tell(lost());
}

}  // namespace redlock::my
