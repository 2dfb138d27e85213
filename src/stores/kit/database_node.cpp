#include "stores/kit/database_node.hpp"

#include "stores/kit/watches.hpp"
#include "stores/kit/wishes.hpp"

#include <redlock/error.hpp>

#include <boost/asio/post.hpp>

#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

namespace {

/** A database as a node: its connections, and the operations that are sent on them.

    The node sends operations at once. Operations with the same value use the same connection, so the server executes a
    release after its acquisition. A withdrawal has no value. It waits for the answers to the commands of its client
    that may note the wish, unless the client wishes for the same again meanwhile.
*/
class database_node final : public node, connections::owner, public std::enable_shared_from_this<database_node> {
public:
    database_node(database d, manager_options const& c, store_context context)
        : connections_(std::move(d), c, std::move(context), *this)
    {
    }

    std::string const& name() const noexcept override { return connections_.name(); }
    bool ready() const noexcept override { return connections_.ready(); }
    bool notifies() const noexcept override { return connections_.notifies(); }
    node_limits limits() const override { return {.timeout = connections_.timeout()}; }
    bool can(node_command const&) const noexcept override { return true; }
    bool may_still_execute(std::uint32_t connection) const override
    {
        return connections_.may_still_execute(connection);
    }

    void start(asio::any_io_executor executor, node_events events) override
    {
        executor_ = executor;
        events_ = std::move(events);
        connections_.start(std::move(executor), weak_from_this());
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        queue_.push_back(std::move(o));
        flush_soon();
        connections_.open();
    }

    void note_old_set() override { connections_.note_old_set(); }

    void close() override
    {
        auto const self = shared_from_this();
        auto const kept = std::exchange(kept_, {}), queue = std::exchange(queue_, {});
        auto const withdrawals = std::exchange(withdrawals_, {});
        closed_ = true;
        connections_.close();
        for (auto const* some : {&kept, &queue, &withdrawals}) {
            for (auto const& o : *some)
                o->complete({.untouched = true, .error = errc::node_closed});
        }
        drop_references();
    }

    void abandon() override
    {
        closed_ = true;
        connections_.abandon();
        kept_.clear();
        queue_.clear();
        withdrawals_.clear();
        drop_references();
    }

private:
    using operations = std::vector<std::shared_ptr<node_operation>>;

    void drop_references()
    {
        events_ = {};
        executor_ = {};
    }

    void flush_soon()
    {
        if (closed_ || std::exchange(flush_due_, true))
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
        bool const flush_all = std::exchange(flush_kept_, false)
                               || (!kept_.empty() && connections_.session_for({}, now));
        auto const kept = flush_all ? std::exchange(kept_, {}) : operations();
        auto const queue = std::exchange(queue_, {});  // a completion handler may submit operations, or close this node
        for (auto const* some : {&kept, &queue}) {
            for (auto const& o : *some)
                send(o, now);
        }
        for (auto& o : std::exchange(withdrawals_, {}))
            send(std::move(o), now, true);
    }

    // A withdrawal that @p has_waited is not late, because the wait was necessary.
    void send(std::shared_ptr<node_operation> o, clock::time_point now, bool has_waited = false)
    {
        using kind = node_command::kind;
        auto const& c = o->command();
        if (closed_)
            return o->complete({.untouched = true, .error = errc::node_closed});
        if (o->withdrawn() || (now > o->not_after && !has_waited))
            return o->complete({.untouched = true, .error = errc::node_unreachable});
        auto* const to =
            connections_.session_for(c.value.empty() && !c.keys.empty() ? std::string_view(c.key()) : c.value, now);
        if (!to && connections_.trouble().error && c.which() != kind::release)  // a release is always needed
            return o->complete(connections_.trouble());
        if (!to)
            return kept_.push_back(std::move(o));
        if (c.which() == kind::connect)
            return o->complete({.vote = vote::granted});
        if (c.which() == kind::found)
            return connections_.found(*to, c.as<commands::found>(), [o](node_reply r) { o->complete(std::move(r)); });
        if (c.which() == kind::withdraw && wishes_.may_follow(c))
            return withdrawals_.push_back(std::move(o));
        drop_withdrawals_before(c);
        o->mark_sent(to->number);
        bool const watches = c.watches() && notifies();
        if (watches)
            watches_.sent(c);
        wishes_.sent(c);
        to->carry_out(c, o->leaves_tombstone(to->number),
                      [this, o, watches](node_reply r) { answered(*o, std::move(r), watches); });
    }

    // Otherwise the withdrawal would delete the wish that the command notes.
    void drop_withdrawals_before(node_command const& c)
    {
        operations dropped;
        std::erase_if(withdrawals_, [&](auto const& w) {
            bool const is_replaced = wishes::replaces(c, w->command());
            if (is_replaced)
                dropped.push_back(w);
            return is_replaced;
        });
        for (auto const& w : dropped)
            w->complete({.vote = vote::granted});
    }

    void answered(node_operation& o, node_reply reply, bool watches)
    {
        std::vector<std::string> changed;
        if (watches) {
            bool const is_inspection = o.command().which() == node_command::kind::inspect;
            reply.watched = (is_inspection ? reply.watched : reply.vote == vote::denied) && notifies();
            changed = watches_.answered(o.command(), reply, clock::now());
        }
        auto const self = shared_from_this();
        wishes_.answered(o.command());
        if (!withdrawals_.empty())
            flush_soon();
        o.complete(std::move(reply));
        for (auto const& name : changed)
            tell(name);
    }

    void tell(std::string_view name)
    {
        if (events_.changed)
            events_.changed(name);
    }

    // Connections

    void connected(server_identity const& server) override
    {
        if (events_.connected)
            events_.connected(server);
    }

    void learned(server_identity const& server) override
    {
        if (events_.learned)
            events_.learned(server);
    }

    void notified(std::string_view what) override
    {
        if (auto const name = watches_.heard(what); !name.empty())
            tell(name);
    }

    void changes_missed() override
    {
        watches_.clear();
        tell({});
    }

    void state_changed() override
    {
        flush_kept_ = true;
        flush_soon();
    }

    // Drops withdrawn and late operations, so that a queue for an unreachable server does not grow.
    void looked() override
    {
        if (!kept_.empty())
            state_changed();
    }

    asio::any_io_executor executor_;
    node_events events_;
    bool closed_ = false, flush_due_ = false;
    operations queue_;
    operations kept_;  ///< operations that wait for a connection
    bool flush_kept_ = false;
    operations withdrawals_;  ///< operations that wait for answers
    wishes wishes_;
    watches watches_;
    connections connections_;
};

}  // namespace

std::shared_ptr<node> make_database_node(database d, manager_options const& c, store_context context)
{
    return std::make_shared<database_node>(std::move(d), c, std::move(context));
}

}  // namespace redlock::stores::kit
