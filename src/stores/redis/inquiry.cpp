#include "stores/redis/inquiry.hpp"

#include "stores/redis/decoder.hpp"

#include <exception>
#include <utility>

namespace redlock::stores::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds ask_every = 1s;

}  // namespace

inquiry::inquiry(std::vector<net::url> const& servers, bool of_sentinels, redis::request question,
                 manager_options const& c, transport_factory const& make_transport, owner& o)
    : question_(std::move(question)), limit_(c.connect_timeout), owner_(o)
{
    for (auto const& where : servers)
        servers_.push_back({where, {where, c.credentials, of_sentinels}, make_transport(where)});
}

void inquiry::start(std::shared_ptr<runtime::runtime> r)
{
    runtime_ = std::move(r);
    for (auto& s : servers_)
        s.transport->start(runtime_, *this);
}

void inquiry::close()
{
    again_.clear();
    late_.clear();
    for (auto& s : servers_)
        s.transport->close();
    runtime_.reset();
}

void inquiry::abandon()
{
    again_.clear();
    late_.clear();
    for (auto& s : servers_)
        s.transport->abandon();
    runtime_.reset();
}

void inquiry::ask()
{
    if (std::exchange(asking_, true))
        return;
    again_.clear();
    failed_ = 0;
    trouble_ = {};
    ask_current();
}

void inquiry::ask_current()
{
    asked_ = std::make_shared<batch>();
    if (up_) {
        asked_->request.append(question_);
        runtime_->set(late_, runtime_->now() + limit_);
        return current().transport->send(asked_);
    }
    try {
        current().hello.say(asked_->request);
    } catch (std::exception const& e) {
        return ended({.error = errc::node_unreachable, .text = e.what()});
    }
    asked_->request.append(question_);
    current().transport->open(asked_);
}

// The host name is resolved by now; the transport has its own timeout for that.
void inquiry::connecting() { runtime_->set(late_, runtime_->now() + 3 * limit_); }

void inquiry::answered(std::shared_ptr<batch> const& b)
{
    auto const questions = b->request.commands();
    if (b != asked_ || !b->has(questions - 1))
        return;  // the connection has ended; the transport calls ended(), too
    late_.clear();
    asked_.reset();
    auto const why = check_answer(*b);
    if (!runtime_)
        return;  // the owner has closed this inquiry
    if (why.error) {
        note(why);
        return current().transport->cut();
    }
    if (!std::exchange(up_, true))
        current().transport->server_accepted();
    settled();
}

node_reply inquiry::check_answer(batch const& answer)
{
    auto const last = answer.request.commands() - 1;
    if (last > 0 && answer.replies[0].is_error())  // the reply to HELLO
        return decode_error(answer.replies[0].text, {current().hello.secret()});
    return owner_.answered(answer.replies[last], current().where);
}

void inquiry::ended(node_reply why)
{
    late_.clear();
    up_ = false;
    if (!asking_)
        return;
    if (std::exchange(asked_, {}))
        note(why);
    current_ = (current_ + 1) % servers_.size();
    if (++failed_ < servers_.size())
        return ask_current();
    owner_.nobody_knows(std::exchange(trouble_, {}));
    if (runtime_)
        settled();
}

// An error that a server answers is more useful than the error that another server cannot be reached.
void inquiry::note(node_reply const& why)
{
    if (!trouble_.error || trouble_.error == errc::node_unreachable)
        trouble_.error = why.error;
    auto const& where = current().where;
    trouble_.text += (trouble_.text.empty() ? "" : "; ") + net::to_string({where.host, where.port}) + ": " + why.text;
}

void inquiry::settled()
{
    asking_ = false;
    runtime_->set(again_, runtime_->now() + ask_every);
}

}  // namespace redlock::stores::redis
