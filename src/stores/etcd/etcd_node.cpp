#include "stores/etcd/etcd_node.hpp"

#include "stores/etcd/link.hpp"
#include "stores/etcd/move.hpp"
#include "stores/etcd/outbox.hpp"
#include "stores/etcd/refusal.hpp"
#include "stores/etcd/watches.hpp"
#include "stores/kit/lease_node.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

namespace {

using kind = node_command::kind;

std::int64_t revision_of(json::object const& answer) { return number_in(object_in(answer, "header"), "revision"); }

/// Sends transactions to an etcd cluster.
class etcd_driver final : public kit::driver, public link::owner {
public:
    etcd_driver(kit::lease_node& n, std::shared_ptr<address const> a, manager_options const& c, surroundings outside)
        : node_(n),
          address_(std::move(a)),
          outside_(std::move(outside)),
          servers_(servers_of(*address_, c)),
          session_(std::make_shared<session>(address_->options.prefix + c.prefix, c.drift_factor, c.read_only)),
          watches_(address_->options.prefix),
          scope_{.layout = {address_->options.prefix}, .session = address_->options.session, .ours = n.expiries().get()}
    {
    }

    asio::awaitable<node_reply> visit(std::size_t member) override
    {
        auto const& server = servers_[member];
        auto const e = co_await asio::this_coro::executor;
        auto const number = node_.next_connection();
        auto const running = std::make_shared<link>(e, server, address_, session_, number, outside_, *this);
        link_ = running;
        auto why = co_await running->run();
        if (servers_.size() > 1)
            why.text = net::to_string(server->member) + ": " + why.text;
        co_return why;
    }

    void add(kit::operation o) override { outbox_.add(std::move(o)); }
    void send() override { link_->wake(); }
    void refuse(node_reply const& why, bool all, kit::finished& over) override { outbox_.refuse(why, all, over); }

    void tidy() override
    {
        auto const ended = watches_.tidy(clock::now());
        for (auto const& message : ended.messages)
            link_->watch(message);
        for (auto const& name : ended.changed)
            node_.tell(name);
    }

    void disconnected(node_reply const& why) override
    {
        watches_.clear();
        move_.reset();
        moves_now_ = false;
        fail(outbox_.take_under_way(), {.error = errc::connection_lost, .text = why.text});
    }

    void close(bool is_idle, kit::finished& over) override
    {
        if (link_)
            (is_idle && outbox_.idle() && !moves_now_) ? link_->end_session() : link_->close();
        for (auto& t : outbox_.take_under_way())
            over.emplace_back(std::move(t.operation), node_reply{.error = errc::connection_lost});
        for (auto& t : outbox_.take_waiting())
            over.emplace_back(std::move(t.operation), node_reply{.untouched = true, .error = errc::node_closed});
        link_.reset();
        move_.reset();
    }

    void abandon() override
    {
        if (link_)
            link_->abandon();
        link_.reset();
        move_.reset();
        outbox_ = {};
    }

private:
    void fail(outbox::transactions all, node_reply why)
    {
        for (auto const& t : all)
            node_.note(t.operation->command(), why, outbox_.sent(), scope_.good_until);
        for (auto const& t : all)
            t.operation->complete(why);
    }

    // Called by the link.

    node_reply check_server(json::object const& answer) override
    {
        return node_.check_server(std::string(text_in(object_in(answer, "header"), "cluster_id")), revision_of(answer));
    }

    void up() override
    {
        take_lease();
        if (!node_.expiries()->locks().empty())  // the previous connection may have ended during a move
            move_.emplace();
        node_.up("connected to " + net::to_string(link_->where().member));
    }

    void lost() override
    {
        session_->end();
        node_.lost("lease");
    }

    std::string next() override
    {
        auto const self = node_.shared_from_this();
        // No request is in flight here, so the node knows all keys under the previous lease.
        if (session_->lease() != scope_.lease) {
            move_.emplace();
            take_lease();
        }
        std::string request;
        if (!move_ || std::exchange(others_next_, false)) {
            kit::finished over;
            request = outbox_.next(session_->reads_only() ? std::string() : session_->key(), node_.connection(), scope_,
                                   over);
            kit::complete(std::move(over));
        }
        if (!request.empty() || !move_)
            return request;
        moves_now_ = others_next_ = true;
        return move_->next(*session_, node_.connection(), scope_.layout, *node_.expiries());
    }

