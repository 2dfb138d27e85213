#include "stores/postgresql/session.hpp"

#include "core/key.hpp"
#include "stores/kit/refusal.hpp"
#include "stores/kit/steps.hpp"
#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::postgresql {

namespace {

using kit::cell;
using kit::integer;

constexpr int oldest_version = 130'000;
constexpr auto timeline = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint";
constexpr std::string_view with_same_tables = "2";
constexpr std::string_view default_path = "SET LOCAL search_path = public;";
constexpr auto run_again = "let their owner run schema.sql again; see docs/stores.md";
constexpr std::chrono::seconds ask_again_after{1};
constexpr auto table_rights =
    "SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_timeline, "
    "redlock_record";
constexpr auto rights_to_read = "SELECT ON redlock, redlock_reader, redlock_wish";
constexpr auto all_there =
    "num_nonnulls(to_regprocedure('redlock_version()'), to_regclass('redlock'), to_regclass('redlock_reader'), "
    "to_regclass('redlock_wish'), to_regclass('redlock_tombstone'), to_regclass('redlock_timeline')) = 6";
// Release 0.1 made tables without a record, and without the replacement of a value.
constexpr auto record_there = "num_nonnulls(to_regclass('redlock_record'), "
                              "to_regprocedure('redlock_sign(bigint,text,boolean,bigint,text)'), "
                              "to_regprocedure('redlock_replace(bytea[],bytea,bigint,bytea,boolean)')) = 3";
constexpr auto version_there =
    "(SELECT substring(prosrc FROM '[0-9]+') FROM pg_proc WHERE oid = to_regprocedure('redlock_version()'))";
constexpr auto introduction_text =
    "SELECT pg_backend_pid(), "
    "(SELECT extract(epoch FROM backend_start) FROM pg_stat_activity WHERE pid = pg_backend_pid()), "
    "(SELECT system_identifier FROM pg_control_system()), {}, extract(epoch FROM pg_postmaster_start_time())";
constexpr auto its_mark = "encode(mark, 'escape')";
constexpr auto signing_text = "word, began, age, wait, {}{} FROM redlock_sign({}, "
                              "extract(epoch FROM pg_postmaster_start_time())::text, {}, {}, {})";
// The server checks the rights, although there are no rows to read.
constexpr auto reading_text = ", (SELECT 0 FROM redlock, redlock_reader{} WHERE false)";

constexpr statement end_backend{"", "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                    "WHERE pid = $1 AND extract(epoch FROM backend_start)::text = $2"};
constexpr statement clean_up{"", "SELECT redlock_clean()"};

std::string encode_signature(char const* verdict, std::chrono::milliseconds holds, std::string const& mark,
                             char const* more)
{
    return fmt::format(signing_text, mark, more, timeline, is_durable, holds.count(), verdict);
}

// A standby cannot tell its timeline.
std::string timeline_or_zero() { return fmt::format("CASE WHEN pg_is_in_recovery() THEN 0 ELSE {} END", timeline); }

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::shared_ptr<hosts> of_several,
                 std::chrono::milliseconds connect_timeout, bool listens, owner& o)
    : transport(std::move(e), std::move(a), connect_timeout, o),
      hosts_(std::move(of_several)),
      listens_(listens && address_->options.notify)
{
}

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout,
                 hosts::report tell, owner& o)
    : transport(std::move(e), std::move(a), connect_timeout, o), tell_(std::move(tell)), listens_(false)
{
}

void session::close()
{
    if (hosts_)
        hosts_->close();
    kit::client_session::close();
}

void session::abandon()
{
    if (hosts_)
        hosts_->abandon();
    kit::client_session::abandon();
}

// Connecting.

void session::connect()
{
    if (!log_in())
        return;
    use_table(full_table_of(given_->options));
    auto const names = address_->list("host"), addresses = address_->list("hostaddr");
    set_limit(connect_timeout_ * static_cast<int>(2 + names.size()));
    std::vector<found> all;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        all.push_back({i, i < names.size() ? names[i] : addresses[i], addresses[i]});
    addresses.empty() ? resolve(0, {}) : choose(all);
}

void session::resolve(std::size_t next, std::vector<found> all)
{
    auto const hosts = address_->list("host");
    if (next == hosts.size())
        return choose(all);
    auto const& host = hosts[next];
    if (host.starts_with('/')) {
        all.push_back({next, host, ""});
        return resolve(next + 1, std::move(all));
    }
    bool const is_last = next + 1 == hosts.size();
    look_up(host, [this, host, next, is_last, all = std::move(all)](auto const& addresses, auto const& why) mutable {
        for (auto const& a : addresses)
            all.push_back({next, host, a});
        if (all.empty() && is_last)
            return refuse(errc::node_unreachable, why);
        resolve(next + 1, std::move(all));
    });
}

