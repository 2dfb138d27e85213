#include "etcd/etcd_node.hpp"

#include "core/handovers.hpp"
#include "core/key.hpp"
#include "etcd/expiries.hpp"
#include "etcd/link.hpp"
#include "etcd/refusal.hpp"
#include "etcd/transaction.hpp"
#include "etcd/watches.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace redlock::etcd_v3 {

namespace {

using namespace std::chrono_literals;
using kind = node_command::kind;

constexpr auto look_every = 1s;
constexpr std::chrono::milliseconds pause_max = 500ms;  // between attempts to connect
constexpr auto again_after = 100ms;                     // what could not be deleted
constexpr std::size_t steps_max = 128;                  // etcd --max-txn-ops
constexpr std::size_t steps_of_key = 8;                 // at the most, and those around them

node_reply too_late()
{
    return {.untouched = true, .error = errc::node_unreachable};
}

/// What the node does for itself: it deletes what has expired.
class deletion final : public node_operation {
public:
    deletion(leased l, std::function<bool()> is_due, std::function<void(bool)> done)
        : what_(std::move(l)), keys_{what_.key}, is_due_(std::move(is_due)), done_(std::move(done))
    {
        bool const is_lock = what_.what == leased::kind::lock;
        command_ = {.what = is_lock ? kind::release : kind::withdraw, .keys = keys_};
        (is_lock ? command_.value : command_.contender) = what_.who;
        not_after = clock::time_point::max();
    }

    node_command const& command() const noexcept override { return command_; }
    bool withdrawn() const noexcept override { return !is_due_(); }
    void mark_sent(std::uint32_t connection) noexcept override { sent_on_ = connection; }
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override { return 0; }
    void complete(node_reply r) override { done_(r.vote != vote::unknown); }

private:
    leased const what_;
    std::vector<std::string> const keys_;
    std::function<bool()> const is_due_;
    std::function<void(bool)> const done_;
    node_command command_;
    std::uint32_t sent_on_ = 0;
};

/** An etcd cluster: one lease, one member at a time, and what is to be sent.

    Whatever waits while a transaction is under way goes together in the next one, as far as it is about different keys. So there is one order.
*/
class etcd_node final : public node, public link::owner, public std::enable_shared_from_this<etcd_node> {
public:
    etcd_node(address a, config const& c, store_context context)
        : address_(std::move(a)),
          context_(std::move(context)),
          log_(c.log),
          session_(std::make_shared<session>(address_.options.prefix + c.prefix, c.drift_factor)),
          watches_(address_.options.prefix)
    {
        for (auto const& m : address_.members) {
            redis::url host;
            host.host = m.host;
            servers_.push_back(std::make_shared<server>(server{m, address_.password, address_.tls,
                                                               address_.tls ? redis::tls_settings(host, c.tls) : redis::tls_settings(), c.connect_timeout}));
        }
        scope_.layout.prefix = address_.options.prefix;
        scope_.session = address_.options.session;
        scope_.ours = &expiries_;
    }

    std::string const& name() const noexcept override { return address_.name; }
    bool ready() const noexcept override { return ready_.load(std::memory_order_relaxed); }
    bool notifies() const noexcept override { return ready(); }
    node_limits limits() const override { return {.timeout = address_.options.timeout}; }

    bool can(node_command const& c) const noexcept override
    {
        return !c.is_shared() && c.what != kind::upgrade && c.what != kind::downgrade && c.keys.size() <= keys_max;
    }

    // What was sent before has a number that counts no more.
    bool may_still_execute(std::uint32_t connection) const override { return !ready() || connection == number_; }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = std::move(executor);
        events_ = std::move(events);
        look_.emplace(executor_);
        expire_.emplace(executor_);
        pause_.emplace(executor_);
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        queue_.emplace_back(std::move(o));
        flush_soon();
        if (!std::exchange(begun_, true)) {
            asio::co_spawn(executor_, serve(shared_from_this()), asio::detached);
            look_again_later();
        }
    }

    void close() override
    {
        auto const self = shared_from_this();
        bool const is_idle = ready() && batch_.empty() && expiries_.locks().empty();
        closed_ = true;
        if (link_)
            is_idle ? link_->farewell() : link_->close();
        fail(std::exchange(batch_, {}), {.error = errc::connection_lost});
        fail(std::exchange(queue_, {}), {.untouched = true, .error = errc::node_closed});
        let_go();
    }

    void abandon() override
    {
        closed_ = true;
        if (link_)
            link_->close();
        batch_.clear();
        queue_.clear();
        let_go();
    }

private:
    using transactions = std::deque<transaction>;

