#include "stores/postgresql/transport.hpp"

#include "stores/postgresql/schema.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <utility>
#include <vector>

namespace redlock::stores::postgresql {

namespace {

// The reason in libpq's message when it cannot connect. The server's error has no code there.
errc reason_of(std::string const& words)
{
    auto const has = [&](std::string_view part) { return words.find(part) != words.npos; };
    bool const is_stranger = has("role \"") && has("does not exist");
    if (has("authentication failed") || has("no password supplied") || has("pg_hba.conf") || is_stranger)
        return errc::authentication_failed;
    if (has("starting up") || has("shutting down") || has("recovery"))
        return errc::node_loading;
    if (has("too many clients") || has("connection slots"))
        return errc::node_refuses_writes;
    if (has("session is read-only"))
        return errc::node_read_only;
    return errc::node_unreachable;
}

// An earlier client of a pooler may have prepared the statement. The name implies the same text.
bool is_prepared_already(PGresult const& r)
{
    auto const* const state = PQresultErrorField(&r, PG_DIAG_SQLSTATE);
    return state && std::string_view(state) == "42P05";
}

}  // namespace

transport::transport(asio::any_io_executor e, std::shared_ptr<address const> a, std::chrono::milliseconds timeout,
                     owner& o)
    : kit::database_session<address>(std::move(e), std::move(a), timeout, o)
{
}

transport::~transport() { disconnect(); }

// Connecting.

void transport::connect_to(address const& where)
{
    set_limit(3 * connect_timeout_);
    std::vector<char const*> names, values;
    for (auto const& [name, value] : where.settings) {
        names.push_back(name.c_str());
        values.push_back(value.c_str());
    }
    names.push_back(nullptr);
    values.push_back(nullptr);
    handle_.reset(PQconnectStartParams(names.data(), values.data(), 0));
    if (!handle_ || PQstatus(handle()) == CONNECTION_BAD)
        return fail();
    wait_for(descriptor::wait_write);
}

// libpq may use another socket each time.
void transport::poll()
{
    if (descriptor_)
        descriptor_->release();
    descriptor_.reset();
    reading_ = writing_ = false;
    switch (PQconnectPoll(handle())) {
    case PGRES_POLLING_READING:
        return wait_for(descriptor::wait_read);
    case PGRES_POLLING_WRITING:
        return wait_for(descriptor::wait_write);
    case PGRES_POLLING_OK:
        greeting();
        PQsetnonblocking(handle(), 1);
        PQsetNoticeProcessor(
            handle(), [](void*, char const*) {}, nullptr);
        return greet();
    default:
        return fail();
    }
}

void transport::wait_for(descriptor::wait_type w)
{
    auto& waiting = w == descriptor::wait_read ? reading_ : writing_;
    if (waiting || !handle_)
        return;
    if (!descriptor_)
        descriptor_.emplace(executor_, PQsocket(handle()));
    waiting = true;
    descriptor_->async_wait(w, in_this_life([this, w](error_code ec) { on_io(w, ec); }));
}

void transport::on_io(descriptor::wait_type w, error_code ec)
{
    if (ec == asio::error::operation_aborted || !handle_)
        return;
    (w == descriptor::wait_read ? reading_ : writing_) = false;
    if (!up() && !is_greeting())
        return poll();
    if (w == descriptor::wait_write)
        return flush();
    is_greeting() && then_ ? read_simple() : read();
}

void transport::flush()
{
    auto const left = PQflush(handle());
    if (left < 0)
        return fail();
    if (left > 0)
        wait_for(descriptor::wait_write);
    wait_for(descriptor::wait_read);
}

// Before the pipeline.

void transport::simple_query(std::string const& text, std::function<void(PGresult const&)> then)
{
    then_ = std::move(then);
    if (PQsendQuery(handle(), text.c_str()) != 1)
        return fail();
    flush();
}

void transport::read_simple()
{
    if (PQconsumeInput(handle()) != 1)
        return fail();
    while (PQisBusy(handle()) == 0) {
        result r(PQgetResult(handle()), PQclear);
        if (!r) {
            auto const then = std::exchange(then_, {});
            auto const last = std::move(simple_);
            return last ? then(*last) : fail();
        }
        if (!simple_ || PQresultStatus(simple_.get()) != PGRES_FATAL_ERROR)
            simple_ = std::move(r);
    }
    wait_for(descriptor::wait_read);
}

// The pipeline.

bool transport::begin_pipeline()
{
    bool const begun = PQenterPipelineMode(handle()) == 1;
    if (!begun)
        fail();
    return begun;
}

bool transport::prepare(statement const& s)
{
    auto const name = prepared_name(s, address_->options.table), text = for_our_table(s.text);
    auto* const c = handle();
    bool const sent = PQsendPrepare(c, name.c_str(), text.c_str(), 0, nullptr) == 1 && PQpipelineSync(c) == 1;
    auto tell = [this](PGresult const* r) {
        if (r && PQresultStatus(r) == PGRES_FATAL_ERROR && !is_prepared_already(*r))
            cut(refusal(*r));
    };
    if (sent)
        questions_.push_back({std::move(tell), clock::now()});
    else
        fail();
    return sent;
}

void transport::ask(statement const& s, parameters const& p, answer tell)
{
    if (!up())
        return tell(nullptr);
    questions_.push_back({std::move(tell), clock::now()});
    bool const prepared = address_->options.prepare && !s.name.empty();
    auto const text = prepared ? prepared_name(s, address_->options.table) : for_our_table(s.text);
    auto const values = p.pointers();
    auto const sizes = p.lengths();
    auto const* const form = p.formats().data();
    auto const n = p.count();
    auto* const c = handle();
    auto const sent = prepared ? PQsendQueryPrepared(c, text.c_str(), n, values.data(), sizes.data(), form, 0)
                               : PQsendQueryParams(c, text.c_str(), n, nullptr, values.data(), sizes.data(), form, 0);
    // Either the client is out of memory, or the connection has ended. The event loop reports it.
    if (sent != 1 || PQpipelineSync(c) != 1)
        return asio::post(executor_, in_this_life([this] { fail(); }));
    flush();
}

// A question gets its results, a null, and a mark of its end. The server commits after the result, so an error may
// follow a result.
void transport::read()
{
    auto const self = shared_from_this();
    auto const here = [this, before = life()] { return before == life() && handle_; };
    if (PQconsumeInput(handle()) != 1)
        return fail();
    int nulls = 0;  // two in a row: libpq has no further results
    while (nulls < 2 && here() && !questions_.empty() && PQisBusy(handle()) == 0) {
        result r(PQgetResult(handle()), PQclear);
        nulls = r ? 0 : nulls + 1;
        if (!r)
            continue;
        if (PQresultStatus(r.get()) != PGRES_PIPELINE_SYNC) {
            auto& last = questions_.front().last;
            if (!last || PQresultStatus(r.get()) == PGRES_FATAL_ERROR)
                last = std::move(r);
            if (PQstatus(handle()) == CONNECTION_BAD)
                return fail();
            continue;
        }
        auto const answered = std::move(questions_.front());
        questions_.pop_front();
        answered.tell(answered.last.get());
    }
    while (here()) {
        std::unique_ptr<PGnotify, void (*)(void*)> const n(PQnotifies(handle()), PQfreemem);
        if (!n)
            return flush();
        owner_->notified(n->extra);
    }
}

std::optional<clock::time_point> transport::waiting_since() const
{
    return questions_.empty() ? std::nullopt : std::optional(questions_.front().asked);
}

// The end.

void transport::fail()
{
    std::string const words = handle_ ? PQerrorMessage(handle()) : "out of memory";
    refuse(up() ? errc::node_unreachable : reason_of(words), presentable(words, *address_));
}

void transport::fail_all()
{
    for (auto const& q : std::exchange(questions_, {}))
        q.tell(nullptr);
}

void transport::abandon_connection()
{
    kit::silence(handle_ ? PQsocket(handle()) : -1);
    questions_.clear();
}

void transport::disconnect()
{
    then_ = {};
    simple_.reset();
    if (descriptor_)
        descriptor_->release();
    descriptor_.reset();
    reading_ = writing_ = false;
    handle_.reset();
}

}  // namespace redlock::stores::postgresql
