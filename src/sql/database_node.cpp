#include "sql/database_node.hpp"

#include "sql/watches.hpp"

#include <redlock/error.hpp>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <atomic>
#include <functional>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace redlock::sql {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_every = 1s;
constexpr std::chrono::milliseconds pause_max = 500ms;  // between attempts to connect
constexpr auto clean_every = 600;                       // looks
constexpr auto sign_every = 5;                          // looks

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

node_reply too_late()
{
    return {.untouched = true, .error = errc::node_unreachable};
}

/** A database: a few connections, and what is to be sent on them.

    Operations are sent as they come. What has one value goes on one connection, so that a release is carried out after its acquisition.
*/
class database_node final : public node, public session::owner, public std::enable_shared_from_this<database_node> {
public:
    database_node(database d, config const& c, store_context context)
        : database_(std::move(d)), max_ttl_(c.max_ttl), context_(std::move(context)), log_(c.log)
    {
    }

    std::string const& name() const noexcept override { return database_.name; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return notifies_.load(std::memory_order_relaxed); }
    node_limits limits() const override { return {.timeout = database_.timeout}; }
    bool can(node_command const&) const noexcept override { return true; }

    bool may_still_execute(std::uint32_t connection) const override
    {
        return std::any_of(ended_.begin(), ended_.end(), [&](auto& e) { return e.number == connection; });
    }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        look_.emplace(executor_);
        for (std::size_t i = 0; i < database_.connections; ++i)
            places_.push_back({database_.make_session(executor_, i, *this)});
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        queue_.push_back(std::move(o));
        flush_soon();
        if (!std::exchange(begun_, true)) {
            places_.front().link->open();
            look_again_later();
        }
    }

    void close() override
    {
        auto const self = shared_from_this();
        closed_ = true;
        for (auto const& link : links())
            link->close();
        for (auto const& o : std::exchange(queue_, {}))
            o->complete({.untouched = true, .error = errc::node_closed});
        let_go();
    }

    void abandon() override
    {
        closed_ = true;
        for (auto const& link : links())
            link->abandon();
        queue_.clear();
        let_go();
    }