    void let_go()
    {
        ready_ = false;
        events_ = {};
        for (auto* const t : {&look_, &expire_, &pause_})
            t->reset();
        link_.reset();
        expiries_.clear();
        executor_ = {};
    }

    // What may have been done all the same is known of, so that it goes in the end.
    void fail(transactions all, node_reply const& why)
    {
        for (auto& t : all) {
            auto const& c = t.operation->command();
            for (auto const& key : c.what == kind::acquire && !why.untouched ? c.keys : key_view())
                expiries_.keep({leased::kind::lock, key, std::string(c.value)}, sent_ + c.ttl, c.ttl);
            t.operation->complete(why);
        }
    }

    // Connections

    static asio::awaitable<void> serve(std::shared_ptr<etcd_node> self)
    {
        auto& n = *self;
        for (std::size_t failures = 0; !n.closed_;) {
            n.number_ = n.number_ + 1 == 0 ? 1 : n.number_ + 1;
            auto const& where = n.servers_[n.at_];
            n.link_ = std::make_shared<link>(n.executor_, where, link::settings{n.address_.user, n.address_.password, n.address_.options.session, n.address_.options.timeout},
                                             n.session_, n.number_, n);
            auto const running = n.link_;
            auto const begun = clock::now();
            auto why = co_await running->run();
            if (n.closed_)
                co_return;
            bool const was_ready = n.ready();
            failures = was_ready && clock::now() - begun > pause_max ? 0 : failures + 1;
            if (n.servers_.size() > 1)
                why.text = to_string(where->member) + ": " + why.text;
            if (n.session_->open() || !was_ready)  // if only the lease has ended, it is still there
                n.at_ = (n.at_ + 1) % n.servers_.size();
            n.down(std::move(why), failures >= n.servers_.size());
            if (n.closed_ || failures < n.servers_.size())
                continue;
            n.pause_->expires_after(n.pause(failures / n.servers_.size()));
            co_await n.pause_->async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

    node_reply meet(json::object const& answer) override
    {
        auto const cluster = std::string(text(object(answer, "header"), "cluster_id"));
        if (auto const other = context_.claim(address_.name, "etcd:" + cluster); !other.empty())
            return {.untouched = true, .error = errc::duplicate_node, .text = "it is the same cluster as " + other};
        auto const revision = number(object(answer, "header"), "revision");
        if (revision < revision_ || (!cluster_.empty() && cluster != cluster_))  // a backup, or data that was deleted
            identity_ = {.durable = false, .restarted = true, .began = clock::now()};
        cluster_ = cluster;
        revision_ = revision;
        return {};
    }

    void up() override
    {
        scope_.lease = session_->lease();
        trouble_ = {};
        ready_ = true;
        log(log_level::info, "connected to " + to_string(servers_[at_]->member));
        if (events_.connected)
            events_.connected(identity_);
    }

    void down(node_reply why, bool everywhere)
    {
        bool const was_ready = ready_.exchange(false);
        watches_.clear();
        fail(std::exchange(batch_, {}), {.error = errc::connection_lost, .text = why.text});
        if (was_ready)
            tell({});  // whatever would have been told is lost
        if (was_ready) {
            log(log_level::warning, "connection lost: " + why.text);
            trouble_ = {};
        } else if (everywhere) {
            if (trouble_.error != why.error)
                log(log_level::warning, why.error.message() + ": " + why.text);
            trouble_ = {.untouched = true, .error = why.error, .text = std::move(why.text)};
        }
        flush_soon();
    }

    // All locks are lost.
    void lost() override
    {
        auto const keys = expiries_.locks();
        log(log_level::warning, "the lease has ended, and with it " + std::to_string(keys.size()) + " locks");
        expiries_.clear();
        session_->end();
        for (auto const& key : keys)
            tell(key);
    }

    // Soon at first, then growing up to half a second; never in step with others.
    clock::duration pause(std::size_t failures)
    {
        auto const ceiling = std::min<std::chrono::milliseconds>(10ms * (1 << std::min<std::size_t>(failures, 6)), pause_max);
        return std::chrono::duration_cast<clock::duration>(ceiling * std::uniform_real_distribution(0.5, 1.0)(random_));
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
            if (self->ready())
                self->link_->wake();
            else
                self->refuse();
        });
    }

    // There is no connection: what cannot wait comes back.
    void refuse()
    {
        auto const now = clock::now();
        for (auto& t : std::exchange(queue_, {})) {
            auto& o = *t.operation;
            if (closed_)
                o.complete({.untouched = true, .error = errc::node_closed});
            else if (o.withdrawn() || now > o.not_after)
                o.complete(too_late());
            else if (trouble_.error && o.command().what != kind::release && o.command().what != kind::withdraw)
                o.complete(trouble_);
            else
                queue_.push_back(std::move(t));
        }
    }

