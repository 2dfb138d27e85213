#include "stores/etcd/etcd_node.hpp"

#include "runtime/as_result.hpp"
#include "stores/etcd/cluster_history.hpp"
#include "stores/etcd/link.hpp"
#include "stores/etcd/move.hpp"
#include "stores/etcd/outbox.hpp"
#include "stores/etcd/refusal.hpp"
#include "stores/etcd/watches.hpp"
#include "stores/kit/deletions.hpp"
#include "stores/kit/expiries.hpp"
#include "stores/kit/members.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::etcd_v3 {

namespace {

using namespace std::chrono_literals;
using kind = node_command::kind;
constexpr auto look_every = 1s;

/// An etcd cluster: one session, one member at a time, and what is to be sent.
class etcd_node final : public node, public link::owner, public std::enable_shared_from_this<etcd_node> {
public:
    etcd_node(address a, config const& c, store_context context, surroundings outside)
        : address_(std::make_shared<address>(std::move(a))),
          context_(std::move(context)),
          log_(c.log),
          outside_(std::move(outside)),
          members_(servers_of(*address_, c), outside_.seed),
          session_(std::make_shared<session>(address_->options.prefix + c.prefix, c.drift_factor)),
          watches_(address_->options.prefix),
          scope_{.layout = {address_->options.prefix}, .session = address_->options.session, .ours = expiries_.get()}
    {
    }

    std::string const& name() const noexcept override { return address_->name; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return ready(); }
    node_limits limits() const override { return {.timeout = address_->options.timeout, .ends_with_session = true}; }

    bool can(node_command const& c) const noexcept override { return !c.any && !c.is_shared() && c.keys.size() <= keys_max; }

    // What was sent before has a number that counts no more.
    bool may_still_execute(std::uint32_t connection) const override { return !ready() || connection == number_; }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        look_.emplace(executor_);
        pause_.emplace(executor_);
        deletions_ = std::make_shared<leases::deletions>(executor_, expiries_, [this](std::shared_ptr<node_operation> o) {
            outbox_.add(std::move(o));
            flush_soon();
        });
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        outbox_.add(std::move(o));
        flush_soon();
        if (!std::exchange(begun_, true)) {
            asio::co_spawn(executor_, serve(shared_from_this()), asio::detached);
            asio::co_spawn(executor_, look(shared_from_this()), asio::detached);
        }
    }

    void close() override
    {
        auto const self = shared_from_this();
        bool const is_idle = ready() && outbox_.idle() && !moves_now_ && expiries_->locks().empty();
        closed_ = true;
        if (link_)
            is_idle ? link_->farewell() : link_->close();
        fail(outbox_.take_under_way(), {.error = errc::connection_lost});
        fail(outbox_.take_waiting(), {.untouched = true, .error = errc::node_closed});
        let_go();
    }

    void abandon() override
    {
        closed_ = true;
        if (link_)
            link_->abandon();
        outbox_ = {};
        let_go();
    }

private:
    void let_go()
    {
        ready_ = false;
        events_ = {};
        look_.reset();
        pause_.reset();
        if (deletions_)
            deletions_->stop();
        deletions_.reset();
        link_.reset();
        expiries_->clear();
        move_.reset();
        executor_ = {};
    }

    void fail(outbox::transactions all, node_reply why)
    {
        for (auto const& t : all)
            expiries_->note(t.operation->command(), why, outbox_.sent());
        if (deletions_)
            deletions_->plan();
        for (auto const& t : all)
            t.operation->complete(why);
    }

    // Connections

