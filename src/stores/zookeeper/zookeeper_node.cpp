#include "stores/zookeeper/zookeeper_node.hpp"

#include "core/key.hpp"
#include "runtime/as_result.hpp"
#include "stores/kit/deletions.hpp"
#include "stores/zookeeper/errand.hpp"
#include "stores/zookeeper/link.hpp"
#include "stores/zookeeper/waiting.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <atomic>
#include <functional>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace redlock::zk {

namespace {

using namespace std::chrono_literals;
using kind = node_command::kind;

constexpr auto look_every = 1s;

/// A ZooKeeper ensemble: one session, one server at a time, and what is to be done.
class zookeeper_node final : public node, public link::owner, public std::enable_shared_from_this<zookeeper_node> {
public:
    zookeeper_node(address a, config const& c, store_context context)
        : address_(std::move(a)), config_{.connect_timeout = c.connect_timeout, .drift_factor = c.drift_factor, .log = c.log}, context_(std::move(context))
    {
        scope_.ours = std::make_shared<expiries>();
        scope_.known = std::make_shared<knowledge>();
    }

    std::string const& name() const noexcept override { return address_.name; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return ready(); }
    node_limits limits() const override { return {.timeout = address_.options.timeout, .ends_with_session = true}; }

    bool can(node_command const& c) const noexcept override { return !c.any && !c.is_shared() && c.keys.size() <= keys_max; }

    // What was sent before has a version of the session that counts no more.
    bool may_still_execute(std::uint32_t connection) const override { return !ready() || connection == link_->number(); }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        look_.emplace(executor_);
        link_ = std::make_shared<link>(executor_, address_, config_, context_, *this);
        deletions_ = std::make_shared<leases::deletions>(executor_, scope_.ours, [this](std::shared_ptr<node_operation> o) {
            waiting_.add(std::move(o));
            flush_soon();
        });
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        waiting_.add(std::move(o));
        flush_soon();
        if (!std::exchange(begun_, true)) {
            asio::co_spawn(executor_, link::run(link_), asio::detached);
            asio::co_spawn(executor_, look(shared_from_this()), asio::detached);
        }
    }

    void close() override
    {
        auto const self = shared_from_this();
        bool const is_idle = ready() && under_way_.empty() && scope_.ours->locks().empty();
        closed_ = true;
        if (link_)
            link_->close(is_idle);
        waiting::finished over;
        for (auto const& o : std::exchange(under_way_, {}))
            over.emplace_back(o, node_reply{.error = errc::connection_lost});
        for (auto const& o : waiting_.take_all())
            over.emplace_back(o, node_reply{.untouched = true, .error = errc::node_closed});
        let_go();
        complete(std::move(over));
    }

    void abandon() override
    {
        closed_ = true;
        if (link_)
            link_->abandon();
        under_way_.clear();
        waiting_ = {};
        let_go();
    }

private:
    void let_go()
    {
        ready_ = false;
        events_ = {};
        look_.reset();
        if (deletions_)
            deletions_->stop();
        deletions_.reset();
        link_.reset();
        scope_.server.reset();
        scope_.ours->clear();
        executor_ = {};
    }

    // Connections

    void up(greeting const& g) override
    {
        scope_.server = link_->server();
        scope_.layout = link_->names();
        scope_.session = scope_.layout.session(link_->session().client_id);
        scope_.version = g.version;
        scope_.lasting = link_->timeout();
        trouble_ = {};
        ready_ = true;
        flush_soon();
        if (events_.connected)
            events_.connected(link_->identity());
    }

    void down(node_reply why, bool is_known) override
    {
        bool const was_ready = ready_.exchange(false);
        scope_.known->interests.clear();
        told_later_.clear();
        if (was_ready) {
            log(log_level::warning, "connection lost: " + why.text);
            trouble_ = {};
            tell({});  // whatever would have been told is lost
        } else if (is_known) {
            if (trouble_.error != why.error)
                log(log_level::warning, why.error.message() + ": " + why.text);
            trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
        }
        refuse_all_ = true;
        flush_soon();
    }