void session::choose(std::vector<found> const& all)
{
    if (all.size() < 2 && address_->list("host").size() < 2)
        return connect_to(all.empty() ? *address_ : only(*address_, all.front()));
    hosts_->find(all, [this, weak = weak_from_this(), before = life()](found const* primary, auto const& why_none) {
        auto const self = weak.lock();
        if (self && before == life())
            primary ? connect_to(only(*address_, *primary)) : cut(why_none);
    });
}

// The greeting: the first questions to a server. They show whether the server may vote.

// A pooler gives its clients process numbers of its own.
bool session::is_pooled() const { return backend_ != PQbackendPID(handle()); }

// If a right is missing, the message contains the statement that grants it.
void session::refuse_with_grant(node_reply why, std::string const& rights)
{
    if (why.error == errc::permission_denied && !rights.empty()) {
        std::string_view const user = PQuser(handle());
        auto* const text = PQescapeIdentifier(handle(), user.data(), user.size());
        std::unique_ptr<char, void (*)(void*)> const quoted(text, PQfreemem);
        why.text += fmt::format("; let the owner or a superuser say: GRANT {} TO {}", rights, text ? text : user);
    }
    cut(std::move(why));
}

// A pooler that shares connections may deliver the answer to another client's question.
void session::request(std::string const& text, std::string rights, std::function<void(kit::rows const&)> then)
{
    simple_query(text, [this, rights = std::move(rights), then = std::move(then)](PGresult const& r) {
        if (PQresultStatus(&r) != PGRES_TUPLES_OK)
            return refuse_with_grant(refusal(r), rights);
        if (PQntuples(&r) != 1)
            return refuse(errc::unexpected_reply, "the server did not answer a question of the greeting with one row");
        then(rows_of(r));
    });
}

void session::greet()
{
    if (PQserverVersion(handle()) < oldest_version)
        return refuse(errc::unsupported_server, "PostgreSQL 13 or newer is needed");
    if (tell_)
        return ask_for_standing();
    auto const text =
        fmt::format("SELECT pg_is_in_recovery(), {}, {}, pg_backend_pid(), {}", all_there, version_there, record_there);
    request(for_our_table(text) + places(), "USAGE ON SCHEMA " + schema_of(given_->options), [this](auto const& rows) {
        auto const& o = given_->options;
        is_standby_ = cell(rows, 0) == "t";
        if (is_standby_ && !address_->read_only)
            return refuse(errc::node_read_only,
                          "it is a standby; name the primary, or all of them: postgresql://host,host/database");
        backend_ = integer(rows, 3);
        if (is_pooled() && (o.notify || o.prepare) && !o.session_pooler)
            return refuse(errc::unsupported_server,
                          "there is a pooler between client and server; add ?notify=off&prepare=off to the address, or "
                          "?session_pooler=on if the pooler keeps a server connection for each client "
                          "(pool_mode=session)");
        if (auto const& version = cell(rows, 2); !version.empty() && version != schema_version)
            return refuse(errc::unsupported_server,
                          kit::other_version("functions", full_table_of(o), version, schema_version,
                                             version == with_same_tables ? std::string(run_again)
                                                                         : kit::way_to_renew("functions")));
        bool const has_tables = cell(rows, 1) == "t";
        if (auto const why = trouble_with_places(rows, has_tables); !why.empty())
            return refuse(errc::unsupported_server, why);
        if (has_tables && (address_->read_only || cell(rows, 4) == "t"))
            return make_ready();
        if (!o.create_table || address_->read_only)
            return refuse(errc::unsupported_server,
                          fmt::format("the tables of {} are incomplete; create them with schema.sql, see "
                                      "docs/stores.md, or {}",
                                      full_table_of(o),
                                      address_->read_only ? "start a manager that locks" : "set create_table"));
        make_tables(has_tables ? run_again : "");
    });
}

void session::use_table(std::string name)
{
    auto changed = *address_;
    changed.options.table = std::move(name);
    address_ = std::make_shared<address const>(std::move(changed));
}

