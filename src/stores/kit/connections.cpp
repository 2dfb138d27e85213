#include "stores/kit/connections.hpp"

#include "core/backoff.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::stores::kit {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 1s;
constexpr std::chrono::milliseconds request_life = 10min;  // of one whose backend cannot be looked for
constexpr unsigned clean_every = 600;                      // looks
constexpr std::size_t ask_each_within = 5;                 // looks

// A database recovers from its log at each start.
core::log_state log_of(bool durable) { return {.complete = true, .synced = durable, .from_start = true}; }

}  // namespace

connections::connections(database d, config const& c, store_context context, owner& o)
    : database_(std::move(d)),
      max_ttl_(c.max_ttl),
      context_(std::move(context)),
      log_(c.log),
      owner_(o),
      history_(c.max_ttl),
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
        places_.push_back({database_.make_session(executor_, i, *this)});
}

void connections::open()
{
    if (std::exchange(begun_, true))
        return;
    places_.front().link->open();
    look_again_later();
}

void connections::leave(void (session::*how)())
{
    closed_ = true;
    for (auto const& link : links())
        ((*link).*how)();
    ready_ = notifies_ = false;
    look_.reset();
    places_.clear();
    executor_ = {};
}

session* connections::session_for(std::string_view text, clock::time_point now)
{
    auto const first = std::hash<std::string_view>()(text);
    for (std::size_t i = 0; i < places_.size(); ++i) {
        auto& link = *places_[(first + i) % places_.size()].link;
        if (link.up() && !silent(link, now))
            return &link;
    }
    return nullptr;
}

// One that is silent is still there, although others do its work: what was sent on it may be on its way.
bool connections::may_still_execute(std::uint32_t n) const
{
    bool const is_there =
        std::any_of(places_.begin(), places_.end(), [n](auto& p) { return p.link->up() && p.link->number == n; });
    return is_there || std::any_of(ended_.begin(), ended_.end(), [n](auto& e) { return e.number == n; });
}

bool connections::silent(session const& link, clock::time_point now) const
{
    auto const since = link.waiting_since();
    return since && now - *since > 2 * database_.timeout + look_every;
}

// A copy: who is told of something may close us.
std::vector<std::shared_ptr<session>> connections::links() const
{
    std::vector<std::shared_ptr<session>> all;
    for (auto const& p : places_)
        all.push_back(p.link);
    return all;
}

connections::place& connections::place_of(session& s)
{
    return *std::find_if(places_.begin(), places_.end(), [&](auto& p) { return p.link.get() == &s; });
}

// From one server to the next

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
    history_.greeted(server.system + ' ' + server.started, server.uptime, log_of(server.durable), clock::now());
    bool const restarted = !history_.same_server();
    if (restarted)
        ended_.clear();  // with the server's processes
    if (is_known && !is_copy)
        met_another_ = clock::now();
    if (server.since != server_.since)
        forgets_ = server.forgot || is_known;
    if (restarted || server.since != server_.since) {
        identity_ = identity_of(server);
        unmet_ = true;
    }
    server_ = server;
    s.number = ++number_ == 0 ? ++number_ : number_;
    if (replaces)
        cut_others(s, replaced());
    return {};
}

bool connections::has_backend_of_another(session const& s, kit::backend const& b) const
{
    auto const has_it = [&](auto& p) { return p.link.get() != &s && p.link->up() && p.link->server().backend == b; };
    return b.id != 0 && !b.since.empty() && std::any_of(places_.begin(), places_.end(), has_it);
}

void connections::cut_others(session const& s, node_reply const& why)
{
    for (auto const& link : links()) {
        if (link.get() != &s && link->up())
            link->cut(why);
    }
}

// Another database has never heard of the locks of the one before, however old it is. A promoted standby may have
// forgotten what it had not heard of, and tables that are made anew have forgotten all. A crash forgets only what was
// not flushed.
server_identity connections::identity_of(introduction const& server) const
{
    auto const now = clock::now();
    auto const& crashed = history_.identity();
    auto const age = met_another_ ? std::min<clock::duration>(server.age, now - *met_another_) : server.age;
    if (age >= max_ttl_ + database_.heard_within)
        return crashed;
    server_identity begun{.durable = false, .restarted = forgets_, .began = now - age + database_.heard_within};
    if (!crashed.durable) {
        begun.restarted = begun.restarted || crashed.restarted;
        begun.began = std::max(begun.began, crashed.began);
    }
    return begun;
}

