#include "stores/etcd/etcd_node.hpp"

#include "stores/etcd/session.hpp"
#include "stores/etcd/move.hpp"
#include "stores/etcd/queue.hpp"
#include "stores/etcd/refusal.hpp"
#include "stores/etcd/watches.hpp"
#include "stores/kit/lease_store.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

namespace {

using kind = node_command::kind;

std::int64_t revision_of(json::object const& answer) { return number_in(object_in(answer, "header"), "revision"); }

/// Sends transactions to an etcd cluster.
class etcd_driver final : public kit::driver, public session::owner {
public:
    etcd_driver(driver::owner& o, std::shared_ptr<address const> a, manager_options const& c, surroundings outside)
        : owner_(o),
          address_(std::move(a)),
          outside_(std::move(outside)),
          servers_(servers_of(*address_, c)),
          leases_(std::make_shared<leases>(address_->options.prefix + c.prefix, c.drift_factor, c.read_only)),
          watches_(address_->options.prefix),
          scope_{.layout = {address_->options.prefix}, .session = address_->options.session, .ours = o.expiries().get()}
    {
    }

    asio::awaitable<node_reply> visit(std::size_t member) override
    {
        auto const& server = servers_[member];
        auto const e = co_await asio::this_coro::executor;
        auto const number = owner_.next_connection();
        auto const running = std::make_shared<session>(e, server, address_, leases_, number, outside_, *this);
        session_ = running;
        auto why = co_await running->run();
        if (servers_.size() > 1)
            why.text = net::to_string(server->member) + ": " + why.text;
        co_return why;
    }

    void add(kit::operation o) override { queue_.add(std::move(o)); }
    void send() override { session_->wake(); }
    void refuse(node_reply const& why, bool all, kit::finished& over) override { queue_.refuse(why, all, over); }

    void tidy() override
    {
        auto const ended = watches_.tidy(clock::now());
        for (auto const& message : ended.messages)
            session_->watch(message);
        for (auto const& name : ended.changed)
            owner_.tell(name);
    }

    void disconnected(node_reply const& why) override
    {
        watches_.clear();
        move_.reset();
        moves_now_ = false;
        fail(queue_.take_under_way(), {.error = errc::connection_lost, .text = why.text});
    }

    void close(bool is_idle, kit::finished& over) override
    {
        if (session_)
            (is_idle && queue_.idle() && !moves_now_) ? session_->end_leases() : session_->close();
        for (auto& t : queue_.take_under_way())
            over.emplace_back(std::move(t.operation), node_reply{.error = errc::connection_lost});
        for (auto& t : queue_.take_waiting())
            over.emplace_back(std::move(t.operation), node_reply{.untouched = true, .error = errc::node_closed});
        session_.reset();
        move_.reset();
    }

    void abandon() override
    {
        if (session_)
            session_->abandon();
        session_.reset();
        move_.reset();
        queue_ = {};
    }

private:
    void fail(queue::transactions all, node_reply why)
    {
        for (auto const& t : all)
            owner_.note(t.operation->command(), why, queue_.sent(), scope_.good_until);
        for (auto const& t : all)
            t.operation->complete(why);
    }

    // Called by the session.

    node_reply check_server(json::object const& answer) override
    {
        return owner_.check_server(std::string(text_in(object_in(answer, "header"), "cluster_id")),
                                   revision_of(answer));
    }

    void up() override
    {
        take_lease();
        if (!owner_.expiries()->locks().empty())  // the previous connection may have ended during a move
            move_.emplace();
        owner_.up("connected to " + net::to_string(session_->where().member));
    }

    void lost() override
    {
        leases_->end();
        owner_.lost("lease");
    }

    std::string next() override
    {
        auto const self = owner_.keep_alive();
        // No request is in flight here, so the node knows all keys under the previous lease.
        if (leases_->lease() != scope_.lease) {
            move_.emplace();
            take_lease();
        }
        std::string request;
        if (!move_ || std::exchange(others_next_, false)) {
            kit::finished over;
            request =
                queue_.next(leases_->reads_only() ? std::string() : leases_->key(), owner_.connection(), scope_, over);
            kit::complete(std::move(over));
        }
        if (!request.empty() || !move_)
            return request;
        moves_now_ = others_next_ = true;
        return move_->next(*leases_, owner_.connection(), scope_.layout, *owner_.expiries());
    }