    static asio::awaitable<void> serve(std::shared_ptr<etcd_node> self)
    {
        auto& n = *self;
        while (!n.closed_) {
            n.number_ = n.number_ + 1 == 0 ? 1 : n.number_ + 1;
            auto const where = n.members_.present();
            auto const running = std::make_shared<link>(n.executor_, where, n.address_, n.session_, n.number_, n.outside_, n);
            n.link_ = running;
            auto const begun = clock::now();
            auto why = co_await running->run();
            if (n.closed_)
                co_return;
            bool const only_the_lease = n.ready() && !n.session_->open();
            n.members_.leave(n.ready() ? clock::now() - begun : clock::duration(0), only_the_lease);
            if (!n.members_.single())
                why.text = to_string(where->member) + ": " + why.text;
            n.down(std::move(why));
            if (n.closed_)
                co_return;
            n.pause_->expires_after(n.members_.pause());
            co_await n.pause_->async_wait(as_result);
        }
    }

    node_reply meet(json::object const& answer) override
    {
        cluster_.meet(answer, clock::now());
        if (auto const other = context_.claim(address_->name, "etcd:" + cluster_.id()); !other.empty())
            return {.untouched = true, .error = errc::duplicate_node, .text = "it is the same cluster as " + other};
        return {};
    }

    void up() override
    {
        scope_.lease = session_->lease();
        trouble_ = {};
        ready_ = true;
        log(log_level::info, "connected to " + to_string(members_.present()->member));
        if (events_.connected)
            events_.connected(cluster_.identity());
    }

    void down(node_reply why)
    {
        bool const was_ready = ready_.exchange(false);
        watches_.clear();
        move_.reset();
        moves_now_ = false;
        fail(outbox_.take_under_way(), {.error = errc::connection_lost, .text = why.text});
        if (was_ready) {
            tell({});  // whatever would have been told is lost
            log(log_level::warning, "connection lost: " + why.text);
            trouble_ = {};
        } else if (members_.all_failed()) {
            if (trouble_.error != why.error)
                log(log_level::warning, why.error.message() + ": " + why.text);
            trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
        }
        refuse_all_ = true;
        flush_soon();
    }