private:
    struct place {
        std::shared_ptr<session> link;
        std::optional<timer> retry{};
        unsigned failures = 0;
        clock::time_point up_since{};
    };

    /// A connection that has ended, whose server process may not know it yet.
    struct ended {
        std::uint32_t number;
        sql::backend backend;
    };

    void let_go()
    {
        ready_ = notifies_ = false;
        events_ = {};
        look_.reset();
        places_.clear();
        executor_ = {};
    }

    // Sending

    void flush_soon()
    {
        if (std::exchange(flush_due_, true))
            return;
        asio::post(executor_, [weak = weak_from_this()] {
            if (auto const self = weak.lock(); self && !self->closed_)
                self->flush();
        });
    }

    void flush()
    {
        flush_due_ = false;
        auto const now = clock::now();
        for (auto& o : std::exchange(queue_, {})) {
            if (closed_)
                o->complete({.untouched = true, .error = errc::node_closed});
            else
                send(std::move(o), now);
        }
    }

    void send(std::shared_ptr<node_operation> o, clock::time_point now)
    {
        auto const& c = o->command();
        auto* const p = place_for(c, now);
        if (o->withdrawn() || now > o->not_after)
            return o->complete(too_late());
        if (!p && trouble_.error && c.what != node_command::kind::release)
            return o->complete(trouble_);
        if (!p)
            return queue_.push_back(std::move(o));
        if (c.what == node_command::kind::connect)
            return o->complete({.vote = vote::granted});
        auto& link = *p->link;
        o->mark_sent(link.number);
        bool const watches = c.watch && notifies();
        if (watches)
            watches_.sent(c);
        link.carry_out(c, o->leaves_tombstone(link.number), [this, o, watches](node_reply r) { answered(*o, std::move(r), watches); });
    }

    void answered(node_operation& o, node_reply reply, bool watches)
    {
        std::vector<std::string> changed;
        if (watches) {
            reply.watched = reply.vote == vote::denied && notifies();
            changed = watches_.answered(o.command(), reply, clock::now());
        }
        auto const self = shared_from_this();
        o.complete(std::move(reply));
        for (auto const& name : changed)
            tell(name);
    }

    // The one that the value belongs to, or, if that is away, another.
    place* place_for(node_command const& c, clock::time_point now)
    {
        auto const text = c.value.empty() && !c.keys.empty() ? std::string_view(c.key()) : c.value;
        auto const first = std::hash<std::string_view>()(text) % places_.size();
        for (std::size_t i = 0; i < places_.size(); ++i) {
            auto& p = places_[(first + i) % places_.size()];
            if (p.link->up() && !silent(*p.link, now))
                return &p;
        }
        return nullptr;
    }

    bool silent(session const& link, clock::time_point now) const
    {
        auto const since = link.waiting_since();
        return since && now - *since > 2 * database_.timeout + look_every;
    }

    // Connections

    // A copy: who is told of something may close us.
    std::vector<std::shared_ptr<session>> links() const
    {
        std::vector<std::shared_ptr<session>> all;
        for (auto const& p : places_)
            all.push_back(p.link);
        return all;
    }

    place& place_of(session& s)
    {
        return *std::find_if(places_.begin(), places_.end(), [&](auto& p) { return p.link.get() == &s; });
    }

    node_reply meet(session& s, introduction const& server) override
    {
        if (auto const other = server.system.empty() ? std::string() : context_.claim(database_.name, database_.kind + ":" + server.system); !other.empty())
            return {.untouched = true, .error = errc::duplicate_node, .text = "it is the same server as " + other};
        if (server.system == server_.system && server.timeline < server_.timeline)
            return {.untouched = true, .error = errc::node_read_only, .text = "another server has been promoted in its place"};
        bool const promoted = server.timeline > server_.timeline && !server_.system.empty();
        bool const restarted = server.started != server_.started;
        if (restarted)
            ended_.clear();  // with the server's processes
        if (restarted || promoted || server.durable != server_.durable) {
            identity_ = identity_of(server);
            unmet_ = true;
        }
        server_ = server;
        s.number = ++number_ == 0 ? ++number_ : number_;
        if (promoted) {
            for (auto const& link : links()) {
                if (link.get() != &s && link->up())
                    link->cut({.untouched = true, .error = errc::node_read_only, .text = "another server has been promoted in its place"});
            }
        }
        return {};
    }

    // A promotion may have forgotten what the standby had not heard of; a crash only what was not flushed.
    server_identity identity_of(introduction const& server) const
    {
        auto const now = clock::now();
        if (server.timeline_age.count() >= 0 && server.timeline_age < max_ttl_)
            return {.durable = false, .restarted = true, .began = now - server.timeline_age};
        return {.durable = server.durable, .restarted = !server_.started.empty(), .began = now - server.uptime};
    }

    // The first one listens, so it comes first.
    void open_others()
    {
        if (std::exchange(all_begun_, true))
            return;
        for (auto const& link : links()) {
            if (!link->busy())
                link->open();
        }
    }

    void up(session& s) override
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
        if (std::exchange(unmet_, false) && events_.connected)
            events_.connected(identity_);
        end_earlier();
        flush_soon();
        open_others();
    }

    void down(session& s, bool was_up, node_reply why) override
    {
        auto& p = place_of(s);
        auto const now = clock::now();
        p.failures = was_up && now - p.up_since > pause_max ? 0 : p.failures + 1;
        p.retry.emplace(executor_, now + pause(p.failures));
        p.retry->async_wait([weak = weak_from_this(), link = p.link](error_code ec) {
            if (auto const self = weak.lock(); !ec && self && !self->closed_ && !link->busy())
                link->open();
        });
        if (was_up)
            ended_.push_back({s.number, s.server().backend});
        if (&p == &places_.front() && notifies_.exchange(false)) {
            watches_.clear();
            tell({});  // whatever would have been told is lost
        }
        if (std::any_of(places_.begin(), places_.end(), [](auto& other) { return other.link->up(); }))
            return;
        bool const was_ready = ready_.exchange(false);
        if (was_ready && why.error == errc::node_unreachable) {
            log(log_level::warning, "connection lost: " + why.text);
            trouble_ = {};  // wait for the outcome of the first attempt to come back
        } else {
            if (trouble_.error != why.error)
                log(log_level::warning, why.error.message() + ": " + why.text);
            trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
        }
        flush_soon();
    }

    void notified(std::string_view what, std::int64_t by) override
    {
        if (std::any_of(places_.begin(), places_.end(), [&](auto& p) { return p.link->up() && p.link->server().backend.id == by; }))
            return;  // who changes something is not told of it
        if (auto const name = watches_.heard(what); !name.empty())
            tell(name);
    }

    void tell(std::string const& name)
    {
        if (events_.changed)
            events_.changed(name);
    }

    // Soon after a connection that had worked for a while, then growing up to half a second; never in step with others.
    clock::duration pause(unsigned failures)
    {
        auto const ceiling = std::min<std::chrono::milliseconds>(10ms * (1 << std::min(failures, 6u)), pause_max);
        return std::chrono::duration_cast<clock::duration>(ceiling * std::uniform_real_distribution(0.5, 1.0)(random_));
    }

    // Once a second

    void look_again_later()
    {
        look_->expires_after(look_every);
        look_->async_wait([weak = weak_from_this()](error_code ec) {
            if (auto const self = weak.lock(); !ec && self && !self->closed_)
                self->look();
        });
    }

    void look()
    {
        auto const self = shared_from_this();
        auto const now = clock::now();
        ++looks_;
        for (auto const& link : links()) {
            if (link->up() && silent(*link, now)) {
                log(log_level::warning, "it has stopped answering");
                link->cut({.untouched = true, .error = errc::node_unreachable, .text = "it has stopped answering"});
            } else if (link->up() && looks_ % sign_every == 0 && !link->waiting_since()) {
                link->look([this](bool durable) { looked(durable); });
            }
        }
        if (closed_)
            return;
        end_earlier();
        if (places_.front().link->up() && looks_ % clean_every == clean_at_)
            places_.front().link->clean();
        auto const queue = std::exchange(queue_, {});
        for (auto const& o : queue) {
            if (closed_)
                o->complete({.untouched = true, .error = errc::node_closed});
            else if (o->withdrawn() || now > o->not_after)
                o->complete(too_late());
            else
                queue_.push_back(o);
        }
        if (closed_)
            return;
        if (!queue_.empty())
            flush_soon();
        look_again_later();
    }

    // Whether it would remember may change while we are connected: whether a crash forgets depends on what it was like at last.
    void looked(bool durable)
    {
        if (closed_ || durable || !server_.durable)
            return;
        server_.durable = identity_.durable = false;
        events_.connected(identity_);
    }

    // What a connection carried that has ended may still be executed, until its process is gone.
    void end_earlier()
    {
        auto const up = std::find_if(places_.begin(), places_.end(), [](auto& p) { return p.link->up(); });
        if (up == places_.end())
            return;
        auto const link = up->link;
        for (auto const& e : std::vector(ended_)) {
            link->end(e.backend, [this, number = e.number](bool gone) {
                if (gone)
                    std::erase_if(ended_, [number](auto& other) { return other.number == number; });
            });
        }
    }

    void log(log_level level, std::string const& what) const override
    {
        if (log_)
            log_(level, database_.name + ": " + what);
    }

    database const database_;
    std::chrono::milliseconds const max_ttl_;
    store_context const context_;
    std::function<void(log_level, std::string_view)> const log_;
    asio::any_io_executor executor_;
    node_events events_;
    std::atomic<bool> ready_{false}, notifies_{false};
    bool begun_ = false, all_begun_ = false, closed_ = false, flush_due_ = false;
    std::vector<place> places_;
    std::vector<std::shared_ptr<node_operation>> queue_;
    node_reply trouble_;           ///< why no connection could be made; no error while it is not known
    introduction server_;          ///< the latest
    server_identity identity_;
    bool unmet_ = false;           ///< the manager has not heard of it yet
    std::uint32_t number_ = 0;     ///< of the latest connection
    std::vector<ended> ended_;
    watches watches_;
    std::optional<timer> look_;
    unsigned looks_ = 0;
    std::minstd_rand random_{std::random_device()()};
    unsigned const clean_at_ = random_() % clean_every;
};

}  // namespace

std::shared_ptr<node> make_database_node(database d, config const& c, store_context context)
{
    return std::make_shared<database_node>(std::move(d), c, std::move(context));
}

}  // namespace redlock::sql
