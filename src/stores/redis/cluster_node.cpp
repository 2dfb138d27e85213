#include "stores/redis/cluster_node.hpp"

#include "stores/redis/cluster_map.hpp"
#include "stores/redis/cluster_members.hpp"
#include "stores/redis/cluster_operation.hpp"
#include "stores/redis/cluster_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::redis {

namespace {

using kind = node_command::kind;

constexpr unsigned attempts_max = 5;

// Completes an operation when every member has completed it.
struct gathering {
    std::shared_ptr<node_operation> whose;
    std::size_t left;
    node_reply reply{.vote = whose->command().which() == kind::found ? vote::granted : vote::unknown};

    void take(node_reply r)
    {
        bool const founds = whose->command().which() == kind::found;
        if ((reply.vote == vote::granted) == founds)  // founding needs all of them, connecting one
            reply = std::move(r);
        if (--left == 0)
            whose->complete(std::move(reply));
    }
};

bool votes(node_command const& c) { return c.which() == kind::acquire || c.which() == kind::raise || c.prolongs(); }

// Whether the master of the keys carries the command out.
bool is_about_keys(node_command const& c)
{
    return c.which() != kind::connect && c.which() != kind::found && c.which() != kind::scan;
}

bool are_in_one_slot(key_view keys)
{
    auto const slot = slot_of(keys.front());
    return std::ranges::all_of(keys, [&](auto& k) { return slot_of(k) == slot; });
}

class cluster_node final : public node,
                           inquiry::owner,
                           cluster_members::owner,
                           public std::enable_shared_from_this<cluster_node> {
public:
    cluster_node(net::url const& cluster, manager_options const& c, std::shared_ptr<group> g,
                 transport_factory const& make_transport)
        : name_(cluster.name()),
          group_(std::move(g)),
          members_(cluster, c, group_, make_transport, map_, *this),
          inquiry_(seeds_of(cluster), false, ask_for_cluster(), c, make_transport, *this)
    {
    }

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return members_.ready(); }
    bool notifies() const noexcept override { return members_.notifies(); }
    bool can(node_command const&) const noexcept override { return true; }

    bool may_still_execute(std::uint32_t connection) const override
    {
        auto const on = member_connection::of(connection);
        auto const* const m = members_.find(on.member);
        return !m || m->node->may_still_execute(on.own);
    }

    void start(asio::any_io_executor executor, node_events events) override
    {
        events_ = std::move(events);
        runtime_ = group_->runtime ? group_->runtime : runtime::make_system_runtime(executor);
        members_.start(runtime_, std::move(executor), weak_from_this());
        inquiry_.start(runtime_);
    }

    void submit(std::shared_ptr<node_operation> o) override
    {
        bool const at_once = mapped_ && queue_.empty() && is_about_keys(o->command());
        if (auto* const to = at_once ? member_for(o->command().keys) : nullptr)
            return send(wrapped(std::move(o)), *to);
        queue_.push_back(std::move(o));
        if (!std::exchange(begun_, true))
            inquiry_.ask();
        if (mapped_ || trouble_.error)
            flush_soon();
    }

    void note_old_set() override { members_.note_old_set(); }

    void close() override
    {
        closed_ = true;
        flush_.clear();
        inquiry_.close();
        queue_kept();
        for (auto const& o : std::exchange(queue_, {}))
            o->complete({.untouched = true, .error = errc::node_closed});
        members_.close();
        drop_references();
    }

    void abandon() override
    {
        closed_ = true;
        flush_.clear();
        inquiry_.abandon();
        kept_.clear();
        queue_.clear();
        members_.abandon();
        if (runtime_ && !group_->runtime && runtime_->announce_abandonment())
            runtime_->abandon();
        drop_references();
    }

private:
    static std::vector<net::url> seeds_of(net::url const& u)
    {
        std::vector<net::url> all;
        for (auto const& p : u.asked)
            all.push_back(u.of(p));
        return all;
    }

    void drop_references()
    {
        events_ = {};
        runtime_.reset();
    }

    // The map of slots

    node_reply answered(reply const& answer, net::url const& by) override
    {
        cluster_map told;
        if (auto why = read_cluster(answer, by, told); why.error)
            return why;
        if (!std::exchange(mapped_, true))
            members_.log(
                "its replication is asynchronous, so a failover may lose locks: slots that fail over grant "
                "nothing for max_ttl + 10 s, and a client that does not notice the failover keeps locking on the old "
                "master");
        trouble_ = {};
        members_.follow(std::move(told));
        queue_kept();
        if (!queue_.empty())
            flush_soon();
        return {};
    }

    void nobody_knows(node_reply why) override
    {
        if (mapped_)
            return;  // the known members redirect to the new place of a slot
        trouble_ = {.untouched = true, .error = why.error, .text = "no member tells of the cluster: " + why.text};
        queue_kept();
        flush_soon();
    }

    // Events of the members

    // The cluster as a whole has no quarantine; each member has its own. But if all members are new to the prefix, the
    // cluster is.
    void connected() override
    {
        if (events_.connected)
            events_.connected(members_.as_new().value_or(server_identity()));
    }

    void learned() override
    {
        if (events_.learned)
            events_.learned(members_.as_new().value_or(server_identity()));
    }

    void changed(std::string_view key) override
    {
        if (events_.changed)
            events_.changed(key);
    }

    // Operations

    // Null: there is no such member; trouble_for() returns the reason.
    cluster_members::member* member_for(key_view keys)
    {
        auto const* const owner = are_in_one_slot(keys) ? map_.owner(slot_of(keys.front())) : nullptr;
        return owner ? members_.at(*owner) : nullptr;
    }

