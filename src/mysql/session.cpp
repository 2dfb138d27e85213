#include "mysql/session.hpp"

#include "mysql/schema.hpp"
#include "mysql/statements.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <errmsg.h>
#include <utility>

namespace redlock::my {

namespace {

constexpr auto schema_version = "1";
constexpr auto set_up = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1, "
                        "SESSION innodb_lock_wait_timeout = {0}, SESSION lock_wait_timeout = {0}";
constexpr auto isolate = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";  // without gap locks, which would make strangers wait for each other
constexpr auto settings_text = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'server_id', 'hostname', 'port', 'read_only', "
                               "'innodb_read_only', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format')";
// Both numbers are of the statement's begin: their difference is the same however long the server runs.
constexpr auto uptime = "SELECT CAST(UNIX_TIMESTAMP() - variable_value AS SIGNED), CAST(variable_value AS SIGNED) FROM {}.global_status "
                        "WHERE variable_name = 'uptime'";

std::int64_t integer(std::string const& text)
{
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

bool is_address(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
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
        end(why_not(a));
    });
}

// The greeting: who it is, whether it may vote, and what it is to remember of us.

// Ends the connection unless it succeeds.
void session::request(std::string text, std::function<void(answer const&)> then)
{
    ask(std::move(text), [this, then = std::move(then)](answer const& a) {
        if (a.error == 0)
            return then(a);
        end(why_not(a));
    });
}

void session::greet()
{
    state_ = state::greeting;
    auto const patience = std::chrono::ceil<std::chrono::seconds>(address_->options.timeout).count();
    request(fmt::format(set_up, patience), [](answer const&) {});
    request(isolate, [](answer const&) {});
    request(settings_text, [this](answer const& a) {
        auto const s = read_settings(a);
        if (!s.writable)
            return end({.untouched = true, .error = errc::node_read_only, .text = "it is read-only, as replicas are; name the primary"});
        if (s.logs_statements)
            return end({.untouched = true, .error = errc::unsupported_server, .text = "its binary log takes statements; set binlog_format to ROW or MIXED"});
        meet(s);
    });
}

void session::meet(settings const& s)
{
    ask(for_our_table("CALL redlock_version()"), [this, s](answer const& a) {
        auto go_on = [this, s] {
            request(put_meeting(s.name, address_->options.table), [this, s](answer const& met) { introduce(s, met); });
        };
        if ((a.error == no_procedure || a.error == no_table) && address_->options.create_table)
            return make_tables(0, go_on);
        if (a.error != 0)
            return end(why_not(a));
        auto const version = a.rows.empty() ? std::string() : a.rows.front().front();
        if (version != schema_version)
            return end({.untouched = true,
                        .error = errc::unsupported_server,
                        .text = fmt::format("its tables of {} are of version {}, but this library needs {}", address_->options.table, version, schema_version)});
        go_on();
    });
}

// Several clients may do this at once: each finds what another has made.
void session::make_tables(std::size_t next, std::function<void()> then)
{
    auto statements = statements_of(schema());
    if (next == statements.size()) {
        owner_->log(log_level::info, "has made the tables of " + address_->options.table);
        return then();
    }
    ask(for_our_table(statements[next]), [this, next, then = std::move(then)](answer const& a) {
        if (a.error == 0)
            return make_tables(next + 1, then);
        auto why = why_not(a);
        why.text = "its tables cannot be made: " + why.text;
        end(std::move(why));
    });
}

void session::introduce(settings const& s, answer const& met)
{
    auto const from = client_->is_mariadb() ? "information_schema" : "performance_schema";
    request(fmt::format(uptime, from), [this, s, line = met.rows.at(0)](answer const& a) {
        auto const& times = a.rows.at(0);
        server_ = {.backend = {static_cast<std::int64_t>(client_->id()), {}},
                   .system = line.at(3),
                   .timeline = integer(line.at(0)),
                   .started = s.name + " " + times.at(0),
                   .durable = s.durable,
                   .promoted = line.at(2) == "1",
                   .since = line.at(0),
                   .age = std::chrono::milliseconds(integer(line.at(1))),
                   .uptime = std::chrono::seconds(integer(times.at(1)))};
        ready();
    });
}

// Where a binary log is kept, a commit that is not in it is undone after a crash.
session::settings session::read_settings(answer const& a)
{
    auto const value = [&](std::string_view name) {
        auto const known = std::find_if(a.rows.begin(), a.rows.end(), [&](auto& r) { return r.size() == 2 && r[0] == name; });
        return known != a.rows.end() ? (*known)[1] : std::string();
    };
    auto const on = [&](std::string_view name) { return value(name) != "OFF" && value(name) != "0" && !value(name).empty(); };
    settings s;
    s.name = value("server_uuid") + value("server_uid");
    if (s.name.empty())  // of MariaDB before 10.6.19
        s.name = fmt::format("{}:{}:{}", value("hostname"), value("port"), value("server_id"));
    auto const flush = value("innodb_flush_log_at_trx_commit");
    s.durable = (flush == "1" || flush == "3") && (!on("log_bin") || value("sync_binlog") == "1");
    s.writable = !on("read_only") && !on("innodb_read_only");
    s.logs_statements = on("log_bin") && value("binlog_format") == "STATEMENT";
    return s;
}

void session::ready()
{
    state_ = state::up;
    limit_.reset();
    if (auto refusal = owner_->meet(*this, server_); refusal.error)
        return end(std::move(refusal));
    if (state_ == state::up)
        owner_->up(*this);
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

void session::look(std::function<void(bool)> done)
{
    ask(settings_text, [this, done = std::move(done)](answer const& a) {
        if (a.error != 0)
            return;
        auto const s = read_settings(a);
        if (!s.writable)
            return end({.untouched = true, .error = errc::node_read_only, .text = "it has become read-only"});
        done(s.durable);
    });
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
