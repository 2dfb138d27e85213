#include "stores/kit/connections.hpp"

#include "core/backoff.hpp"
#include "core/quarantine.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::stores::kit {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 1s;
constexpr std::chrono::milliseconds request_life = 10min;  // of a request whose backend cannot be checked
constexpr unsigned clean_every = 600;                      // looks, i.e. seconds
constexpr std::size_t ask_each_within = 5;                 // looks, i.e. seconds

}  // namespace

connections::connections(database d, manager_options const& c, store_context context, owner& o)
    : database_(std::move(d)),
      context_(std::move(context)),
      max_ttl_(c.max_ttl),
      log_(c.log),
      owner_(o),
      memory_(database_.heard_within),
      random_(database_.seed),
      clean_at_(random_() % clean_every)
{
}

void connections::start(asio::any_io_executor executor, std::weak_ptr<void> self)
{
    executor_ = std::move(executor);
    self_ = std::move(self);
    look_.emplace(executor_);
    for (std::size_t i = 0; i < database_.connections; ++i)
        all_.push_back({database_.make_session(executor_, i, *this)});
}

void connections::open()
{
    if (std::exchange(begun_, true))
        return;
    all_.front().session->open();
    look_again_later();
}

void connections::leave(void (session::*how)())
{
    closed_ = true;
    for (auto const& one : sessions())
        ((*one).*how)();
    ready_ = notifies_ = false;
    look_.reset();
    all_.clear();
    executor_ = {};
}

session* connections::session_for(std::string_view text, clock::time_point now)
{
    auto const first = std::hash<std::string_view>()(text);
    for (std::size_t i = 0; i < all_.size(); ++i) {
        auto& one = *all_[(first + i) % all_.size()].session;
        if (one.up() && !silent(one, now))
            return &one;
    }
    return nullptr;
}

// A silent connection counts, too. Other connections do its work, but its last commands may still be on their way.
bool connections::may_still_execute(std::uint32_t n) const
{
    bool const is_there =
        std::any_of(all_.begin(), all_.end(), [n](auto& c) { return c.session->up() && c.session->number == n; });
    return is_there || std::any_of(ended_.begin(), ended_.end(), [n](auto& e) { return e.number == n; });
}

bool connections::silent(session const& s, clock::time_point now) const
{
    auto const since = s.waiting_since();
    return since && now - *since > 2 * database_.timeout + look_every;
}

// A copy, because a callback may close this object.
std::vector<std::shared_ptr<session>> connections::sessions() const
{
    std::vector<std::shared_ptr<session>> all;
    for (auto const& c : all_)
        all.push_back(c.session);
    return all;
}

connections::connection& connections::connection_of(session& s)
{
    return *std::find_if(all_.begin(), all_.end(), [&](auto& c) { return c.session.get() == &s; });
}

// Failover and restarts

node_reply connections::check_server(session& s, introduction const& server)
{
    auto const other = server.system.empty() ? std::string()
                                             : context_.claim(database_.name, database_.kind + ":" + server.system);
    if (!other.empty())
        return {.untouched = true, .error = errc::duplicate_node, .text = "it is the same server as " + other};
    bool const is_copy = server.system == server_.system;
    if (is_copy && server.timeline < server_.timeline)
        return replaced();
    if (has_backend_of_another(s, server.backend)) {
        cut_others(s, shared_backend());
        return shared_backend();
    }
    bool const is_known = !server_.started.empty();
    bool const replaces = is_known && (!is_copy || server.timeline > server_.timeline);
    if (server.started != server_.started)
        ended_.clear();  // the restart has ended all backends
    if (!server.record.word.empty())
        memory_.told(server.record, clock::now());
    if (auto why = memory_.why_shared(max_ttl_, clock::now()); !why.empty()) {
        node_reply const refusal{.untouched = true, .error = errc::unsupported_server, .text = std::move(why)};
        cut_others(s, refusal);
        return refusal;
    }
    server_ = server;
    s.number = ++number_ == 0 ? ++number_ : number_;
    if (replaces)
        cut_others(s, replaced());
    return {};
}

bool connections::has_backend_of_another(session const& s, kit::backend const& b) const
{
    auto const has_it = [&](auto& c) {
        return c.session.get() != &s && c.session->up() && c.session->server().backend == b;
    };
    return b.id != 0 && !b.since.empty() && std::any_of(all_.begin(), all_.end(), has_it);
}

void connections::cut_others(session const& s, node_reply const& why)
{
    for (auto const& one : sessions()) {
        if (one.get() != &s && one->up())
            one->cut(why);
    }
}

// The first session gets the notifications, so it connects before the others.
void connections::open_others()
{
    if (std::exchange(all_begun_, true))
        return;
    for (auto const& one : sessions()) {
        if (!one->busy())
            one->open();
    }
}

void connections::up(session& s)
{
    auto& c = connection_of(s);
    c.up_since = clock::now();
    trouble_ = {};
    if (&c == &all_.front())
        notifies_ = s.notifies();
    if (!ready_.exchange(true)) {
        log(log_level::info, "connected");
        met_.reset();
    }
    auto const known = memory_.word().empty() ? server_identity() : memory_.identity();
    if (std::exchange(met_, known) != known)
        owner_.connected(known);
    end_earlier();
    owner_.state_changed();
    open_others();
    if (!closed_ && is_fresh())
        look_again_later();
}

