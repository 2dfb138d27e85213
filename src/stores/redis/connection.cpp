#include "stores/redis/connection.hpp"

#include "core/backoff.hpp"
#include "stores/redis/scripts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace redlock::stores::redis {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds time_to_read{10};  // for replies that have arrived and are not handled yet
constexpr std::size_t spare_max = 8;

bool is_forbidden(reply const& r)
{
    return r.is_error() && interpret_error(r.text, {}).error == errc::permission_denied;
}

}  // namespace

connection::connection(net::url const& server, config const& c, owner& o, std::shared_ptr<link> l)
    : password_(server.password),
      greeting_(server, c),
      node_timeout_(c.node_timeout),
      greeting_limit_((server.transport == net::transport::tls ? 3 : 2) * c.connect_timeout),
      owner_(o),
      link_(std::move(l)),
      history_(c.max_ttl)
{
}

void connection::start(std::shared_ptr<runtime::runtime> r)
{
    runtime_ = std::move(r);
    link_->start(runtime_, *this);
}

void connection::open()
{
    if (!std::exchange(begun_, true))
        attempt();
}

void connection::close()
{
    up_ = false;
    trouble_ = {.untouched = true, .error = errc::node_closed};
    retry_.clear();
    deadline_.clear();
    link_->close();
    in_flight_.clear();
    runtime_.reset();
}

void connection::abandon()
{
    up_ = false;
    retry_.clear();
    deadline_.clear();
    in_flight_.clear();
    link_->abandon();
    runtime_.reset();
}

// Connecting and greeting

void connection::attempt()
try {
    refused_ = false;
    asked_ = std::make_shared<batch>();
    greeting_.ask(asked_->request, random_word());
    link_->open(asked_);
} catch (std::exception const& e) {
    ended({.error = errc::node_unreachable, .text = e.what()});  // out of memory
}

// Connecting and TLS have their own timeouts; this timeout is for a server that does not answer the greeting.
void connection::connecting() { runtime_->set(deadline_, runtime_->now() + greeting_limit_); }

void connection::greeted()
{
    if (!asked_->has(asked_->request.commands() - 1))
        return;  // the connection has ended, or was never made
    auto const server = greeting_.read({asked_->replies.data(), asked_->request.commands()});
    if (auto refusal = check_server(server); refusal.error) {
        refused_ = true;
        set_trouble(std::move(refusal));
        return link_->cut();
    }
    link_->server_accepted();
    auto const before = std::exchange(lingering_, number_);
    if (++number_ == 0)
        ++number_;
    trouble_ = {};
    up_ = true;
    up_since_ = runtime_->now();
    looked_at_ = 0;
    suspected_ = false;
    asked_.reset();
    look_again_later();
    owner_.log(log_level::info, "connected");
    owner_.connected(history_.identity());
    owner_.met_settings(server.other_settings);
    if (auto const earlier = std::exchange(client_id_, server.client_id);
        !earlier.empty() && !client_id_.empty() && up_)
        end_earlier(earlier, before);
}

// @return with an error: why the server cannot vote
node_reply connection::check_server(introduction const& server)
{
    if (!server.tells_of_itself)
        return server.refusal;
    answers_ = {.log = server.tells_of_log, .memory = server.tells_of_memory, .life = server.life.has_value()};
    if (server.tenure) {
        history_.greeted(server.run_id, *server.tenure, runtime_->now());
    } else {
        history_.greeted(server.run_id, server.uptime, server.log, runtime_->now(), server.life);
        if (server.is_replica)
            history_.met_replica();
    }
    if (server.no_life.error && !server.refusal.error)
        lacks_life(server.no_life);
    if (!history_.same_server())
        client_id_.clear();  // a restarted server assigns the ids anew
    return server.refusal.error ? server.refusal : owner_.check_server(server);
}

// The server may still hold bytes of the previous connection, and execute them after the client gave them up. So the
// client kills that connection first, if an access list allows CLIENT KILL.
void connection::end_earlier(std::string const& client_id, std::uint32_t lingering_before)
{
    auto const b = take_batch();
    b->request.push("CLIENT", "KILL", "ID", client_id);
    b->on_answer = [this, lingering_before](batch const& answer) {
        if (answer.has(0) && answer.replies[0].type == redlock::stores::redis::resp::type::number)
            lingering_ = lingering_before;
    };
    send(b);
}

// Sending and replies

void connection::send(std::shared_ptr<batch> const& b)
{
    b->sent = runtime_->now();
    b->number = ++sent_;
    b->connection = number_;
    in_flight_.push_back(b);
    try {
        link_->send(b);
    } catch (std::exception const& e) {  // out of memory: the link will never answer the batch
        owner_.log(log_level::error, e.what());
        std::erase(in_flight_, b);
        owner_.answered(*b);
        link_->cut();
    }
}

void connection::answered(std::shared_ptr<batch> const& b)
{
    if (b == asked_)
        return greeted();
    std::erase(in_flight_, b);
    if (b->on_answer && up_ && b->connection == number_)
        b->on_answer(*b);
    owner_.answered(*b);
    give_back(b);
}

std::shared_ptr<batch> connection::take_batch()
{
    if (spare_.empty())
        return std::make_shared<batch>();
    auto b = std::move(spare_.back());
    spare_.pop_back();
    return b;
}