    void answered(answer a) override
    {
        auto const self = owner_.keep_alive();
        auto sent = queue_.take_under_way();
        bool const is_fenced = a.why.error ? a.missing == missing::key : !is_true(a.content, "succeeded");
        if (std::exchange(moves_now_, false) && !is_fenced)
            return moved(a);
        if (is_fenced || a.missing == missing::token)
            queue_.send_again(std::move(sent));
        else if (a.why.untouched && sent.size() > 1)  // one of them caused the refusal
            queue_.send_again(std::move(sent), true);
        else if (a.why.error)
            fail(std::move(sent), a.why);
        else
            hear(std::move(sent), a.content);
        if (is_fenced && session_)
            session_->lose();
    }

    // Handles the answer to a part of the move: some keys are under the latest lease, or the server refused.
    void moved(answer const& a)
    {
        if (a.why.error) {
            move_.reset();
            return session_->ask_again_soon();
        }
        owner_.heard(revision_of(a.content));
        move_->done(*owner_.expiries());
        if (move_->is_over())
            move_.reset();
    }

    void take_lease()
    {
        scope_.lease = leases_->lease();
        scope_.good_until = leases_->good_until();
    }

    void hear(queue::transactions sent, json::object const& answer)
    {
        auto const revision = revision_of(answer);
        owner_.heard(revision);
        kit::finished over;
        queue::transactions again;
        std::vector<std::string> changed;
        for (auto& t : sent) {
            if (auto reply = t.decode(inner(answer, t.step), scope_)) {
                note(t.operation->command(), *reply, revision, changed);
                over.emplace_back(std::move(t.operation), std::move(*reply));
            } else {
                again.push_back(std::move(t));
            }
        }
        queue_.send_again(std::move(again));
        kit::complete(std::move(over));
        for (auto const& name : changed)
            owner_.tell(name);
    }

    // Updates the known keys and the watches after a reply.
    void note(node_command const& c, node_reply& r, std::int64_t revision, std::vector<std::string>& changed)
    {
        bool const granted = r.vote == vote::granted;
        owner_.note(c, r, queue_.sent(), scope_.good_until);
        if (granted && (c.which() == kind::acquire || c.which() == kind::extend))
            r.good_for = std::chrono::floor<std::chrono::milliseconds>(owner_.expiries()->kept(c) - queue_.sent());
        bool const inspects = c.which() == kind::inspect;
        if (!c.watches() || (!inspects && (c.which() != kind::acquire || granted)))
            return;
        auto asked = inspects ? watches_.inspected(c.key(), revision, clock::now())
                              : watches_.denied(c, r, revision, clock::now());
        for (auto& message : asked.messages)
            session_->watch(std::move(message));
        changed.insert(changed.end(), asked.changed.begin(), asked.changed.end());
        r.watched = true;
    }

    void touched(std::uint64_t watch, std::int64_t revision) override
    {
        if (auto const name = revision == 0 ? watches_.ended(watch) : watches_.touched(watch, revision); !name.empty())
            owner_.tell(name);
    }

    driver::owner& owner_;
    std::shared_ptr<address const> const address_;
    surroundings const outside_;
    std::vector<std::shared_ptr<server const>> const servers_;
    std::shared_ptr<leases> const leases_;
    watches watches_;
    scope scope_;
    std::shared_ptr<session> session_;
    queue queue_;
    std::optional<move> move_;  ///< to the latest lease
    bool moves_now_ = false;    ///< a part of the move is in flight
    bool others_next_ = false;  ///< the latest request was a part of the move; now other commands get a turn
};

}  // namespace

std::shared_ptr<node> make_etcd_node(address a, manager_options const& c, store_context context, surroundings outside)
{
    auto settings = kit::settings_for(a, "etcd", "cluster", keys_max, c, std::move(context));
    settings.seed = outside.seed;
    auto const where = std::make_shared<address const>(std::move(a));
    return std::make_shared<kit::lease_node>(std::move(settings), [&](kit::driver::owner& o) {
        return std::make_unique<etcd_driver>(o, where, c, std::move(outside));
    });
}

}  // namespace redlock::stores::etcd

namespace redlock::inline v1 {

store etcd(etcd_options options)
{
    namespace here = stores::etcd;
    stores::kit::check_defaults(options, here::check, "etcd_options");
    auto const make = [](here::address a, manager_options const& c, store_context context) {
        return here::make_etcd_node(std::move(a), c, std::move(context));
    };
    return stores::kit::lease_store<etcd_options>({"etcd", "etcds"}, std::move(options), here::parse_address, make);
}

}  // namespace redlock