    // All locks are lost.
    void lost() override
    {
        auto const keys = expiries_->locks();
        log(log_level::warning, "the lease has ended, and all locks with it; there were " + std::to_string(keys.size()));
        expiries_->clear();
        session_->end();
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
            self->ready() ? self->link_->wake() : self->refuse();
        });
    }

    void refuse()
    {
        outbox::finished over;
        outbox_.refuse(trouble_, std::exchange(refuse_all_, false), over);
        complete(std::move(over));
    }

    std::string next() override
    {
        auto const self = shared_from_this();
        if (session_->moves() && !move_) {  // nothing is under way, so all that is under the lease of before is known
            move_.emplace();
            scope_.lease = session_->lease();
        }
        std::string request;
        if (!move_ || std::exchange(others_next_, false)) {
            outbox::finished over;
            request = outbox_.next(session_->key(), number_, scope_, over);
            complete(std::move(over));
        }
        if (!request.empty() || !move_)
            return request;
        moves_now_ = others_next_ = true;
        return move_->next(*session_, number_, scope_.layout, *expiries_);
    }

    void answered(answer a) override
    {
        auto const self = shared_from_this();
        auto sent = outbox_.take_under_way();
        bool const is_fenced = a.why.error ? is_key_gone(a.why) : !is_true(a.content, "succeeded");
        if (std::exchange(moves_now_, false) && !is_fenced)
            return moved(a);
        if (is_fenced || is_token_gone(a.why))
            outbox_.send_again(std::move(sent));
        else if (a.why.untouched && sent.size() > 1)  // one of them is to blame
            outbox_.send_again(std::move(sent), true);
        else if (a.why.error)
            fail(std::move(sent), a.why);
        else
            hear(std::move(sent), a.content);
        if (is_fenced && !closed_)
            link_->lose();
    }

    // A part of the keys is under the latest lease.
    void moved(answer const& a)
    {
        bool const refused = static_cast<bool>(a.why.error);
        if (!refused)
            cluster_.heard(cluster_history::revision_of(a.content));
        if (!refused && !move_->done())
            return;
        move_.reset();
        refused ? link_->stay() : link_->moved();
    }

    void hear(outbox::transactions sent, json::object const& answer)
    {
        auto const revision = cluster_history::revision_of(answer);
        cluster_.heard(revision);
        outbox::finished over;
        outbox::transactions again;
        std::vector<std::string> changed;
        for (std::size_t i = 0; i < sent.size(); ++i) {
            if (auto reply = sent[i].hear(inner(answer, i), scope_)) {
                note(sent[i].operation->command(), *reply, revision, changed);
                over.emplace_back(std::move(sent[i].operation), std::move(*reply));
            } else {
                again.push_back(std::move(sent[i]));
            }
        }
        outbox_.send_again(std::move(again));
        deletions_->plan();
        complete(std::move(over));
        for (auto const& name : changed)
            tell(name);
    }

    // What follows from a reply for what we have, and for what is watched.
    void note(node_command const& c, node_reply& r, std::int64_t revision, std::vector<std::string>& changed)
    {
        bool const granted = r.vote == vote::granted;
        expiries_->note(c, r, outbox_.sent());
        if (granted && (c.what == kind::acquire || c.what == kind::extend))
            r.good_for = std::chrono::floor<std::chrono::milliseconds>(session_->good_until() - outbox_.sent());
        if (c.what != kind::acquire || granted || !c.watch)
            return;
        auto asked = watches_.denied(c, r, revision, clock::now());
        for (auto& message : asked.messages)
            link_->watch(std::move(message));
        changed.insert(changed.end(), asked.changed.begin(), asked.changed.end());
        r.watched = true;
    }

    void deleted(std::uint64_t watch, std::int64_t revision) override
    {
        if (auto const name = revision == 0 ? watches_.ended(watch) : watches_.deleted(watch, revision); !name.empty())
            tell(name);
    }

    void tell(std::string const& name)
    {
        if (events_.changed)
            events_.changed(name);
    }

    // Once a second.
    static asio::awaitable<void> look(std::shared_ptr<etcd_node> self)
    {
        for (auto& n = *self; !n.closed_;) {
            n.refuse_all_ = !n.ready();
            if (!n.ready())
                n.refuse();
            else
                for (auto const& message : n.watches_.tidy(clock::now()))
                    n.link_->watch(message);
            if (n.closed_)
                co_return;
            n.look_->expires_after(look_every);
            co_await n.look_->async_wait(as_result);
        }
    }

    void log(log_level level, std::string const& what) const
    {
        if (log_)
            log_(level, address_->name + ": " + what);
    }

    std::shared_ptr<address const> const address_;
    store_context const context_;
    std::function<void(log_level, std::string_view)> const log_;
    surroundings const outside_;
    leases::members<std::shared_ptr<server const>> members_;
    std::shared_ptr<session> const session_;
    std::shared_ptr<expiries> const expiries_ = std::make_shared<expiries>();
    watches watches_;
    scope scope_;
    asio::any_io_executor executor_;
    node_events events_;
    std::atomic<bool> ready_{false};
    bool begun_ = false, closed_ = false, flush_due_ = false;
    std::shared_ptr<link> link_;
    std::uint32_t number_ = 0;   ///< of the latest connection
    outbox outbox_;
    bool refuse_all_ = false;  ///< the next refusal also looks at what earlier ones kept
    std::optional<move> move_;  ///< to the latest lease
    bool moves_now_ = false;    ///< a part of it is under way
    bool others_next_ = false;  ///< it was a part of it that was sent last
    node_reply trouble_;         ///< why no connection could be made; no error while it is not known
    cluster_history cluster_;
    std::optional<timer> look_, pause_;
    std::shared_ptr<leases::deletions> deletions_;
};

}  // namespace

std::shared_ptr<node> make_etcd_node(address a, config const& c, store_context context, surroundings outside)
{
    return std::make_shared<etcd_node>(std::move(a), c, std::move(context), std::move(outside));
}

}  // namespace redlock::etcd_v3
