#include "stores/postgresql/session.hpp"

#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace redlock::pg {

namespace {

constexpr statement end_backend{nullptr, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1 AND extract(epoch FROM backend_start)::text = $2"};
constexpr statement clean_up{nullptr, "SELECT redlock_clean()"};

bool is_address(std::string const& host)
{
    error_code ec;
    asio::ip::make_address(host, ec);
    return !ec;
}

// What libpq says when it cannot connect: the server's words have no code there.
errc reason_of(std::string const& words)
{
    auto const has = [&](std::string_view part) { return words.find(part) != words.npos; };
    if (has("authentication failed") || has("no password supplied") || has("pg_hba.conf") || (has("role \"") && has("does not exist")))
        return errc::authentication_failed;
    if (has("starting up") || has("shutting down") || has("recovery"))
        return errc::node_loading;
    if (has("too many clients") || has("connection slots"))
        return errc::node_refuses_writes;
    if (has("session is read-only"))
        return errc::node_read_only;
    return errc::node_unreachable;
}

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::shared_ptr<hosts> of_several,
                 std::chrono::milliseconds connect_timeout, bool listens, owner& o)
    : executor_(std::move(e)), address_(std::move(a)), connect_timeout_(connect_timeout), hosts_(std::move(of_several)),
      listens_(listens && address_->options.notify), owner_(&o)
{
}

session::session(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds connect_timeout,
                 hosts::teller tell, owner& o)
    : executor_(std::move(e)), address_(std::move(a)), connect_timeout_(connect_timeout), tell_(std::move(tell)),
      listens_(false), owner_(&o)
{
}

session::~session()
{
    take_down();
}

void session::open()
{
    ++life_;
    state_ = state::resolving;
    auto names = address_->list("host");
    auto const addresses = address_->list("hostaddr");
    set_limit(connect_timeout_ * static_cast<int>(2 + names.size()));
    if (addresses.empty())
        return resolve(std::move(names), 0, {});
    std::vector<found> all;
    for (std::size_t i = 0; i < addresses.size(); ++i)
        all.push_back({i, i < names.size() ? names[i] : addresses[i], addresses[i]});
    choose(all);
}

// libpq would block in the resolver.
void session::resolve(std::vector<std::string> hosts, std::size_t next, std::vector<found> all)
{
    for (; next < hosts.size() && (hosts[next].starts_with('/') || is_address(hosts[next])); ++next)
        all.push_back({next, hosts[next], hosts[next].starts_with('/') ? "" : hosts[next]});
    if (next == hosts.size())
        return choose(all);
    if (!resolver_)
        resolver_.emplace(executor_);
    auto const host = hosts[next];
    resolver_->async_resolve(host, "", [self = shared_from_this(), life = life_, hosts = std::move(hosts), next, all = std::move(all)](
                                           error_code ec, auto addresses) mutable {
        if (life != self->life_ || self->state_ != state::resolving)
            return;
        if (ec && all.empty() && next + 1 == hosts.size())
            return self->end({.untouched = true, .error = errc::node_unreachable, .text = "cannot resolve " + hosts[next] + ": " + ec.message()});
        for (auto const& a : addresses)
            all.push_back({next, hosts[next], a.endpoint().address().to_string()});
        self->resolve(std::move(hosts), next + 1, std::move(all));
    });
}

void session::choose(std::vector<found> const& all)
{
    if (all.size() < 2 && address_->list("host").size() < 2)
        return connect(all.empty() ? *address_ : only(*address_, all.front()));
    hosts_->find(all, [weak = weak_from_this(), life = life_](found const* primary, node_reply const& why_none) {
        auto const self = weak.lock();
        if (!self || life != self->life_)
            return;
        primary ? self->connect(only(*self->address_, *primary)) : self->end(why_none);
    });
}

void session::connect(address const& where)
{
    set_limit(3 * connect_timeout_);
    std::vector<char const*> names, values;
    for (auto const& [name, value] : where.settings) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    state_ = state::connecting;
    connection_.reset(PQconnectStartParams(names.data(), values.data(), 0));
    if (!connection_ || PQstatus(connection_.get()) == CONNECTION_BAD)
        return end(failure());
    wait_for(wait::write);
}

// The socket may be another one each time.
void session::poll()
{
    if (descriptor_)
        descriptor_->release();
    descriptor_.reset();
    reading_ = writing_ = false;
    switch (PQconnectPoll(connection_.get())) {
    case PGRES_POLLING_READING:
        return wait_for(wait::read);
    case PGRES_POLLING_WRITING:
        return wait_for(wait::write);
    case PGRES_POLLING_OK:
        return greet();
    default:
        return end(failure());
    }
}

void session::wait_for(wait w)
{
    auto& waiting = w == wait::read ? reading_ : writing_;
    if (waiting || !connection_)
        return;
    if (!descriptor_)
        descriptor_.emplace(executor_, PQsocket(connection_.get()));
    waiting = true;
    descriptor_->async_wait(w == wait::read ? descriptor::wait_read : descriptor::wait_write,
                            [self = shared_from_this(), w, life = life_](error_code ec) { self->on_io(w, ec, life); });
}

void session::on_io(wait w, error_code ec, std::uint64_t life)
{
    if (ec == asio::error::operation_aborted || life != life_ || !connection_)
        return;
    (w == wait::read ? reading_ : writing_) = false;
    if (state_ == state::connecting)
        return poll();
    if (w == wait::write)
        return flush();
    state_ == state::greeting && then_ ? read_simple() : read();
}

void session::flush()
{
    auto const left = PQflush(connection_.get());
    if (left < 0)
        return end(failure());
    if (left > 0)
        wait_for(wait::write);
    wait_for(wait::read);
}

// The pipeline

void session::ask(statement const& s, parameters const& p, answer tell)
{
    if (!up())
        return tell(nullptr);
    questions_.push_back({std::move(tell), clock::now()});
    auto const values = p.pointers();
    auto const lengths = p.lengths();
    auto* const c = connection_.get();
    bool const prepared = address_->options.prepare && s.name;
    auto const sent = prepared ? PQsendQueryPrepared(c, prepared_name(s, address_->options.table).c_str(), p.count(), values.data(), lengths.data(), p.formats().data(), 0)
                               : PQsendQueryParams(c, for_table(s.text, address_->options.table).c_str(), p.count(), nullptr, values.data(), lengths.data(),
                                                   p.formats().data(), 0);
    if (sent != 1 || PQpipelineSync(c) != 1) {  // no memory, or the connection has ended: told from the event loop
        asio::post(executor_, [self = shared_from_this(), life = life_] {
            if (life == self->life_)
                self->end(self->failure());
        });
        return;
    }
    flush();
}

void session::carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done)
{
    auto const [s, values] = put(c, tombstone);
    ask(*s, values, [this, &c, done = std::move(done)](PGresult const* r) {
        auto reply = r ? interpret(c, *r) : node_reply{.error = errc::connection_lost};
        bool const gone = reply.error == errc::unsupported_server;
        auto const why = gone ? reply : node_reply();
        done(std::move(reply));
        if (gone && up())  // the tables are: whoever connects makes them again
            end(why);
    });
}