    node_reply trouble_for(key_view keys) const
    {
        if (!are_in_one_slot(keys))
            return {.untouched = true,
                    .error = errc::unsupported,
                    .text = "the names are in several slots of the cluster; those that share a hash tag, such as "
                            "{order}:7 and {order}:stock, are in one"};
        if (auto const slot = slot_of(keys.front()); !map_.owner(slot))
            return {.untouched = true,
                    .error = errc::wrong_cluster_node,
                    .text = fmt::format("no master has its slot, {}", slot)};
        return members_.trouble();
    }

    std::shared_ptr<cluster_operation> wrapped(std::shared_ptr<node_operation> o)
    {
        auto const self = weak_from_this();
        return std::make_shared<cluster_operation>(std::move(o),
                                                   [self](std::shared_ptr<cluster_operation> done, node_reply r) {
                                                       if (auto const s = self.lock())
                                                           s->answered(std::move(done), std::move(r));
                                                   });
    }

    void send(std::shared_ptr<cluster_operation> o, cluster_members::member& to)
    {
        o->go_to(to.number);
        to.node->submit(std::move(o));
    }

    void answered(std::shared_ptr<cluster_operation> o, node_reply r)
    {
        if (closed_)
            return o->finish(std::move(r));
        auto const* const by = members_.find(o->member);
        if (r.untouched && r.error == errc::wrong_cluster_node) {
            inquiry_.ask();
            if (auto to = read_redirection(r.text); to && by) {
                if (to->to.host.empty())
                    to->to.host = by->where.host;
                to->to = map_.place_of(to->to);
                members_.redirected(o->member, *to);
            }
        }
        bool const elsewhere = r.untouched && is_about_keys(o->command()) && (read_redirection(r.text) || !by);
        if (auto* const to = elsewhere && o->attempts < attempts_max ? member_for(o->command().keys) : nullptr)
            return send(std::move(o), *to);
        if (r.vote == vote::granted && votes(o->command())) {
            if (auto why = members_.doubt(o->member, slot_of(o->command().key())); why.error)
                r = std::move(why);
        }
        o->finish(std::move(r));
    }

    // Puts the operations that waited for a map back into the queue, in front.
    void queue_kept()
    {
        std::ranges::move(std::exchange(queue_, {}), std::back_inserter(kept_));
        queue_ = std::exchange(kept_, {});
    }

    void flush_soon() { runtime_->set(flush_, runtime_->now()); }

    void flush()
    {
        auto const self = shared_from_this();  // a completion handler may close this node
        for (auto& o : std::exchange(queue_, {}))
            carry_out(std::move(o));
    }

    void carry_out(std::shared_ptr<node_operation> o)
    {
        if (closed_)
            return o->complete({.untouched = true, .error = errc::node_closed});
        auto const& c = o->command();
        if (o->withdrawn() || runtime_->now() > o->not_after)
            return o->complete({.untouched = true, .error = errc::node_unreachable});
        if (!mapped_ && (!trouble_.error || c.which() == kind::release))  // a release is always needed
            return kept_.push_back(std::move(o));
        if (!mapped_)
            return o->complete(trouble_);
        if (c.which() == kind::connect || c.which() == kind::found)
            return ask_all(std::move(o));
        if (c.which() == kind::scan)
            return scan(std::move(o));
        if (auto* const to = member_for(c.keys))
            return send(wrapped(std::move(o)), *to);
        o->complete(trouble_for(c.keys));
    }

    static node_reply no_master()
    {
        return {.untouched = true, .error = errc::wrong_cluster_node, .text = "no master has the slot of its locks"};
    }

    void scan(std::shared_ptr<node_operation> o)
    {
        auto const masters = members_.wanted();
        if (masters.empty())
            return o->complete(no_master());
        auto next = next_scan(o, masters);
        if (!next)
            return o->complete({.vote = vote::granted, .details = std::make_shared<key_details>()});
        if (auto* const to = members_.at(next->where))
            return send(wrapped(std::move(next->operation)), *to);
        o->complete(members_.trouble());
    }

    // To connect all members, or to found the masters that the prefix needs.
    void ask_all(std::shared_ptr<node_operation> o)
    {
        auto const members = o->command().which() == kind::found ? members_.needed() : members_.all();
        if (members.empty())
            return o->complete(no_master());
        auto const all = std::make_shared<gathering>(gathering{o, members.size()});
        for (auto const& m : members)
            m.node->submit(std::make_shared<cluster_operation>(
                o, [all](std::shared_ptr<cluster_operation>, node_reply r) { all->take(std::move(r)); }));
    }

    std::string const name_;
    std::shared_ptr<redis::group> const group_;
    cluster_map map_;
    cluster_members members_;
    inquiry inquiry_;
    node_events events_;
    std::shared_ptr<runtime::runtime> runtime_;
    runtime::alarm flush_{[this] { flush(); }};
    bool begun_ = false, closed_ = false;
    bool mapped_ = false;  ///< a map of slots is known
    node_reply trouble_;   ///< why no map is known
    std::vector<std::shared_ptr<node_operation>> queue_;
    std::vector<std::shared_ptr<node_operation>> kept_;  ///< operations that wait for a map
};

}  // namespace

std::shared_ptr<node> make_cluster_node(net::url const& cluster, manager_options const& c, std::shared_ptr<group> g,
                                        transport_factory make_transport)
{
    return std::make_shared<cluster_node>(cluster, c, std::move(g), std::move(make_transport));
}

}  // namespace redlock::stores::redis