    std::string next() override
    {
        transactions left;
        std::vector<std::pair<transaction, node_reply>> over;
        choose(left, over);
        queue_ = std::move(left);
        sent_ = clock::now();
        std::string request;
        if (!batch_.empty()) {
            transaction_text all{{is_equal(session_->key(), std::to_string(number_))}, {}, {}};
            for (auto& t : batch_) {
                t.operation->mark_sent(number_);
                all.then.push_back(t.text(scope_));
            }
            request = all.request();
        }
        auto const self = shared_from_this();
        for (auto& [t, reply] : over)
            t.operation->complete(std::move(reply));
        return request;
    }

    // What goes together: what is about keys of its own, as far as there is room. What waits for that keeps its place.
    void choose(transactions& left, std::vector<std::pair<transaction, node_reply>>& over)
    {
        auto const now = clock::now();
        std::set<std::string_view> busy;
        std::size_t widest = 0;
        bool full = false;
        for (auto& t : queue_) {
            auto& o = *t.operation;
            auto const& keys = o.command().keys;
            if (o.withdrawn() || now > o.not_after) {
                over.emplace_back(std::move(t), too_late());
                continue;
            }
            if (o.command().what == kind::connect) {
                over.emplace_back(std::move(t), node_reply{.vote = vote::granted});
                continue;
            }
            if (keys.size() > keys_max) {
                over.emplace_back(std::move(t), node_reply{.untouched = true,
                                                           .error = errc::unsupported,
                                                           .text = "etcd locks " + std::to_string(keys_max) + " resources at once at the most"});
                continue;
            }
            auto const width = std::max(widest, keys.size());
            bool const is_free = std::none_of(keys.begin(), keys.end(), [&](auto& k) { return busy.contains(k); });
            full = full || (t.alone && !batch_.empty()) || batch_.size() + 1 + 2 * width + steps_of_key > steps_max;
            busy.insert(keys.begin(), keys.end());
            if (full || !is_free) {
                left.push_back(std::move(t));
                continue;
            }
            widest = width;
            full = t.alone;
            batch_.push_back(std::move(t));
        }
    }

    void answered(answer a) override
    {
        auto const self = shared_from_this();
        auto batch = std::exchange(batch_, {});
        bool const is_fenced = !a.why.error && !is_true(a.content, "succeeded");
        if (is_fenced || is_token_gone(a.why))
            send_again(std::move(batch));
        else if (a.why.untouched && batch.size() > 1)  // one of them is to blame
            send_again(std::move(batch), true);
        else if (a.why.error)
            fail(std::move(batch), a.why);
        else
            hear(std::move(batch), a.content);
        if (is_fenced && !closed_) {
            lost();
            if (link_)
                link_->end({.untouched = true, .error = errc::node_unreachable, .text = "its lease has ended"});
        }
    }

    // Nothing was done for them. They keep their places.
    void send_again(transactions batch, bool alone = false)
    {
        for (auto t = batch.rbegin(); t != batch.rend(); ++t) {
            t->alone = alone;
            queue_.push_front(std::move(*t));
        }
    }

    void hear(transactions batch, json::object const& answer)
    {
        auto const revision = number(object(answer, "header"), "revision");
        revision_ = std::max(revision_, revision);
        std::vector<std::pair<transaction, node_reply>> over;
        transactions again;
        std::vector<std::string> changed;
        for (std::size_t i = 0; i < batch.size(); ++i) {
            auto& t = batch[i];
            if (auto reply = t.hear(inner(answer, i), scope_)) {
                note(t.operation->command(), *reply, revision, changed);
                over.emplace_back(std::move(t), std::move(*reply));
            } else {
                again.push_back(std::move(t));
            }
        }
        send_again(std::move(again));
        for (auto& [t, reply] : over)
            t.operation->complete(std::move(reply));
        for (auto const& name : changed)
            tell(name);
        expire_later();
    }