void session::end(sql::backend const& b, std::function<void(bool)> done)
{
    if (b.id == 0 || b.lent)
        return done(false);
    parameters which;
    which.add_number(b.id);
    which.add_bytes(b.since);
    ask(end_backend, which, [done = std::move(done)](PGresult const* r) { done(r && PQresultStatus(r) == PGRES_TUPLES_OK && PQntuples(r) == 0); });
}

void session::look(std::function<void(bool)> done)
{
    auto const text = fmt::format("SELECT {0}, redlock_remembers({1}) AND EXISTS (SELECT FROM redlock_timeline WHERE id = {1} AND extract(epoch FROM since)::text = '{2}'), pg_backend_pid()",
                                  is_durable, server_.timeline, server_.since);
    ask({nullptr, text.c_str()}, {}, [this, done = std::move(done)](PGresult const* r) {
        if (!r || PQresultStatus(r) != PGRES_TUPLES_OK || PQntuples(r) != 1)
            return;
        if (PQgetvalue(r, 0, 1)[0] != 't')
            return end({.untouched = true, .error = errc::unsupported_server, .text = "its tables were emptied, restored or made anew"});
        if (server_.backend.id != 0 && server_.backend.id != std::strtoll(PQgetvalue(r, 0, 2), nullptr, 10))
            return end(sql::shared_backend());
        done(PQgetvalue(r, 0, 0)[0] == 't');
    });
}