// Further columns of the first question, about the places of such tables:
// - where the search_path of the role leads;
// - whether the functions name their tables without the schema;
// - the other schemas that have such tables.
std::string session::places() const
{
    auto const& o = given_->options;
    return fmt::format(", CASE to_regclass('{1}_reader') WHEN to_regclass('{2}_reader') THEN 'here' "
                       "ELSE to_regclass('{1}_reader')::text END, "
                       "(SELECT position('{2}' IN prosrc) = 0 FROM pg_proc WHERE oid = "
                       "to_regprocedure('{2}_meet(bigint)')), "
                       "(SELECT string_agg(nspname, ', ') FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
                       "WHERE relname = '{1}_reader' AND nspname <> '{0}' AND relkind IN ('r', 'p'))",
                       schema_of(o), bare_table_of(o), full_table_of(o));
}

/* One address must mean one place for all roles. Functions that name their tables without the schema find them by the
   search_path. The session sets it, but behind a pooler that shares connections it cannot. */
std::string session::trouble_with_places(kit::rows const& rows, bool has_tables)
{
    auto const& o = given_->options;
    auto const schema = schema_of(o), table = bare_table_of(o), full = full_table_of(o);
    auto const &path_leads_to = cell(rows, 5), &others = cell(rows, 7);
    bool const names_schema = o.table != table || !o.schema.empty();
    bool const needs_path = cell(rows, 6) == "t";
    use_table(needs_path ? table : full);
    if (!names_schema && !path_leads_to.empty() && path_leads_to != "here")
        return fmt::format("the search_path of this role leads to the tables {} in another schema ({}), and this "
                           "address means {}: add ?schema=NAME to the address of all clients",
                           table, others, full);
    if (!has_tables && !names_schema && !others.empty())
        return fmt::format("there are tables {} in the schema {}, and none in {}, which this address means: add "
                           "?schema=NAME to the address of all clients",
                           table, others, schema);
    if (!o.prepare && needs_path && path_leads_to != "here")
        return fmt::format("the search_path of this role does not lead to {}, and the pooler shares connections: let "
                           "an administrator say: ALTER ROLE … SET search_path = {}",
                           full, schema);
    bool const is_first = listens_ || !given_->options.notify;  // the connections of a node are alike
    if (!others.empty() && !names_schema && is_first && !std::exchange(told_of_places_, true))
        owner_->log(log_level::warning,
                    fmt::format("there are tables {} in other schemas, too: {}. Clients that use those share no locks "
                                "with this one, which uses {}",
                                table, others, full));
    return {};
}

void session::ask_for_standing()
{
    set_limit(connect_timeout_);
    auto const text = fmt::format("SELECT system_identifier, {} FROM pg_control_system()", timeline_or_zero());
    request(text, {}, [this](auto const& rows) {
        after(ask_again_after, [this] { ask_for_standing(); });
        tell_({cell(rows, 0), integer(rows, 1)});
    });
}

bool session::is_outdated(kit::introduction const& i) const
{
    return hosts_ && hosts_->is_outdated(i.system, i.timeline);
}

// Another host may be promoted while this one still runs.
void session::follow_hosts()
{
    if (!hosts_ || std::exchange(follows_, true))
        return;
    hosts_->follow([this, weak = weak_from_this()] {
        auto const self = weak.lock();
        if (self && up() && is_outdated(server()))
            cut(kit::replaced());
        return self != nullptr;
    });
}

void session::make_tables(std::string const& way_out)
{
    auto const path = fmt::format("SET LOCAL search_path = {};", schema_of(given_->options));
    auto text = for_our_table(schema());
    text.replace(text.find(default_path), default_path.size(), path);
    simple_query(text, [this, way_out](PGresult const& made) {
        if (PQresultStatus(&made) == PGRES_FATAL_ERROR) {
            auto why = refusal(made);
            why.text.insert(0, kit::cannot_make_tables);
            if (way_out.empty())
                return refuse_with_grant(std::move(why), "CREATE, USAGE ON SCHEMA " + schema_of(given_->options));
            why.text += "; " + way_out;
            return cut(std::move(why));
        }
        owner_->log(log_level::info, "created the missing tables and functions of " + full_table_of(given_->options));
        make_ready();
    });
}

void session::make_ready()
{
    auto const timeout_ms = address_->options.timeout.count();
    std::string text;
    if (address_->options.prepare)  // a pooler would apply these settings to other clients
        text = fmt::format("SELECT set_config('default_transaction_isolation', 'read committed', false), "
                           "set_config('lock_timeout', '{}', false), set_config('statement_timeout', '{}', false), "
                           "set_config('search_path', '{}', false);",
                           timeout_ms, 2 * timeout_ms, schema_of(given_->options));
    if (notifies())
        text += "LISTEN \"" + address_->options.table + "\";";
    auto const mark = address_->options.prepare ? fmt::format("set_config('redlock.mark', {}, false)", its_mark)
                                                : std::string(its_mark);
    text += for_our_table(fmt::format(introduction_text, timeline_or_zero()));
    text += for_our_table(address_->read_only ? fmt::format(reading_text, is_standby_ ? "" : ", redlock_wish")
                                              : ", " + encode_signature("''", address_->max_ttl, mark, ""));
    request(text, for_our_table(address_->read_only ? rights_to_read : table_rights),
            [this](auto const& rows) { introduce(rows); });
}

