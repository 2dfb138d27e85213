#include "stores/redis/connection.hpp"

#include "stores/redis/decoder.hpp"
#include "core/backoff.hpp"
#include "core/quarantine.hpp"
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
constexpr unsigned hung_up_max = 2;  // once may be a server that is being stopped

bool is_forbidden(reply const& r) { return r.is_error() && decode_error(r.text, {}).error == errc::permission_denied; }

}  // namespace

connection::connection(net::url const& server, manager_options const& c, owner& o, std::shared_ptr<transport> t)
    : greeting_(server, c),
      is_chosen_(server.topology == net::topology::sentinel),
      node_timeout_(c.node_timeout),
      max_ttl_(c.max_ttl),
      greeting_limit_((server.transport == net::transport::tls ? 3 : 2) * c.connect_timeout),
      owner_(o),
      transport_(std::move(t))
{
}

void connection::start(std::shared_ptr<runtime::runtime> r)
{
    runtime_ = std::move(r);
    transport_->start(runtime_, *this);
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
    look_soon_.clear();
    transport_->close();
    in_flight_.clear();
    runtime_.reset();
}

void connection::abandon()
{
    up_ = false;
    retry_.clear();
    deadline_.clear();
    look_soon_.clear();
    in_flight_.clear();
    transport_->abandon();
    runtime_.reset();
}

// Connecting and greeting

void connection::attempt()
try {
    refused_ = false;
    knows_ping_ = false;
    asked_ = std::make_shared<batch>();
    if (asks_for_ping_)
        asked_->request.push("PING");
    else
        greeting_.ask(asked_->request, random_word());
    transport_->open(asked_);
} catch (std::exception const& e) {  // no password, or no memory
    asked_.reset();
    ended({.error = errc::node_unreachable, .text = e.what()});  // out of memory
}

// After the answer to PING. A server that answers it, and ends the connection at HELLO, cannot be used. A server that
// has too many clients refuses PING, and then the answer is the reason.
void connection::greet()
try {
    if (!asked_->has(0))
        return;  // the connection has ended
    asks_for_ping_ = false;
    auto const& pong = asked_->replies[0];
    auto const why = pong.is_error() ? decode_error(pong.text, {greeting_.secret()}) : node_reply();
    if (why.error && why.error != errc::authentication_failed && why.error != errc::permission_denied)
        return give_up_greeting(why);
    knows_ping_ = true;
    asked_ = std::make_shared<batch>();
    greeting_.ask(asked_->request, random_word());
    transport_->send(asked_);
} catch (std::exception const& e) {  // no password, or no memory
    give_up_greeting({.error = errc::node_unreachable, .text = e.what()});
}

void connection::give_up_greeting(node_reply why)
{
    refused_ = true;
    set_trouble(std::move(why));
    transport_->cut();
}

// Connecting and TLS have their own timeouts; this timeout is for a server that does not answer the greeting.
void connection::connecting() { runtime_->set(deadline_, runtime_->now() + greeting_limit_); }

void connection::greeted()
{
    if (!asked_->has(asked_->request.commands() - 1))
        return;  // the connection has ended, or was never made
    auto const server = greeting_.read({asked_->replies.data(), asked_->request.commands()});
    if (looks_elsewhere(server)) {
        looks_elsewhere_ = true;
        transport_->server_accepted();
        return transport_->cut();
    }
    if (auto refusal = check_server(server); refusal.error) {
        return give_up_greeting(std::move(refusal));
    }
    transport_->server_accepted();
    auto const before = std::exchange(lingering_, number_);
    if (++number_ == 0)
        ++number_;
    trouble_ = {};
    hung_up_ = 0;
    up_ = true;
    up_since_ = runtime_->now();
    looked_at_ = 0;
    suspected_ = false;
    asked_.reset();
    look_again_later();
    owner_.log(log_level::info, "connected");
    if (server.record)
        owner_.told(*server.record);
    owner_.connected(identity());
    if (auto const earlier = std::exchange(client_id_, server.client_id);
        !earlier.empty() && !client_id_.empty() && up_)
        end_earlier(earlier, before);
    if (up_ && (answers_.policy || is_fresh()))
        look();  // the greeting did not know the policy of the log
}

