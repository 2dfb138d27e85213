#include "core/key.hpp"
#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/stores.hpp"
#include "sim/network.hpp"
#include "sim/world.hpp"
#include "stores/kit/database_node.hpp"
#include "stores/kit/session.hpp"
#include "testing/command_parts.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::sim {

namespace {

/// A copy of a command: a backend carries it out even if its client has disconnected.
struct statement {
    explicit statement(node_command const& c)
        : command(c), keys(c.keys.begin(), c.keys.end()), value(c.value), contender(c.contender())
    {
        command.keys = keys;
        command.value = value;
        testing::set_contender(command, contender);
    }
    statement(statement const&) = delete;
    statement& operator=(statement const&) = delete;

    node_command command;
    std::vector<std::string> keys;
    std::string value, contender;
};

// The text of a notification, as the SQL function `redlock_tell` writes it.
std::string notification(std::string_view name)
{
    auto const [what, key] = core::what_changed(name);
    std::string text = fmt::format("{}:", 1 << static_cast<int>(what));
    for (unsigned char const c : key)
        text += fmt::format("{:02x}", c);
    return text;
}

std::chrono::milliseconds in_milliseconds(clock::duration d)
{
    return std::chrono::floor<std::chrono::milliseconds>(d);
}

/** A database with a table of locks, as the functions of src/stores/postgresql/schema.sql keep it. It keeps everything
    that was committed.

    A statement waits while another transaction has locked one of its rows. The statements behind it on its connection
    wait, too. A standby that is promoted lacks the last commits.
*/
class database final : public server {
public:
    database(sim::world& w, std::size_t index, double rate) : server(w, index, rate)
    {
        if (w.conditions.amnesia)
            replicate();
    }

    /// Makes a backend for a client. The backend is notified of changes if it @p listens.
    stores::kit::introduction introduce(client& c, bool listens)
    {
        c.listens = listens;
        return {.backend = {static_cast<std::int64_t>(c.id), fmt::to_string(life())},
                .system = name,
                .timeline = timeline_,
                .started = fmt::to_string(life()),
                .record = sign({})};
    }

    /// Signs like the SQL function `redlock_sign`, for a server that is always durable.
    core::memory_record sign(std::string_view verdict)
    {
        if (record.word.empty())
            record = {.word = fmt::format("{}-{}", name, timeline_),
                      .began = timeline_ > 1 ? 'p' : 'f',
                      .since = clock_now()};
        if (record.began == 'f' && verdict.substr(0, 1).find_first_of("Fn") == 0 && verdict.substr(1) == record.word)
            record.began = verdict.front();
        return {.word = record.word,
                .began = static_cast<core::beginning>(record.began),
                .age = in_milliseconds(clock_now() - record.since)};
    }

    node_reply carry_out(node_command const& c, bool tombstone, std::shared_ptr<client> const& from,
                         clock::time_point sent)
    {
        auto r = apply(c, clock_now(), tombstone, from.get(), sent);
        if (c.which() == node_command::kind::release)
            released_.emplace(c.value);
        else if (released_.contains(c.value))
            // The release has overtaken this request on another connection. The client repeats the release, unless
            // answers take longer than its ttl.
            note_lateness(c.value, true);
        if (c.watches() && r.vote == vote::denied)
            keys.watch_taken(c, r, this, [this](std::string const& what) { notify(what); });
        return r;
    }

    /// Until when another transaction has locked one of these rows, in true time.
    clock::time_point rows_taken_until(key_view wanted) const
    {
        auto until = world().now;
        for (auto const& key : wanted) {
            if (auto const taken = rows_taken_.find(key); taken != rows_taken_.end())
                until = std::max(until, taken->second);
        }
        return until;
    }

    void crash(bool forget) override
    {
        if (!alive())
            return;
        if (forget) {
            world().tell("{}: a standby is promoted, which has missed the last commits", name);
            for (auto const& [key, entry] : standby_.entries)  // the standby may lack a release, too
                note_lateness(entry.value, true);
            keys = standby_;
            ++timeline_;
            record = {};
        }
        rows_taken_.clear();
        server::crash(false);
    }

    void lock_a_row(clock::duration d) override
    {
        if (!alive() || keys.entries.empty())
            return;
        auto const row = any_key();
        world().tell("{}: another transaction has the row of {} for {} ms", name, row->first, d / 1ms);
        rows_taken_[row->first] = world().now + d;
    }

