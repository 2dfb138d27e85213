// What a server is asked first, and whether it may vote.

#include "stores/postgresql/schema.hpp"
#include "stores/postgresql/session.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::pg {

namespace {

constexpr int oldest_version = 130'000;
constexpr auto timeline = "('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint";
constexpr std::string_view version_with_same_tables = "2";
constexpr std::chrono::seconds ask_again_after{1};
constexpr auto table_rights = "SELECT, INSERT, UPDATE, DELETE ON redlock, redlock_reader, redlock_wish, redlock_tombstone, redlock_timeline";
constexpr auto all_there = "num_nonnulls(to_regprocedure('redlock_version()'), to_regclass('redlock'), to_regclass('redlock_reader'), "
                           "to_regclass('redlock_wish'), to_regclass('redlock_tombstone'), to_regclass('redlock_timeline')) = 6";
constexpr auto version_there = "(SELECT substring(prosrc FROM '[0-9]+') FROM pg_proc WHERE oid = to_regprocedure('redlock_version()'))";

std::string_view cell(PGresult const& r, int column)
{
    return {PQgetvalue(&r, 0, column), static_cast<std::size_t>(PQgetlength(&r, 0, column))};
}

std::string schema_of(std::string const& table)
{
    auto const dot = table.find('.');
    return dot != table.npos ? table.substr(0, dot) : "public";
}

std::int64_t integer(PGresult const& r, int column)
{
    return std::strtoll(PQgetvalue(&r, 0, column), nullptr, 10);
}

// A pooler that shares connections may deliver the answer to another question.
std::optional<node_reply> why_no_row(PGresult const& r)
{
    if (PQresultStatus(&r) != PGRES_TUPLES_OK)
        return refusal(r);
    if (PQntuples(&r) != 1)
        return node_reply{.untouched = true, .error = errc::unexpected_reply, .text = "a question of the greeting was not answered with one row"};
    return std::nullopt;
}

// By an earlier client of a pooler, from the same text: it is in the name.
bool is_prepared_already(PGresult const& r)
{
    auto const* const state = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
    return state && std::string_view(state) == "42P05";
}

}  // namespace

// A pooler hands out keys of its own.
bool session::is_pooled() const
{
    return backend_ != PQbackendPID(connection_.get());
}

// With the statement that mends it, if it is about rights.
node_reply session::with_grant(node_reply why, std::string const& rights) const
{
    if (why.error != errc::permission_denied)
        return why;
    std::string_view const user = PQuser(connection_.get());
    std::unique_ptr<char, void (*)(void*)> const quoted(PQescapeIdentifier(connection_.get(), user.data(), user.size()), PQfreemem);
    why.text += fmt::format("; let the owner or a superuser say: GRANT {} TO {}", rights, quoted ? quoted.get() : user);
    return why;
}

// Before the pipeline, because only here one text may hold several statements.

void session::simple(std::string const& text, std::function<void(PGresult const&)> then)
{
    then_ = std::move(then);
    if (PQsendQuery(connection_.get(), text.c_str()) != 1)
        return end(failure());
    flush();
}

void session::read_simple()
{
    if (PQconsumeInput(connection_.get()) != 1)
        return end(failure());
    while (PQisBusy(connection_.get()) == 0) {
        result r(PQgetResult(connection_.get()), PQclear);
        if (!r) {
            auto const then = std::exchange(then_, {});
            auto const last = std::move(simple_);
            if (!last)
                return end(failure());
            return then(*last);
        }
        if (!simple_ || PQresultStatus(simple_.get()) != PGRES_FATAL_ERROR)  // the first error says why
            simple_ = std::move(r);
    }
    wait_for(wait::read);
}

void session::greet()
{
    state_ = state::greeting;
    PQsetnonblocking(connection_.get(), 1);
    PQsetNoticeProcessor(connection_.get(), [](void*, char const*) {}, nullptr);
    if (PQserverVersion(connection_.get()) < oldest_version)
        return end({.untouched = true, .error = errc::unsupported_server, .text = "PostgreSQL 13 or newer is needed"});
    if (tell_)
        return ask_for_standing();
    simple(for_table(fmt::format("SELECT pg_is_in_recovery(), {}, {}, pg_backend_pid()", all_there, version_there), address_->options.table), [this](PGresult const& r) {
        if (auto why = why_no_row(r))
            return end(with_grant(std::move(*why), "USAGE ON SCHEMA " + schema_of(address_->options.table)));
        if (cell(r, 0) == "t")
            return end({.untouched = true, .error = errc::node_read_only, .text = "it is a standby; name the primary, or all of them: postgresql://host,host/database"});
        backend_ = integer(r, 3);
        if (auto const& o = address_->options; is_pooled() && (o.notify || o.prepare) && !o.session_pooler)
            return end({.untouched = true,
                        .error = errc::unsupported_server,
                        .text = "a pooler is before the server; add ?notify=off&prepare=off to the address, or ?session_pooler=on if the pooler "
                                "keeps a server connection for each client (pool_mode=session)"});
        if (auto const version = cell(r, 2); !version.empty() && version != schema_version)
            return end({.untouched = true,
                        .error = errc::unsupported_server,
                        .text = fmt::format("its functions of {} are of version {}, but this library needs {}; {}", address_->options.table, version, schema_version,
                                            version == version_with_same_tables
                                                ? "let their owner run schema.sql again, see docs/stores.md"
                                                : "drop its tables and functions while nobody holds a lock, and they are made anew")});
        if (cell(r, 1) == "t")
            return make_ready();
        if (!address_->options.create_table)
            return end({.untouched = true,
                        .error = errc::unsupported_server,
                        .text = "the tables of " + address_->options.table + " are not all there; make it with schema.sql, see docs/stores.md, or set create_table"});
        make_tables();
    });
}