void connections::down(session& s, bool was_up, node_reply why)
{
    auto& c = connection_of(s);
    auto const now = clock::now();
    if (!was_up && c.failures > 0 && why.error == errc::node_unreachable)
        why.text += " (" + std::to_string(c.failures + 1) + " attempts)";
    c.failures = was_up && now - c.up_since > core::reconnection_pause_max ? 0 : c.failures + 1;
    c.retry.emplace(executor_, now + pause(c.failures));
    c.retry->async_wait([this, weak = self_, ended = c.session](error_code ec) {
        if (auto const self = weak.lock(); !ec && self && !closed_ && !ended->busy())
            ended->open();
    });
    // After a restart the backend is gone, and its number may belong to another client's backend.
    if (was_up && s.server().started == server_.started)
        ended_.push_back({s.number, s.server().backend, now});
    if (&c == &all_.front() && notifies_.exchange(false))
        owner_.changes_missed();
    if (closed_ || std::any_of(all_.begin(), all_.end(), [](auto& other) { return other.session->up(); }))
        return;
    if (ready_.exchange(false) && why.error == errc::node_unreachable) {
        log(log_level::warning, "connection lost: " + why.text);
        trouble_ = {};  // operations wait for the result of the first attempt to reconnect
    } else {
        set_trouble(std::move(why));
    }
    owner_.state_changed();
}

void connections::set_trouble(node_reply why)
{
    if (trouble_.error != why.error)
        log(log_level::warning, why.error.message() + ": " + why.text);
    trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
}

void connections::notified(std::string_view what) { owner_.notified(what); }

// Back-off with jitter. After a connection that was up for a while, the first pause is short.
clock::duration connections::pause(unsigned failures)
{
    return core::reconnection_pause(failures, std::generate_canonical<double, 53>(random_));
}

// Checks once a second

void connections::look_again_later()
{
    look_->expires_after(is_fresh() ? core::look_soon_after : look_every);
    look_->async_wait([this, weak = self_](error_code ec) {
        if (auto const self = weak.lock(); !ec && self && !closed_)
            check_sessions();
    });
}

bool connections::is_fresh() const { return core::is_new(memory_.identity(), core::founding_time, clock::now()); }

void connections::check_sessions()
{
    auto const now = clock::now();
    ++looks_;
    std::vector<std::shared_ptr<session>> answering;
    for (auto const& one : sessions()) {
        if (one->up() && silent(*one, now)) {
            log(log_level::warning, "it has stopped answering");
            one->cut({.untouched = true, .error = errc::node_unreachable, .text = "it has stopped answering"});
        } else if (one->up()) {
            answering.push_back(one);
        }
    }
    // At least one session asks at each look, even if it is busy: the settings of a busy server may change, too.
    auto const period = std::min(answering.size(), ask_each_within);
    for (std::size_t i = 0; i < answering.size(); ++i) {
        if (i % period == looks_ % period && answering[i]->up())
            look(*answering[i], {}, [](core::memory_record const*) {});
    }
    if (closed_)
        return;
    end_earlier();
    if (all_.front().session->up() && looks_ % clean_every == clean_at_)
        all_.front().session->clean();
    owner_.looked();
    if (!closed_)
        look_again_later();
}

// The server's settings may change during a connection, and its tables may be replaced. The function `done` gets the
// record. It gets null if the server has not told the record that this object knows.
void connections::look(session& s, std::string verdict, std::function<void(core::memory_record const*)> done)
{
    s.look(std::move(verdict),
           [this, &s, started = s.server().started, done = std::move(done)](core::memory_record const* r) {
               bool const is_of_this_life = r && !closed_ && started == server_.started;
               bool const is_same = is_of_this_life && r->word == memory_.word();
               if (is_same) {
                   memory_.told(*r, clock::now());
                   tell_what_is_known();
               } else if (is_of_this_life) {
                   s.cut({.untouched = true,
                          .error = errc::node_unreachable,
                          .text = "its record is gone or begins anew, so it may have forgotten locks"});
               }
               done(is_same ? r : nullptr);
           });
}

void connections::found(session& s, commands::found how, std::function<void(node_reply)> done)
{
    auto verdict = how.only_asks ? std::string() : memory_.verdict(core::beginning::founded);
    look(s, std::move(verdict), [this, how, done = std::move(done)](core::memory_record const* r) {
        if (!r)
            return done({.error = errc::connection_lost});
        bool const granted = how.only_asks ? memory_.says_again(max_ttl_, clock::now())
                                           : r->began == core::beginning::founded;
        done({.vote = granted ? vote::granted : vote::denied});
    });
}

void connections::note_old_set()
{
    if (auto* const s = session_for({}, clock::now()))
        look(*s, memory_.verdict(core::beginning::in_old_set), [](core::memory_record const*) {});
}

// A greeting may have changed the record, too, if its connection ended before it was up.
void connections::tell_what_is_known()
{
    if (met_ && std::exchange(met_, memory_.identity()) != memory_.identity())
        owner_.learned(*met_);
}

// After a connection has ended, the server may still execute its commands, until the backend is gone.
void connections::end_earlier()
{
    auto const up = std::find_if(all_.begin(), all_.end(), [](auto& c) { return c.session->up(); });
    if (up == all_.end())
        return;
    auto const asking = up->session;
    std::erase_if(ended_, [now = clock::now()](auto& e) { return now - e.at > request_life; });
    for (auto const& e : std::vector(ended_)) {
        if (closed_)
            return;
        asking->end(e.backend, [this, number = e.number](bool gone) {
            if (gone)
                std::erase_if(ended_, [number](auto& other) { return other.number == number; });
        });
    }
}

void connections::log(log_level level, std::string const& what) const
{
    if (log_)
        log_(level, database_.name + ": " + what);
}

}  // namespace redlock::stores::kit