    bool tells_of_promotions() const override { return true; }
    std::shared_ptr<node> make_node(process&, manager_options const&,
                                    std::shared_ptr<stores::redis::group> const&) override;

private:
    void replicate()
    {
        standby_ = keys;
        world().after(world().random.between(0ms, 400ms), [this] { replicate(); });
    }

    // Notifies each client that listens.
    void notify(std::string const& what)
    {
        for (auto const& c : clients()) {
            if (c->listens && !c->ended)
                c->tell(notification(what));
        }
    }

    std::int64_t timeline_ = 1;
    stores::memory::lock_table standby_;                   ///< lags behind
    std::map<std::string, clock::time_point> rows_taken_;  ///< until when each row is locked
    std::set<std::string, std::less<>> released_;          ///< the values that were released
};

/** A connection to a database, in place of src/stores/postgresql/session.cpp: libpq waits for sockets of its own, which
    a test cannot replace.

    For its owner it does the same: it connects, introduces the server, and answers in order. It answers every request
    before it reports that it is down.
*/
class database_session final : public stores::kit::session,
                               network::owner,
                               public std::enable_shared_from_this<database_session> {
public:
    /// @p listens: it wants notifications. @p lock_timeout: for how long the server waits for locked rows.
    database_session(world& w, process& p, database& d, asio::any_io_executor on, bool listens,
                     std::chrono::milliseconds lock_timeout, stores::kit::session::owner& o)
        : world_(w),
          process_(p),
          database_(d),
          listens_(listens && w.servers_tell),
          lock_timeout_(lock_timeout),
          owner_(&o),
          network_(std::make_shared<network>(w, p, d))
    {
        network_->start(std::move(on), *this);
    }

    void open() override
    {
        state_ = state::connecting;
        ++life_;
        network_->open();
    }

    void close() override
    {
        owner_ = nullptr;
        state_ = state::down;
        for (auto const& tell : network_->leave())
            tell();
    }

    void abandon() override { close(); }

    void cut(node_reply why) override
    {
        why_ = std::move(why);
        network_->cut();
    }

    bool up() const noexcept override { return state_ == state::up; }
    bool busy() const noexcept override { return state_ != state::down; }
    bool notifies() const noexcept override { return listens_; }
    stores::kit::introduction const& server() const noexcept override { return introduction_; }

    std::optional<clock::time_point> waiting_since() const override
    {
        return asked_.empty() ? std::nullopt : std::optional(asked_.front());
    }

    void carry_out(node_command const& c, bool tombstone, std::function<void(node_reply)> done) override
    {
        if (!up())
            return done({.error = errc::connection_lost});
        process_.checks_sending(c, database_);
        auto const s = std::make_shared<statement const>(c);
        auto waits = [self = shared_from_this(), s, limit = std::make_shared<clock::time_point>()] {
            if (*limit == clock::time_point())
                *limit = self->world_.now + self->lock_timeout_;
            return std::min(self->database_.rows_taken_until(s->command.keys), *limit);
        };
        auto carry_out = [self = shared_from_this(), s, tombstone, done,
                          sent = world_.now](auto const& from) -> std::function<void()> {
            auto& d = self->database_;
            bool const taken = d.rows_taken_until(s->command.keys) > self->world_.now;
            auto reply =
                taken ? node_reply{.untouched = true,
                                   .error = errc::node_busy,
                                   .text = "canceling statement due to lock timeout"}
                : d.refuses()
                    ? node_reply{.untouched = true, .error = errc::node_read_only, .text = std::string(d.refusal())}
                    : d.carry_out(s->command, tombstone, from, sent);
            return [done, reply = std::move(reply)] { done(reply); };
        };
        ask({.carry_out = std::move(carry_out),
             .lost = [done] { done({.error = errc::connection_lost}); },
             .waits = std::move(waits)});
    }

    void end(stores::kit::backend const& b, std::function<void(bool)> done) override
    {
        if (!up() || b.id == 0)
            return done(false);
        ask({.carry_out = [self = shared_from_this(), b, done](auto const&) -> std::function<void()> {
                 auto& d = self->database_;
                 bool const there = b.since == fmt::to_string(d.life())
                                    && d.end_client(static_cast<std::uint64_t>(b.id));
                 return [done, there] { done(!there); };
             },
             .lost = [done] { done(false); }});
    }

    void look(std::string verdict, std::function<void(core::memory_record const*)> done) override
    {
        if (!up())
            return done(nullptr);
        ask({.carry_out = [self = shared_from_this(), verdict = std::move(verdict),
                           done](auto const&) -> std::function<void()> {
                 if (self->database_.refuses())
                     return [done] { done(nullptr); };
                 return [done, r = self->database_.sign(verdict)] { done(&r); };
             },
             .lost = [done] { done(nullptr); }});
    }

    void clean() override {}  // the table has no garbage

private:
    enum class state { down, connecting, up };

    void opened(std::shared_ptr<client> const& there) override
    {
        if (!there)
            return down({.untouched = true, .error = errc::node_unreachable, .text = "no connection"});
        ask({.carry_out = [self = shared_from_this()](auto const& from) -> std::function<void()> {
                 if (self->database_.refuses())
                     return [self] {
                         self->cut({.untouched = true,
                                    .error = errc::node_loading,
                                    .text = "the database system is starting up"});
                     };
                 return [self, server = self->database_.introduce(*from, self->listens_)] { self->introduced(server); };
             },
             .lost = [] {}});
        process_.after(process_.settings().connect_timeout, [weak = weak_from_this(), life = life_] {
            if (auto const self = weak.lock();
                self && self->owner_ && self->life_ == life && self->state_ == state::connecting)
                self->cut({.untouched = true, .error = errc::node_unreachable, .text = "it does not answer"});
        });
    }

    void told(std::string const& what) override { owner_->notified(what); }

    void broken(std::string_view why, std::vector<std::function<void()>> lost) override
    {
        process_.contact_changed(database_);
        asked_.clear();
        auto reason = std::exchange(why_, {}).value_or(
            node_reply{.untouched = true, .error = errc::node_unreachable, .text = std::string(why)});
        bool const was_up = std::exchange(state_, state::down) == state::up;
        ++life_;
        for (auto const& tell : lost)
            tell();
        if (owner_)
            owner_->down(*this, was_up, std::move(reason));
    }

    void introduced(stores::kit::introduction server)
    {
        introduction_ = std::move(server);
        if (auto why = owner_->check_server(*this, introduction_); why.error)
            return cut(std::move(why));
        if (!owner_)
            return;
        state_ = state::up;
        process_.contact_changed(database_);
        owner_->up(*this);
    }

    void ask(network::packet p)
    {
        asked_.push_back(clock::now());
        auto carry_out = std::move(p.carry_out);
        p.carry_out = [self = shared_from_this(),
                       carry_out = std::move(carry_out)](auto const& from) -> std::function<void()> {
            return [self, heard = carry_out(from)] {
                self->asked_.pop_front();
                heard();
            };
        };
        network_->send(std::move(p));
    }

    void down(node_reply why)
    {
        state_ = state::down;
        owner_->down(*this, false, std::move(why));
    }

    world& world_;
    process& process_;
    database& database_;
    bool const listens_;
    std::chrono::milliseconds const lock_timeout_;
    stores::kit::session::owner* owner_;  ///< null after it was closed
    std::shared_ptr<network> const network_;
    state state_ = state::down;
    std::uint64_t life_ = 0;  ///< the number of the present connection, or of the next
    std::deque<clock::time_point> asked_;
    stores::kit::introduction introduction_;
    std::optional<node_reply> why_;  ///< why it is being cut
};

std::shared_ptr<node> database::make_node(process& p, manager_options const& settings,
                                          std::shared_ptr<stores::redis::group> const&)
{
    auto make_session = [this, &p, lock_timeout = settings.node_timeout](asio::any_io_executor on, std::size_t i,
                                                                         stores::kit::session::owner& o) {
        return std::make_shared<database_session>(world(), p, *this, std::move(on), i == 0, lock_timeout, o);
    };
    return stores::kit::make_database_node({.name = "table://" + name,
                                            .kind = "table",
                                            .connections = 1 + world().random.below(3),
                                            .timeout = settings.node_timeout,
                                            .make_session = std::move(make_session),
                                            .seed = static_cast<std::uint32_t>(world().random.roll())},
                                           settings, {.claim = [](auto&, auto&) { return std::string(); }});
}

}  // namespace

std::unique_ptr<server> make_database(world& w, std::size_t index, double rate)
{
    return std::make_unique<database>(w, index, rate);
}

}  // namespace redlock::sim