    // What follows from a reply for what we have, and for what is watched.
    void note(node_command const& c, node_reply& r, std::int64_t revision, std::vector<std::string>& changed)
    {
        auto const now = clock::now();
        auto const lock = [&](std::string const& key) { return leased{leased::kind::lock, key, std::string(c.value)}; };
        auto const wish = [&](std::string const& key) { return leased{leased::kind::wish, key, std::string(c.contender)}; };
        bool const granted = r.vote == vote::granted, sets = c.what == kind::acquire || c.what == kind::extend;
        if (granted && sets)
            r.good_for = std::chrono::floor<std::chrono::milliseconds>(session_->good_until() - sent_);
        for (std::size_t i = 0; i < c.keys.size(); ++i) {
            auto const& key = c.keys[i];
            if (sets && (granted || i < r.ours))
                expiries_.keep(lock(key), sent_ + c.ttl, c.ttl);
            else if (c.what == kind::release || c.what == kind::extend || c.grows)
                expiries_.forget(lock(key));
            if (c.what == kind::withdraw || (granted && c.contends()))
                expiries_.forget(wish(key));
        }
        if (c.what == kind::inspect && granted)
            if (auto const until = expiries_.until({leased::kind::lock, c.key(), r.text}); until > now)
                r.remaining = std::chrono::ceil<std::chrono::milliseconds>(until - now);
        if (c.what == kind::acquire && r.vote == vote::denied && c.contends())
            note_denied(c, r, revision, changed);
    }

    void note_denied(node_command const& c, node_reply& r, std::int64_t revision, std::vector<std::string>& changed)
    {
        auto const now = clock::now();
        auto const one = [&](std::string const& key, std::chrono::milliseconds remaining, bool handed_on, bool is_noted) {
            if (is_noted)
                expiries_.keep({leased::kind::wish, key, std::string(c.contender)}, now + std::max(remaining, 0ms) + core::wanted_life);
            if (!c.watch)
                return;
            auto const name = handed_on ? core::handovers_key(key) : key;
            auto const asked = watches_.ask(name, revision, now);
            if (!asked.message.empty())
                link_->watch(asked.message);
            if (asked.changed)
                changed.push_back(name);
            r.watched = true;
        };
        for (auto const& k : r.taken)
            one(c.keys[k.index], k.remaining, k.handed_on, !c.grows || &k == &r.taken.front());
        if (!c.has_several_keys())
            one(c.key(), r.remaining, r.handed_on, true);
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

    // What has expired

    void expire_later()
    {
        auto const next = expiries_.next();
        if (closed_ || next == clock::time_point::max() || (expire_->expiry() <= next && expire_->expiry() > clock::now()))
            return;
        expire_->expires_at(next);
        expire_->async_wait([weak = weak_from_this()](error_code ec) {
            if (auto const self = weak.lock(); !ec && self && !self->closed_)
                self->expire();
        });
    }

    void expire()
    {
        for (auto const& l : expiries_.take_due(clock::now())) {
            auto const is_due = [this, l] { return expiries_.knows(l) && expiries_.until(l) <= clock::now(); };
            auto const done = [weak = weak_from_this(), l](bool gone) {
                if (auto const self = weak.lock(); self && !self->closed_)
                    self->expired(l, gone);
            };
            queue_.emplace_back(std::make_shared<deletion>(l, is_due, done));
        }
        flush_soon();
        expire_later();
    }

    void expired(leased const& l, bool gone)
    {
        auto const until = expiries_.until(l);
        if (!expiries_.knows(l) || until > clock::now())
            return;
        if (gone)
            return expiries_.forget(l);
        expiries_.keep(l, clock::now() + again_after);
        expire_later();
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
        if (!ready())
            refuse();
        else
            for (auto const& message : watches_.tidy(clock::now()))
                link_->watch(message);
        if (!closed_)
            look_again_later();
    }

    void log(log_level level, std::string const& what) const
    {
        if (log_)
            log_(level, address_.name + ": " + what);
    }

    address const address_;
    store_context const context_;
    std::function<void(log_level, std::string_view)> const log_;
    std::vector<std::shared_ptr<server const>> servers_;
    std::shared_ptr<session> const session_;
    expiries expiries_;
    watches watches_;
    scope scope_;
    asio::any_io_executor executor_;
    node_events events_;
    std::atomic<bool> ready_{false};
    bool begun_ = false, closed_ = false, flush_due_ = false;
    std::shared_ptr<link> link_;
    std::size_t at_ = 0;         ///< which server
    std::uint32_t number_ = 0;   ///< of the latest connection
    transactions queue_, batch_;  ///< what waits; what is under way
    clock::time_point sent_{};   ///< the latter
    node_reply trouble_;         ///< why no connection could be made; no error while it is not known
    std::string cluster_;
    std::int64_t revision_ = 0;  ///< the latest that was heard of
    server_identity identity_;
    std::optional<timer> look_, expire_, pause_;
    std::minstd_rand random_{std::random_device()()};
};

}  // namespace

std::shared_ptr<node> make_etcd_node(address a, config const& c, store_context context)
{
    return std::make_shared<etcd_node>(std::move(a), c, std::move(context));
}

}  // namespace redlock::etcd_v3