    void answered(answer a) override
    {
        auto const self = node_.shared_from_this();
        auto sent = outbox_.take_under_way();
        bool const is_fenced = a.why.error ? a.missing == missing::key : !is_true(a.content, "succeeded");
        if (std::exchange(moves_now_, false) && !is_fenced)
            return moved(a);
        if (is_fenced || a.missing == missing::token)
            outbox_.send_again(std::move(sent));
        else if (a.why.untouched && sent.size() > 1)  // one of them caused the refusal
            outbox_.send_again(std::move(sent), true);
        else if (a.why.error)
            fail(std::move(sent), a.why);
        else
            hear(std::move(sent), a.content);
        if (is_fenced && link_)
            link_->lose();
    }

    // Handles the answer to a part of the move: some keys are under the latest lease, or the server refused.
    void moved(answer const& a)
    {
        if (a.why.error) {
            move_.reset();
            return link_->ask_again_soon();
        }
        node_.heard(revision_of(a.content));
        move_->done(*node_.expiries());
        if (move_->is_over())
            move_.reset();
    }

    void take_lease()
    {
        scope_.lease = session_->lease();
        scope_.good_until = session_->good_until();
    }

    void hear(outbox::transactions sent, json::object const& answer)
    {
        auto const revision = revision_of(answer);
        node_.heard(revision);
        kit::finished over;
        outbox::transactions again;
        std::vector<std::string> changed;
        for (auto& t : sent) {
            if (auto reply = t.hear(inner(answer, t.step), scope_)) {
                note(t.operation->command(), *reply, revision, changed);
                over.emplace_back(std::move(t.operation), std::move(*reply));
            } else {
                again.push_back(std::move(t));
            }
        }
        outbox_.send_again(std::move(again));
        kit::complete(std::move(over));
        for (auto const& name : changed)
            node_.tell(name);
    }

    // Updates the known keys and the watches after a reply.
    void note(node_command const& c, node_reply& r, std::int64_t revision, std::vector<std::string>& changed)
    {
        bool const granted = r.vote == vote::granted;
        node_.note(c, r, outbox_.sent(), scope_.good_until);
        if (granted && (c.which() == kind::acquire || c.which() == kind::extend))
            r.good_for = std::chrono::floor<std::chrono::milliseconds>(node_.expiries()->kept(c) - outbox_.sent());
        bool const inspects = c.which() == kind::inspect;
        if (!c.watches() || (!inspects && (c.which() != kind::acquire || granted)))
            return;
        auto asked = inspects ? watches_.inspected(c.key(), revision, clock::now())
                              : watches_.denied(c, r, revision, clock::now());
        for (auto& message : asked.messages)
            link_->watch(std::move(message));
        changed.insert(changed.end(), asked.changed.begin(), asked.changed.end());
        r.watched = true;
    }

    void touched(std::uint64_t watch, std::int64_t revision) override
    {
        if (auto const name = revision == 0 ? watches_.ended(watch) : watches_.touched(watch, revision); !name.empty())
            node_.tell(name);
    }

    kit::lease_node& node_;
    std::shared_ptr<address const> const address_;
    surroundings const outside_;
    std::vector<std::shared_ptr<server const>> const servers_;
    std::shared_ptr<session> const session_;
    watches watches_;
    scope scope_;
    std::shared_ptr<link> link_;
    outbox outbox_;
    std::optional<move> move_;  ///< to the latest lease
    bool moves_now_ = false;    ///< a part of the move is in flight
    bool others_next_ = false;  ///< the latest request was a part of the move; now other commands get a turn
};

}  // namespace

std::shared_ptr<node> make_etcd_node(address a, manager_options const& c, store_context context, surroundings outside)
{
    kit::lease_settings settings{.name = a.name,
                                 .kind = "etcd",
                                 .servers = "cluster",
                                 .members = a.members.size(),
                                 .keys_max = keys_max,
                                 .timeout = a.options.timeout,
                                 .context = std::move(context),
                                 .log = kit::logger(c, a.name),
                                 .seed = outside.seed};
    auto const where = std::make_shared<address const>(std::move(a));
    return std::make_shared<kit::lease_node>(std::move(settings), [&](kit::lease_node& n) {
        return std::make_unique<etcd_driver>(n, where, c, std::move(outside));
    });
}

}  // namespace redlock::stores::etcd

namespace redlock::inline v1 {

store etcd(etcd_options options)
{
    try {
        stores::etcd::check(options);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(std::string("redlock::etcd_options: ") + e.what());
    }
    auto make = [options = std::move(options)](std::string_view url, manager_options const& c,
                                               store_context const& context) {
        auto where = stores::etcd::parse_address(url, options);
        where.credentials = c.credentials;
        return stores::etcd::make_etcd_node(std::move(where), c, context);
    };
    return {.schemes = {"etcd", "etcds"}, .make = std::move(make)};
}

}  // namespace redlock
