#include "stores/mysql/session.hpp"

#include "stores/kit/refusal.hpp"
#include "stores/kit/steps.hpp"
#include "stores/mysql/decoder.hpp"
#include "stores/mysql/encoder.hpp"
#include "stores/mysql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <errmsg.h>
#include <system_error>
#include <utility>

namespace redlock::stores::mysql {

namespace {

constexpr auto schema_version = "2";
constexpr auto set_up = "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', SESSION autocommit = 1, "
                        "SESSION innodb_lock_wait_timeout = {0}, SESSION lock_wait_timeout = {0}";
// Without gap locks: with them, clients of different keys would wait for each other.
constexpr auto isolate = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
constexpr auto settings_text =
    "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('server_uuid', 'server_uid', 'server_id', 'hostname', 'port', "
    "'read_only', 'innodb_read_only', 'innodb_flush_log_at_trx_commit', 'log_bin', 'sync_binlog', 'binlog_format', "
    "'wsrep_on')";
// The server takes both numbers when the statement begins, so their difference is constant while the server runs. Both
// are in whole seconds. The second column: whether the second is over in which the server started.
constexpr auto uptime = "SELECT CAST(UNIX_TIMESTAMP() - variable_value AS SIGNED), variable_value > 0 "
                        "FROM {}.global_status WHERE variable_name = 'uptime'";

constexpr std::string_view rights_to_make_tables = "CREATE, CREATE ROUTINE, EXECUTE, SELECT, INSERT, UPDATE, DELETE";

bool is_missing(answer const& a) { return a.error == no_procedure || a.error == no_table; }

// The library's messages end with an error number: "… (111)".
std::string with_words(std::string text)
{
    auto const bracket = text.rfind('(');
    auto const number = bracket == text.npos ? 0 : std::atoi(text.c_str() + bracket + 1);
    return number > 0 ? text + ": " + std::generic_category().message(number) : text;
}

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout,
                 owner& o)
    : kit::database_session<address>(std::move(e), std::move(a), connect_timeout, o)
{
}

session::~session() { disconnect(); }

// Connecting.

void session::connect()
{
    set_limit(3 * connect_timeout_);
    if (!log_in())
        return;
    if (address_->host.empty()) {
        addresses_ = {""};
        return connect_next();
    }
    look_up(address_->host, [this](auto const& found, auto const& why) {
        if (found.empty())
            return refuse(errc::node_unreachable, why);
        addresses_ = found;
        connect_next();
    });
}

void session::connect_next()
{
    auto const next = addresses_.front();
    addresses_.erase(addresses_.begin());
    // If the server sends bytes without a question, the connection is ending. The answer to the next question says why.
    transport_ = std::make_shared<transport>(executor_, address_, next, [this] {
        if (up() && questions_.empty())
            ask("DO 0", [](answer const&) {});
    });
    transport_->connect([this](answer const& a) {
        if (a.error == 0)
            return greet();
        bool const not_there = a.error == CR_CONN_HOST_ERROR || a.error == CR_CONNECTION_ERROR;
        if (not_there && !addresses_.empty()) {
            transport_->close();
            return connect_next();
        }
        auto why = why_not(a);
        why.text = presentable(why.text, *address_);
        if (not_there)
            why.text = with_words(std::move(why.text))
                       + (address_->socket.empty() ? fmt::format(", port {}", address_->port) : "");
        else if (why.error == errc::permission_denied)
            why.text += way_out(rights_to_lock, address_->database, address_->user + "@%");
        cut(std::move(why));
    });
}

// The greeting: the first questions to a server. They show whether the server may vote.

// If a right is missing, the message contains the statement that grants it. Accounts may be valid for any host, so the
// session asks the server for the name of its account.
void session::name_right(node_reply why, std::string_view rights, std::function<void(node_reply)> then)
{
    ask("SELECT CURRENT_USER()", [this, why = std::move(why), rights, then = std::move(then)](answer const& account) {
        auto mended = why;
        mended.text += way_out(rights, address_->database, kit::cell(account.rows, 0));
        then(std::move(mended));
    });
}

void session::refuse_with_grant(answer const& a, std::string_view rights, std::string_view what)
{
    auto why = why_not(a);
    why.text.insert(0, what);
    if (why.error != errc::permission_denied)
        return cut(std::move(why));
    name_right(std::move(why), rights, [this](node_reply mended) { cut(std::move(mended)); });
}

// Ends the connection if the request fails.
void session::request(std::string text, std::function<void(answer const&)> then)
{
    ask(std::move(text), [this, then = std::move(then)](answer const& a) {
        if (a.error == 0)
            return then(a);
        refuse_with_grant(a, rights_to_lock);
    });
}

void session::greet()
{
    greeting();
    auto const seconds = std::chrono::ceil<std::chrono::seconds>(address_->options.timeout).count();
    request(fmt::format(set_up, seconds), [](answer const&) {});
    request(isolate, [](answer const&) {});
    request(settings_text, [this](answer const& a) {
        auto const s = read_settings(a);
        if (!s.writable && !address_->read_only)
            return refuse(errc::node_read_only, "it is read-only, as replicas are; name the primary");
        if (s.shares_decisions)
            return refuse(errc::unsupported_server,
                          "it belongs to a Galera cluster, whose members use their own clocks; "
                          "name a server outside a cluster");
        if (s.logs_statements)
            return refuse(errc::unsupported_server,
                          "its binary log stores statements; set binlog_format to ROW or MIXED");
        prepare_tables(s);
    });
}

void session::prepare_tables(settings const& s)
{
    ask(for_our_table("CALL redlock_version()"), [this, s](answer const& a) {
        if (is_missing(a) && may_make_tables())
            return make_tables([this, s] { introduce(s); });
        if (a.error != 0)
            return refuse_with_grant(a, rights_to_lock);
        auto const version = kit::cell(a.rows, 0);
        if (version != schema_version)
            return refuse(errc::unsupported_server,
                          kit::other_version("procedures", address_->options.table, version, schema_version,
                                             kit::way_to_renew("procedures")));
        introduce(s);
    });
}

void session::make_tables(std::function<void()> then)
{
    make_tables(std::make_shared<std::vector<std::string> const>(statements_of(for_our_table(schema()))), 0,
                std::move(then));
}

// Several clients may do this at the same time. Each keeps what another one has created.
void session::make_tables(std::shared_ptr<std::vector<std::string> const> statements, std::size_t next,
                          std::function<void()> then)
{
    if (next == statements->size()) {
        owner_->log(log_level::info, "created the tables of " + address_->options.table);
        return then();
    }
    ask((*statements)[next], [this, statements, next, then = std::move(then)](answer const& a) {
        if (a.error == 0)
            return make_tables(statements, next + 1, then);
        refuse_with_grant(a, rights_to_make_tables, kit::cannot_make_tables);
    });
}

// Two lives that began in the same second would look like one. So a life counts only when its first second is over: the
// next one begins in a later second.
void session::introduce(settings const& s)
{
    auto const from = transport_->is_mariadb() ? "information_schema" : "performance_schema";
    request(fmt::format(uptime, from), [this, s](answer const& a) {
        if (kit::cell(a.rows, 1) == "0")
            return request("DO SLEEP(0.05)", [this, s](answer const&) { introduce(s); });
        kit::introduction server{.backend = {static_cast<std::int64_t>(transport_->id()), {}},
                                 .system = s.name,
                                 .started = s.name + " " + kit::cell(a.rows, 0)};
        if (!address_->read_only)
            return sign(s, std::move(server), may_make_tables());
        if (admit(std::move(server)))
            owner_->up(*this);
    });
}

std::string session::encode_signature(settings const& s, std::string_view life, std::string_view verdict) const
{
    return mysql::encode_signature(s.name, life, s.durable, address_->max_ttl, verdict, address_->options.table);
}

// Release 0.1 made tables without a record.
void session::sign(settings const& s, kit::introduction server, bool may_make_tables)
{
    auto const text = encode_signature(s, server.started, {});
    ask(text, [this, s, server = std::move(server), may_make_tables](answer const& a) mutable {
        if (is_missing(a) && may_make_tables)
            return make_tables([this, s, server] { sign(s, server, false); });
        if (a.error != 0)
            return refuse_with_grant(a, rights_to_lock);
        if (a.rows.size() != 2)
            return refuse(errc::unexpected_reply, "its answer about its record is not understood");
        server.system = kit::cell(a.rows, 3);
        server.timeline = kit::integer(a.rows, 0);
        server.record = kit::read_record(a.rows[1], 0);
        if (admit(std::move(server)))
            owner_->up(*this);
    });
}

// If the server keeps a binary log, the recovery after a crash undoes commits that are not in the log.
session::settings session::read_settings(answer const& a)
{
    auto const value = [&](std::string_view name) {
        auto const known =
            std::find_if(a.rows.begin(), a.rows.end(), [&](auto& r) { return r.size() == 2 && r[0] == name; });
        return known != a.rows.end() ? (*known)[1] : std::string();
    };
    auto const on = [&](std::string_view name) {
        return value(name) != "OFF" && value(name) != "0" && !value(name).empty();
    };
    settings s;
    s.name = value("server_uuid");
    if (s.name.empty())  // MariaDB's server_uid consists of port and network card, and containers often share both
        s.name = fmt::format("{}:{}:{}:{}", value("server_uid"), value("hostname"), value("port"), value("server_id"));
    auto const flush = value("innodb_flush_log_at_trx_commit");
    s.durable = (flush == "1" || flush == "3") && (!on("log_bin") || value("sync_binlog") == "1");
    s.writable = !on("read_only") && !on("innodb_read_only");
    s.shares_decisions = on("wsrep_on");
    s.logs_statements = on("log_bin") && value("binlog_format") == "STATEMENT";
    return s;
}

// A manager that only reads gives no promise that depends on the answer.
void session::look(std::string verdict, std::function<void(core::memory_record const*)> done)
{
    if (address_->read_only)
        return done(nullptr);
    ask(settings_text, [this, verdict = std::move(verdict), done = std::move(done)](answer const& a) {
        auto const s = read_settings(a);
        if (a.error == 0 && !s.writable)
            refuse(errc::node_read_only, "it has become read-only");
        if (a.error != 0 || !s.writable)
            return done(nullptr);
        ask(encode_signature(s, server().started, verdict), [this, done](answer const& signature) {
            if (is_missing(signature))
                refuse(errc::unsupported_server, signature.text);
            if (signature.rows.size() != 2)
                return done(nullptr);
            auto const record = kit::read_record(signature.rows[1], 0);
            done(&record);
        });
    });
}

// Questions.

void session::ask(std::string text, std::function<void(answer const&)> tell)
{
    questions_.push_back({std::move(text), std::move(tell)});
    if (!sent_at_)
        send();
}

void session::send()
{
    sent_at_ = clock::now();
    transport_->ask(questions_.front().text, [this](answer a) { answered(std::move(a)); });
}

// A procedure that failed may have left a transaction open.
void session::answered(answer a)
{
    auto const self = shared_from_this();
    auto const before = life();
    auto const tell = std::move(questions_.front().tell);
    questions_.pop_front();
    sent_at_.reset();
    a.text = presentable(a.text, *address_);
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
    if (c.which() == node_command::kind::inspect && may_read_tables_)
        return inspect(c, std::move(done));
    if (c.which() == node_command::kind::scan)
        return scan(c, std::move(done));
    ask(encode(c, tombstone, address_->options.table),
        [this, &c, done = std::move(done)](answer const& a) { deliver(done, decode(c, a)); });
}

void session::inspect(node_command const& c, std::function<void(node_reply)> done)
{
    ask(encode_inspection(c, address_->options.table), [this, &c, done = std::move(done)](answer const& a) {
        if (a.error != no_right)
            return deliver(done, decode_inspection(a));
        may_read_tables_ = false;
        carry_out(c, false, done);
    });
}

void session::scan(node_command const& c, std::function<void(node_reply)> done)
{
    ask(encode_scan(c, address_->options.table), [this, &c, done = std::move(done)](answer const& a) {
        auto reply = decode_scan(c, a);
        if (reply.error != errc::permission_denied)
            return deliver(done, std::move(reply));
        name_right(std::move(reply), rights_to_list, done);
    });
}

// Only an attempt to end a connection shows whether it still exists.
void session::end(kit::backend const& b, std::function<void(bool)> done)
{
    ask(fmt::format("KILL CONNECTION {}", b.id),
        [done = std::move(done)](answer const& a) { done(a.error == no_such_thread); });
}

void session::clean()
{
    if (!address_->read_only)
        ask(for_our_table("CALL redlock_clean()"), [](answer const&) {});
}

// The end.

void session::abandon_connection()
{
    if (transport_)
        transport_->abandon();
    questions_.clear();
}

void session::disconnect()
{
    sent_at_.reset();
    if (transport_)
        transport_->close();
    transport_.reset();
}

void session::fail_all()
{
    for (auto const& q : std::exchange(questions_, {}))
        q.tell({.error = CR_SERVER_LOST, .text = "the connection was lost"});
}

}  // namespace redlock::stores::mysql