void session::clean()
{
    ask(clean_up, {}, [](PGresult const*) {});
}

// Results of a question, a null, then the mark of its end. It is committed behind its result, so an error may follow that.
void session::read()
{
    auto const self = shared_from_this();
    auto const life = life_;
    auto const here = [&] { return life == life_ && connection_; };
    if (PQconsumeInput(connection_.get()) != 1)
        return end(failure());
    for (int nulls = 0; nulls < 2 && here() && !questions_.empty() && PQisBusy(connection_.get()) == 0;) {  // two: nothing was asked
        result r(PQgetResult(connection_.get()), PQclear);
        nulls = r ? 0 : nulls + 1;
        if (!r)
            continue;
        if (PQresultStatus(r.get()) != PGRES_PIPELINE_SYNC) {
            auto& last = questions_.front().last;
            if (!last || PQresultStatus(r.get()) == PGRES_FATAL_ERROR)
                last = std::move(r);
            if (PQstatus(connection_.get()) == CONNECTION_BAD)
                return end(failure());
            continue;
        }
        auto const answered = std::move(questions_.front());
        questions_.pop_front();
        answered.tell(answered.last.get());
    }
    if (!here())
        return;
    hear();
    if (here())
        flush();
}

void session::hear()
{
    auto const life = life_;
    while (life == life_ && connection_) {
        std::unique_ptr<PGnotify, void (*)(void*)> const n(PQnotifies(connection_.get()), PQfreemem);
        if (!n)
            return;
        owner_->notified(n->extra, n->be_pid);
    }
}

std::optional<clock::time_point> session::waiting_since() const
{
    return questions_.empty() ? std::nullopt : std::optional(questions_.front().asked);
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

node_reply session::failure() const
{
    auto words = connection_ ? presentable(PQerrorMessage(connection_.get()), *address_) : std::string("out of memory");
    auto const reason = state_ == state::up ? make_error_code(errc::node_unreachable) : make_error_code(reason_of(words));
    return {.untouched = true, .error = reason, .text = std::move(words)};
}

void session::end(node_reply why)
{
    if (state_ == state::down)
        return;
    bool const was_up = state_ == state::up;
    auto const self = shared_from_this();
    take_down();
    for (auto const& q : std::exchange(questions_, {}))
        q.tell(nullptr);
    if (owner_)
        owner_->down(*this, was_up, std::move(why));
}

void session::close()
{
    owner_ = nullptr;
    auto const self = shared_from_this();
    if (hosts_)
        hosts_->close();
    take_down();
    for (auto const& q : std::exchange(questions_, {}))
        q.tell(nullptr);
}

void session::abandon()
{
    owner_ = nullptr;
    if (hosts_)
        hosts_->abandon();
    // This may be a fork: what is said here would reach the server as the parent's word.
    if (connection_ && PQsocket(connection_.get()) >= 0) {
        if (auto const nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC); nowhere >= 0) {
            ::dup2(nowhere, PQsocket(connection_.get()));
            ::close(nowhere);
        }
    }
    take_down();
    questions_.clear();
}

void session::take_down()
{
    ++life_;
    state_ = state::down;
    then_ = {};
    simple_.reset();
    limit_.reset();
    resolver_.reset();
    if (descriptor_)
        descriptor_->release();
    descriptor_.reset();
    reading_ = writing_ = false;
    connection_.reset();
}

}  // namespace redlock::pg