// All addresses of a name are looked at once. One whose server cannot vote, such as a replica, does not matter.
bool connection::looks_elsewhere(introduction const& server)
{
    if (server.refusal.error || server.run_id.empty())
        return false;
    auto found = census_.met(transport_->address(), server.run_id, transport_->addresses());
    other_address_ = std::move(found.other);
    if (found.next.empty())
        return false;
    transport_->prefer(std::move(found.next));
    return true;
}

// @return with an error: why the server cannot vote
node_reply connection::check_server(introduction const& server)
{
    if (server.refusal.error)
        return server.refusal;
    if (auto const other = std::exchange(other_address_, {}); !other.empty()) {
        census_.clear();
        return {.error = errc::unsupported_server,
                .text = fmt::format("its name leads to several servers, at {} and {}: {}", transport_->address(), other,
                                    core::one_address_each)};
    }
    answers_ = {.policy = server.tells_of_policy && greeting_.wants_record(),
                .memory = server.tells_of_memory,
                .record = greeting_.wants_record()};
    policy_ = server.policy;
    if (server.record)
        memory_.told(server.record->memory, runtime_->now());
    if (server.run_id.empty() || server.run_id != run_id_)
        client_id_.clear();  // a restarted server assigns the ids anew
    run_id_ = server.run_id;
    if (auto why = is_chosen_ ? std::string() : memory_.why_shared(max_ttl_, runtime_->now()); !why.empty())
        return {.error = errc::unsupported_server, .text = std::move(why)};
    return owner_.check_server(server);
}

server_identity connection::identity() const
{
    if (!greeting_.needs_record())
        return {};
    if (memory_.word().empty())
        return {.durable = false, .restarted = true, .began = runtime_->now()};
    return memory_.identity();
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
    try {
        in_flight_.push_back(b);
        transport_->send(b);
    } catch (std::exception const& e) {  // out of memory: the transport will never answer the batch
        std::erase(in_flight_, b);
        owner_.answered(*b);
        transport_->cut();
        owner_.log(log_level::error, e.what());
    }
}

void connection::answered(std::shared_ptr<batch> const& b)
{
    if (b == asked_)
        return asks_for_ping_ ? greet() : greeted();
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
    if (!up_) {
        knows_ping_ = false;  // this client ends the connection, not the server
        return transport_->cut();
    }
    if (!in_flight_.empty() && in_flight_.front()->number == looked_at_) {
        if (!std::exchange(suspected_, true))
            return runtime_->set(deadline_, runtime_->now() + time_to_read);
        owner_.log(log_level::warning, "it has stopped answering");
        return transport_->cut();
    }
    suspected_ = false;
    look_again_later();
    send_heartbeat();
    if (!in_flight_.empty())
        looked_at_ = in_flight_.front()->number;
}

// The heartbeat asks for what can change during a connection:
// - the policy of the log, for the signature of the record;
// - the eviction policy;
// - the record: an operator may flush the keys, or the server may replace them with those of another server.
void connection::send_heartbeat() { look(); }

void connection::look(std::string_view verdict, slot_set const* vouched, std::optional<commands::found> found)
{
    if (!up_)
        return;
    auto const b = take_batch();
    auto asked = answers_;
    asked.signed_as = policy_;
    asked.found = found;
    if (asked.policy)
        greeting::ask_for_policy(b->request);
    if (asked.memory)
        b->request.push("INFO", "memory");
    if (asked.record)
        greeting_.record().ask(b->request,
                               {.word = random_word(), .policy = policy_, .verdict = verdict, .vouched = vouched});
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
    if (asked.policy) {
        policy_ = read_log_policy(*reply);
        answers_.policy = !is_forbidden(*reply++);
    }
    if (asked.memory) {
        answers_.memory = !is_forbidden(*reply);
        if (auto const why = greeting_.may_evict(*reply++); why.error) {
            owner_.log(log_level::warning, why.error.message() + ": " + why.text);
            return transport_->cut();
        }
    }
    bool const told = asked.record && looked_at_record(*reply);
    if (up_ && asked.found)
        owner_.founding_ended(asked.found->only_asks && told && memory_.says_again(max_ttl_, runtime_->now()));
    if (up_ && asked.policy && policy_ != asked.signed_as)
        look();
    if (up_ && is_fresh())
        runtime_->set(look_soon_, runtime_->now() + core::look_soon_after);
}