void connection::give_back(std::shared_ptr<batch> b)
{
    b->clear();
    if (spare_.size() < spare_max)
        spare_.push_back(std::move(b));
}

// Heartbeats, and the end of the connection

void connection::look_again_later()
{
    runtime_->set(deadline_, runtime_->now() + std::max<std::chrono::milliseconds>(1s, node_timeout_));
}

// The client ends a connection if the server answers nothing between two heartbeats. It compares batches, not times.
//
// This process may have been paused. Then the event loop runs the alarms before it delivers the replies that arrived
// meanwhile. So the client waits once more, for `time_to_read`, before it ends the connection.
void connection::deadline_passed()
{
    if (!up_)
        return link_->cut();
    if (!in_flight_.empty() && in_flight_.front()->number == looked_at_) {
        if (!std::exchange(suspected_, true))
            return runtime_->set(deadline_, runtime_->now() + time_to_read);
        owner_.log(log_level::warning, "it has stopped answering");
        return link_->cut();
    }
    suspected_ = false;
    send_heartbeat();
    looked_at_ = in_flight_.front()->number;
    look_again_later();
}

// The heartbeat asks for what can change during a connection:
// - the log: its last state decides whether a restart loses locks;
// - the eviction policy;
// - the keys: an operator may flush them, or the server may replace them with those of another server.
void connection::send_heartbeat()
{
    auto const b = take_batch();
    auto const asked = answers_;
    if (asked.log)
        greeting::ask_for_log(b->request);
    if (asked.memory)
        b->request.push("INFO", "memory");
    if (asked.life)
        greeting_.ask_for_life(b->request, random_word());
    if (b->request.commands() == 0)
        b->request.push("PING");
    b->on_answer = [this, asked](batch const& answer) { looked(answer, asked); };
    send(b);
}

void connection::looked(batch const& answer, questions asked)
{
    if (!answer.has(answer.request.commands() - 1))
        return;
    auto reply = answer.replies.begin();
    if (asked.log) {
        history_.looked(greeting::read_log(reply[0], reply[1]), runtime_->now());
        answers_.log = !is_forbidden(reply[0]) && !is_forbidden(reply[1]);
        reply += greeting::log_questions;
    }
    if (asked.memory) {
        answers_.memory = !is_forbidden(*reply);
        if (auto const why = greeting_.may_evict(*reply++); why.error) {
            owner_.log(log_level::warning, why.error.message() + ": " + why.text);
            return link_->cut();
        }
    }
    if (asked.life)
        looked_at_life(*reply);
}

// If the server has lost its keys, the client reconnects: the greeting handles this like a restart.
void connection::looked_at_life(reply const& answer)
{
    std::optional<life_mark> life;
    auto const why = greeting_.read_life(answer, life);
    if (life && life->text != history_.mark()) {
        owner_.log(log_level::warning, "its life marker is gone or replaced, so it may have forgotten locks");
        return link_->cut();
    }
    owner_.met_settings(greeting::read_settings(answer));
    if (why.error == errc::node_read_only)  // a replica holds the keys of another server
        return link_->cut();
    if (why.error == errc::script_missing) {
        auto const b = take_batch();
        b->request.push("SCRIPT", "LOAD", life_script.source);
        return send(b);
    }
    if (why.error && !is_temporary(why.error))
        lacks_life(why);
}

void connection::lacks_life(node_reply const& why)
{
    answers_.life = is_temporary(why.error);
    if (!answers_.life && !std::exchange(logged_no_life_, true))
        owner_.log(log_level::warning,
                   "its life marker cannot be kept, so the client does not notice if it loses its keys while it runs: "
                       + why.text);
}

std::string connection::random_word() { return fmt::format("{:016x}", runtime_->random()[0]); }

void connection::ended(node_reply why)
{
    bool const was_up = std::exchange(up_, false);
    auto const asked = std::exchange(asked_, {});  // keeps its replies alive until the end of this function
    auto const now = runtime_->now();
    failures_ = was_up && now - up_since_ > core::reconnection_pause_max ? 0 : failures_ + 1;
    deadline_.clear();
    runtime_->set(retry_, now + pause());
    if (was_up && why.error != errc::unexpected_reply) {
        trouble_ = {};  // operations wait for the result of the first attempt to reconnect
        owner_.log(log_level::warning, "connection lost: " + why.text);
    } else if (!refused_ && asked && asked->has(0) && asked->replies[0].is_error()) {
        // A server that has too many clients, or requires a password, sends an error before it ends the connection.
        set_trouble(interpret_error(asked->replies[0].text, {password_}));
    } else if (!refused_) {
        set_trouble(std::move(why));
    }
    owner_.disconnected();
}

void connection::set_trouble(node_reply why)
{
    if (trouble_.error != why.error)
        owner_.log(log_level::warning, why.error.message() + ": " + why.text);
    trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
}

// Back-off with jitter. After a connection that was up for a while, the first pause is short.
clock::duration connection::pause()
{
    auto const fraction = static_cast<double>(runtime_->random()[0] >> 11) * 0x1p-53;  // below 1
    return core::reconnection_pause(failures_, fraction);
}

}  // namespace redlock::stores::redis