// The first one listens, so it comes first.
void connections::open_others()
{
    if (std::exchange(all_begun_, true))
        return;
    for (auto const& link : links()) {
        if (!link->busy())
            link->open();
    }
}

void connections::up(session& s)
{
    auto& p = place_of(s);
    p.up_since = clock::now();
    trouble_ = {};
    if (&p == &places_.front())
        notifies_ = s.notifies();
    if (!ready_.exchange(true)) {
        log(log_level::info, "connected");
        unmet_ = true;
    }
    if (std::exchange(unmet_, false))
        owner_.connected(identity_);
    end_earlier();
    owner_.state_changed();
    open_others();
}

void connections::down(session& s, bool was_up, node_reply why)
{
    auto& p = place_of(s);
    auto const now = clock::now();
    if (!was_up && p.failures > 0 && why.error == errc::node_unreachable)
        why.text += " (" + std::to_string(p.failures + 1) + " attempts)";
    p.failures = was_up && now - p.up_since > core::reconnection_pause_max ? 0 : p.failures + 1;
    p.retry.emplace(executor_, now + pause(p.failures));
    p.retry->async_wait([this, weak = self_, link = p.link](error_code ec) {
        if (auto const self = weak.lock(); !ec && self && !closed_ && !link->busy())
            link->open();
    });
    if (was_up && s.server().started == server_.started)  // otherwise its backend is gone, and the number may be a
                                                          // stranger's
        ended_.push_back({s.number, s.server().backend, now});
    if (&p == &places_.front() && notifies_.exchange(false))
        owner_.changes_missed();
    if (closed_ || std::any_of(places_.begin(), places_.end(), [](auto& other) { return other.link->up(); }))
        return;
    if (ready_.exchange(false) && why.error == errc::node_unreachable) {
        log(log_level::warning, "connection lost: " + why.text);
        trouble_ = {};  // wait for the outcome of the first attempt to come back
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

void connections::notified(std::string_view what, std::int64_t by)
{
    bool const is_own = std::any_of(places_.begin(), places_.end(),
                                    [by](auto& p) { return p.link->up() && p.link->server().backend.id == by; });
    if (!is_own)  // who changes something is not told of it
        owner_.notified(what);
}

// Soon after a connection that had worked for a while, then growing up to half a second; never in step with others.
clock::duration connections::pause(unsigned failures)
{
    return core::reconnection_pause(failures, std::generate_canonical<double, 53>(random_));
}

// Once a second

void connections::look_again_later()
{
    look_->expires_after(look_every);
    look_->async_wait([this, weak = self_](error_code ec) {
        if (auto const self = weak.lock(); !ec && self && !closed_)
            check_links();
    });
}

void connections::check_links()
{
    auto const now = clock::now();
    ++looks_;
    std::vector<std::shared_ptr<session>> answering;
    for (auto const& link : links()) {
        if (link->up() && silent(*link, now)) {
            log(log_level::warning, "it has stopped answering");
            link->cut({.untouched = true, .error = errc::node_unreachable, .text = "it has stopped answering"});
        } else if (link->up()) {
            answering.push_back(link);
        }
    }
    // At least one is asked at each look, however busy it is: a server that is never idle may be set to forget, too.
    auto const period = std::min(answering.size(), ask_each_within);
    for (std::size_t i = 0; i < answering.size(); ++i) {
        if (i % period == looks_ % period && answering[i]->up())
            answering[i]->ask_durability([this, &s = *answering[i]](bool durable) { durability_told(s, durable); });
    }
    if (closed_)
        return;
    end_earlier();
    if (places_.front().link->up() && looks_ % clean_every == clean_at_)
        places_.front().link->clean();
    owner_.looked();
    if (!closed_)
        look_again_later();
}

// The server's settings may change while it is connected. A crash forgets what was not flushed under the last ones.
void connections::durability_told(session const& s, bool durable)
{
    if (!closed_ && s.server().started == server_.started)  // otherwise the answer is of the life before
        history_.looked(log_of(durable), clock::now());
}

// What a connection carried that has ended may still be executed, until its backend is gone.
void connections::end_earlier()
{
    auto const up = std::find_if(places_.begin(), places_.end(), [](auto& p) { return p.link->up(); });
    if (up == places_.end())
        return;
    auto const link = up->link;
    std::erase_if(ended_, [now = clock::now()](auto& e) { return now - e.at > request_life; });
    for (auto const& e : std::vector(ended_)) {
        if (closed_)
            return;
        link->end(e.backend, [this, number = e.number](bool gone) {
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