// If the record is another one, the client connects again: the greeting handles this like a restart.
// @return whether the server has told the record that the client knows
bool connection::looked_at_record(reply const& answer)
{
    server_record record;
    auto const why = greeting_.record().read(answer, greeting_.secret(), record);
    if (!why.error) {
        bool const is_other = !memory_.word().empty() && record.memory.word != memory_.word();
        if (is_other) {
            owner_.log(log_level::warning, "its record is gone or begins anew, so it may have forgotten locks");
            transport_->cut();
            return false;
        }
        bool const is_first = memory_.word().empty();
        bool const has_changed = memory_.told(record.memory, runtime_->now());
        if (has_changed || is_first)
            owner_.learned(identity());
        owner_.told(record);
        return true;
    }
    if (why.error == errc::script_missing) {
        auto const b = take_batch();
        b->request.push("SCRIPT", "LOAD", record_script.source);
        send(b);
        return false;
    }
    if (why.error == errc::wrong_cluster_node) {
        owner_.record_has_moved();
        return false;
    }
    if (why.error == errc::node_read_only || greeting_.refusal_without_record(why).error) {
        owner_.log(log_level::warning, why.error.message() + ": " + why.text);
        transport_->cut();  // the next greeting says what is wrong
        return false;
    }
    answers_.record = why.error != errc::permission_denied;
    lacks_record(why);
    return false;
}

void connection::lacks_record(node_reply const& why)
{
    if (!std::exchange(logged_no_record_, true))
        owner_.log(log_level::warning,
                   "it keeps no record of its memory, so the client does not notice if it loses its keys: " + why.text);
}

bool connection::is_fresh() const
{
    return greeting_.wants_record() && core::is_new(identity(), core::founding_time, runtime_->now());
}

void connection::ask_for_word(batch& b) const
{
    if (!greeting_.needs_record())
        return;
    b.word_at = b.request.commands();
    b.request.push("GET", greeting_.record().key());
}

bool connection::trusts(batch const& b) const
{
    if (b.word_at == 0)
        return true;
    auto const& word = memory_.word();
    if (word.empty() || !b.has(b.word_at) || b.replies[b.word_at].is_error())
        return false;
    std::string_view const record = b.replies[b.word_at].text;
    return record.substr(0, record.find(' ')) == word;
}

std::string connection::random_word() { return fmt::format("{:016x}", runtime_->random()[0]); }

void connection::ended(node_reply why)
{
    bool const was_up = std::exchange(up_, false);
    auto const asked = std::exchange(asked_, {});  // keeps its replies alive until the end of this function
    if (std::exchange(looks_elsewhere_, false))
        return attempt();
    bool const is_silent = !was_up && !refused_ && asked && !asked->has(0);
    hung_up_ = is_silent && knows_ping_ ? hung_up_ + 1 : 0;
    asks_for_ping_ = is_silent;
    auto const now = runtime_->now();
    failures_ = was_up && now - up_since_ > core::reconnection_pause_max ? 0 : failures_ + 1;
    deadline_.clear();
    runtime_->set(retry_, now + pause());
    if (was_up && why.error != errc::unexpected_reply) {
        trouble_ = {};  // operations wait for the result of the first attempt to reconnect
        owner_.log(log_level::warning, "connection lost: " + why.text);
    } else if (!refused_ && asked && asked->has(0) && asked->replies[0].is_error()) {
        // A server that has too many clients, or requires a password, sends an error before it ends the connection.
        set_trouble(decode_error(asked->replies[0].text, {greeting_.secret()}));
    } else if (hung_up_ >= hung_up_max) {
        set_trouble(
            {.error = errc::unsupported_server,
             .text = "it answers PING, and ends the connection at HELLO, as a proxy does that does not know the "
                     "command; name the servers themselves: Redis 6 or newer, or Valkey"});
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