    // All locks have ended with it.
    void lost() override
    {
        auto const keys = scope_.ours->locks();
        log(log_level::warning, fmt::format("the session has ended, and all locks with it; there were {}", keys.size()));
        scope_.ours->clear();
        scope_.known->turns.clear();
        for (auto const& key : keys)
            tell(key);
    }

    // Sending

    void flush_soon()
    {
        if (std::exchange(flush_due_, true))
            return;
        asio::post(executor_, [weak = weak_from_this()] {
            auto const self = weak.lock();
            if (!self || self->closed_)
                return;
            self->flush_due_ = false;
            self->flush();
        });
    }

    void flush()
    {
        waiting::finished over;
        if (!ready()) {
            waiting_.refuse(trouble_, std::exchange(refuse_all_, false), over);
            return complete(std::move(over));
        }
        for (auto const& o : waiting_.take(clock::now(), over)) {
            o->mark_sent(link_->number());
            under_way_.insert(o);
            asio::co_spawn(executor_, carry_out(shared_from_this(), o), asio::detached);
        }
        complete(std::move(over));
    }

    static asio::awaitable<void> carry_out(std::shared_ptr<zookeeper_node> self, std::shared_ptr<node_operation> o)
    {
        auto& n = *self;
        auto const sent = clock::now();
        errand e(n.scope_, o);
        auto done = co_await e.run();
        if (n.under_way_.erase(o) == 0)
            co_return;  // the node was closed
        n.waiting_.free(*o);
        auto const& c = o->command();
        n.scope_.ours->note(c, done.reply, sent);
        if (done.reply.vote == vote::granted && (c.what == kind::acquire || c.prolongs()))
            done.reply.good_for = n.link_->promise(sent);
        n.deletions_->plan();
        n.flush_soon();
        n.tell_later(c, done.changed);
        o->complete(std::move(done.reply));
        for (auto const& key : done.changed)
            n.tell(key);
    }

    // What is told before an answer counts as older than that, and what is under way may have looked before.
    void touched(std::string const& path) override
    {
        auto const known = scope_.known->interests.extract(path);
        if (known.empty())
            return;
        if (waiting_.is_busy(core::what_changed(known.mapped()).second))
            told_later_.insert(known.mapped());
        else
            tell(known.mapped());
    }

    // Adds what the end of an operation keeps back no more.
    void tell_later(node_command const& c, std::vector<std::string>& to)
    {
        for (auto const& key : c.keys) {
            for (auto const& name : {key, core::handovers_key(key)}) {
                if (told_later_.erase(name) > 0)
                    to.push_back(name);
            }
        }
    }

    void tell(std::string const& name)
    {
        if (events_.changed)
            events_.changed(name);
    }

    // Once a second.
    static asio::awaitable<void> look(std::shared_ptr<zookeeper_node> self)
    {
        for (auto& n = *self; !n.closed_;) {
            n.refuse_all_ = !n.ready();
            if (!n.ready())
                n.flush();
            if (n.closed_)
                co_return;
            n.look_->expires_after(look_every);
            co_await n.look_->async_wait(as_result);
        }
    }

    void log(log_level level, std::string const& what) const
    {
        if (config_.log)
            config_.log(level, address_.name + ": " + what);
    }

    address const address_;
    config const config_;  ///< as far as it is about connections
    store_context const context_;
    scope scope_;
    asio::any_io_executor executor_;
    node_events events_;
    std::atomic<bool> ready_{false};
    bool begun_ = false, closed_ = false, flush_due_ = false;
    bool refuse_all_ = false;  ///< at the next flush without a connection: also what an earlier one has kept
    std::shared_ptr<link> link_;
    waiting waiting_;
    std::set<std::string> told_later_;  ///< what has changed since an operation under way was sent
    std::set<std::shared_ptr<node_operation>> under_way_;
    node_reply trouble_;  ///< why no connection could be made; no error while it is not known
    std::optional<timer> look_;
    std::shared_ptr<leases::deletions> deletions_;
};

}  // namespace

std::shared_ptr<node> make_zookeeper_node(address a, config const& c, store_context context)
{
    return std::make_shared<zookeeper_node>(std::move(a), c, std::move(context));
}

}  // namespace redlock::zk