// A standby cannot be asked for its timeline, and need not be.
void session::ask_for_standing()
{
    set_limit(connect_timeout_);
    simple(fmt::format("SELECT system_identifier, CASE WHEN pg_is_in_recovery() THEN 0 ELSE {} END FROM pg_control_system()", timeline), [this](PGresult const& r) {
        if (auto why = why_no_row(r))
            return end(std::move(*why));
        limit_.emplace(executor_, clock::now() + ask_again_after);
        limit_->async_wait([self = shared_from_this(), life = life_](error_code ec) {
            if (!ec && life == self->life_)
                self->ask_for_standing();
        });
        tell_({std::string(cell(r, 0)), integer(r, 1)});
    });
}

bool session::is_outdated() const
{
    return hosts_ && hosts_->is_outdated(server_.system, server_.timeline);
}

// Another host may be promoted while this one goes on.
void session::follow_hosts()
{
    if (!hosts_ || std::exchange(follows_, true))
        return;
    hosts_->follow([weak = weak_from_this()] {
        auto const self = weak.lock();
        if (self && self->up() && self->is_outdated())
            self->end(sql::replaced());
        return self != nullptr;
    });
}

void session::make_tables()
{
    simple(for_table(schema(), address_->options.table), [this](PGresult const& made) {
        if (PQresultStatus(&made) == PGRES_FATAL_ERROR) {
            auto why = refusal(made);
            why.text = "its tables cannot be made: " + why.text;
            return end(with_grant(std::move(why), "CREATE, USAGE ON SCHEMA " + schema_of(address_->options.table)));
        }
        owner_->log(log_level::info, "has made what was missing of the tables of " + address_->options.table);
        make_ready();
    });
}

void session::make_ready()
{
    auto const patience = address_->options.timeout.count();
    std::string text;
    if (address_->options.prepare)  // a pooler would give these settings to others
        text = fmt::format("SELECT set_config('default_transaction_isolation', 'read committed', false), "
                           "set_config('lock_timeout', '{}', false), set_config('statement_timeout', '{}', false);",
                           patience, 2 * patience);
    if (listens_)
        text += "LISTEN \"" + address_->options.table + "\";";
    text += for_table(fmt::format("SELECT pg_backend_pid(), (SELECT extract(epoch FROM backend_start) FROM pg_stat_activity WHERE pid = pg_backend_pid()), "
                                  "(SELECT system_identifier FROM pg_control_system()), {0}, extract(epoch FROM pg_postmaster_start_time()), "
                                  "(extract(epoch FROM clock_timestamp() - pg_postmaster_start_time()) * 1000)::bigint, "
                                  "{1}, extract(epoch FROM since), age, forgot{2} FROM redlock_meet({0})",
                                  timeline, is_durable, address_->options.prepare ? ", set_config('redlock.mark', encode(mark, 'escape'), false)" : ""),
                      address_->options.table);
    simple(text, [this](PGresult const& r) { introduce(r); });
}

void session::introduce(PGresult const& r)
{
    if (auto why = why_no_row(r))
        return end(with_grant(std::move(*why), for_table(table_rights, address_->options.table)));
    auto const& o = address_->options;
    bool const is_shared = is_pooled() && !o.notify && !o.prepare;
    server_ = {.backend = {is_shared ? 0 : integer(r, 0), std::string(cell(r, 1)), is_pooled()},
               .system = std::string(cell(r, 2)),
               .timeline = integer(r, 3),
               .started = std::string(cell(r, 4)),
               .durable = cell(r, 6) == "t",
               .forgot = cell(r, 9) == "t",
               .since = std::string(cell(r, 7)),
               .age = std::chrono::milliseconds(integer(r, 8)),
               .uptime = std::chrono::milliseconds(integer(r, 5))};
    if (PQenterPipelineMode(connection_.get()) != 1)
        return end(failure());
    ready();
}

void session::ready()
{
    limit_.reset();
    if (is_outdated())
        return end(sql::replaced());
    auto const life = life_;
    if (auto refusal = owner_->meet(*this, server_); refusal.error)
        return end(std::move(refusal));
    if (life != life_)
        return;
    state_ = state::up;
    if (address_->options.prepare) {
        for (auto const& s : all_statements()) {
            auto* const c = connection_.get();
            if (PQsendPrepare(c, prepared_name(s, address_->options.table).c_str(), for_table(s.text, address_->options.table).c_str(), 0, nullptr) != 1 || PQpipelineSync(c) != 1)
                return end(failure());
            questions_.push_back({[this](PGresult const* r) {
                                      if (r && PQresultStatus(r) == PGRES_FATAL_ERROR && !is_prepared_already(*r))
                                          end(refusal(*r));
                                  },
                                  clock::now()});
        }
    }
    follow_hosts();
    owner_->up(*this);
    if (state_ == state::up)
        flush();
}

}  // namespace redlock::pg