void session::introduce(kit::rows const& rows)
{
    auto const& o = address_->options;
    bool const is_shared = is_pooled() && !o.notify && !o.prepare;
    kit::introduction server{.backend = {is_shared ? 0 : kit::integer(rows, 0), kit::cell(rows, 1), is_pooled()},
                             .system = kit::cell(rows, 2),
                             .timeline = kit::integer(rows, 3),
                             .started = kit::cell(rows, 4)};
    if (!address_->read_only) {
        server.record = kit::read_record(rows.front(), 5);
        mark_ = kit::cell(rows, 9);
    }
    if (!begin_pipeline())
        return;
    if (is_outdated(server))
        return cut(kit::replaced());
    if (!admit(std::move(server)))
        return;
    if (o.prepare && !std::ranges::all_of(all_statements(), [this](auto& s) { return prepare(s); }))
        return;
    follow_hosts();
    owner_->up(*this);
    if (up())
        flush();
}

// Questions.

void session::carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done)
{
    auto const is_watched = c.which() == node_command::kind::inspect && c.watches() ? watch(c) : nullptr;
    auto const [s, values] = encode(c, tombstone, is_standby_);
    ask(*s, values, [this, &c, is_watched, done = std::move(done)](PGresult const* r) {
        auto reply = r ? decode(c, *r, is_standby_) : node_reply{.error = errc::connection_lost};
        bool const may_get_readers = reply.text == core::shared_word;
        reply.watched = reply.vote == vote::granted && is_watched && *is_watched && !may_get_readers;
        deliver(done, std::move(reply));
    });
}

// The server carries out this statement before the inspection. So the client is notified of all changes that the
// inspection does not show.
std::shared_ptr<bool const> session::watch(node_command const& c)
{
    if (!may_watch_ || is_standby_ || !address_->options.notify)
        return nullptr;
    auto const is_watched = std::make_shared<bool>(false);
    auto const [s, values] = encode_watch(c);
    ask(*s, values, [this, is_watched](PGresult const* r) {
        bool const is_answer = r && PQresultStatus(r) == PGRES_TUPLES_OK;
        *is_watched = is_answer && kit::cell(rows_of(*r), 0) == "t";
        auto const why = r && !is_answer ? refusal(*r).error : error_code();
        may_watch_ = may_watch_ && why != errc::permission_denied && why != errc::node_refuses_writes;
    });
    return is_watched;
}

void session::end(kit::backend const& b, std::function<void(bool)> done)
{
    if (b.id == 0 || b.pooled)
        return done(false);
    parameters which;
    which.add_text(std::to_string(b.id));
    which.add_bytes(b.since);
    ask(end_backend, which, [done = std::move(done)](PGresult const* r) {
        done(r && PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 0);
    });
}

// A manager that only reads gives no promise that depends on the answer.
void session::look(std::string verdict, std::function<void(core::memory_record const*)> done)
{
    if (address_->read_only)
        return done(nullptr);
    auto const text = "SELECT " + encode_signature("$1", address_->max_ttl, its_mark, ", pg_backend_pid()");
    parameters word;
    word.add_text(std::move(verdict));
    ask({"", text.c_str()}, word, [this, done = std::move(done)](PGresult const* r) {
        auto const rows = r ? rows_of(*r) : kit::rows();
        bool const is_answer = rows.size() == 1;
        bool const forgot = is_answer ? kit::cell(rows, 4) != mark_
                                      : r && refusal(*r).error == errc::unsupported_server;
        bool const is_shared = is_answer && server().backend.id != 0
                               && server().backend.id != kit::to_integer(kit::cell(rows, 5));
        if (forgot)
            refuse(errc::unsupported_server, "its tables were emptied, restored or made anew");
        else if (is_shared)
            cut(kit::shared_backend());
        if (!is_answer || forgot || is_shared)
            return done(nullptr);
        auto const record = kit::read_record(rows.front(), 0);
        done(&record);
    });
}

void session::clean()
{
    if (!address_->read_only)
        ask(clean_up, {}, [](PGresult const*) {});
}

}  // namespace redlock::stores::postgresql
