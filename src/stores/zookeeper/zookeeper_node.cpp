#include "core/key.hpp"
#include "stores/kit/lease_store.hpp"
#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/errand.hpp"
#include "stores/zookeeper/session.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace redlock::stores::zookeeper {

namespace {

using kind = node_command::kind;

/// Sends commands to a ZooKeeper ensemble.
class zookeeper_driver final : public kit::driver, public session::owner {
public:
    zookeeper_driver(driver::owner& o, address a, session_settings s)
        : owner_(o), address_(std::move(a)), settings_(std::move(s))
    {
        scope_.ours = o.expiries();
        scope_.known = std::make_shared<knowledge>();
    }

    asio::awaitable<node_reply> visit(std::size_t member) override
    {
        if (!session_)
            session_ = std::make_shared<session>(co_await asio::this_coro::executor, address_, settings_, *this);
        auto const where = address_.members[member];
        auto why = co_await session_->visit(where);
        why.text = net::to_string(where) + ": " + why.text;
        co_return why;
    }

    void add(kit::operation o) override { queue_.add(std::move(o)); }

    void send() override
    {
        kit::finished over;
        for (auto const& o : queue_.take(clock::now(), over)) {
            o->mark_sent(owner_.connection());
            under_way_.insert(o);
            asio::co_spawn(session_->get_executor(), carry_out(owner_.keep_alive(), *this, o), asio::detached);
        }
        kit::complete(std::move(over));
    }

    void refuse(node_reply const& why, bool all, kit::finished& over) override { queue_.refuse(why, all, over); }

    void disconnected(node_reply const&) override
    {
        scope_.known->interests.clear();
        scope_.known->looks.clear();
        told_later_.clear();
    }

    void close(bool is_idle, kit::finished& over) override
    {
        if (session_)
            session_->close(is_idle && under_way_.empty());
        for (auto const& o : std::exchange(under_way_, {}))
            over.emplace_back(o, node_reply{.error = errc::connection_lost});
        for (auto& o : queue_.take_all())
            over.emplace_back(std::move(o), node_reply{.untouched = true, .error = errc::node_closed});
        drop_references();
    }

    void abandon() override
    {
        if (session_)
            session_->abandon();
        under_way_.clear();
        queue_.take_all();
        drop_references();
    }

private:
    void drop_references()
    {
        session_.reset();
        scope_.server.reset();
    }

    // Called by the session.

    std::uint32_t next_connection() override { return owner_.next_connection(); }
    node_reply check_server(greeting const& g) override { return owner_.check_server(g.id, g.zxid); }
    void heard(std::int64_t zxid) override { owner_.heard(zxid); }

    void up(greeting const& g, std::string_view words) override
    {
        scope_.server = session_->server();
        scope_.layout = session_->names();
        scope_.session = scope_.layout.session(session_->id().client_id);
        scope_.version = g.version;
        scope_.lasting = session_->timeout();
        owner_.up(words);
    }

    void lost() override
    {
        scope_.known->turns.clear();
        owner_.lost("session");
    }

    // A notification before an answer counts as older than the answer. An operation in flight may have read the key
    // before this change, so the notification waits for the end of the operation.
    void touched(std::string const& path) override
    {
        std::set<std::string> names;
        for (auto* const all : {&scope_.known->interests, &scope_.known->looks}) {
            if (auto const known = all->extract(path); !known.empty())
                names.insert(known.mapped());
        }
        for (auto const& name : names) {
            if (queue_.is_busy(core::what_changed(name).second))
                told_later_.insert(name);
            else
                owner_.tell(name);
        }
    }

    // Sending.

    static asio::awaitable<void> carry_out(std::shared_ptr<void> node, zookeeper_driver& d, kit::operation o)
    {
        auto const keeps_driver = std::move(node);
        auto const sent = clock::now();
        errand e(d.scope_, o);
        auto done = co_await e.run();
        if (d.under_way_.erase(o) == 0)
            co_return;  // the node was closed
        d.queue_.free(*o);
        auto const& c = o->command();
        d.owner_.note(c, done.reply, sent);
        if (done.reply.vote == vote::granted && (c.which() == kind::acquire || c.prolongs()))
            done.reply.good_for = d.session_->promise(sent);
        d.owner_.flush_soon();
        d.tell_later(c, done.changed);
        o->complete(std::move(done.reply));
        for (auto const& key : done.changed)
            d.owner_.tell(key);
    }

    // Adds the notifications that waited for the end of this operation.
    void tell_later(node_command const& c, std::vector<std::string>& to)
    {
        for (auto const& key : c.keys) {
            for (auto const& name : {key, core::handovers_key(key)}) {
                if (told_later_.erase(name) > 0)
                    to.push_back(name);
            }
        }
    }

    driver::owner& owner_;
    address const address_;
    session_settings const settings_;
    scope scope_;
    std::shared_ptr<session> session_;
    kit::pending_queue<kit::operation> queue_{{.store = "ZooKeeper", .keys_max = keys_max}};
    std::set<kit::operation> under_way_;
    std::set<std::string> told_later_;  ///< changes to report when an operation in flight has ended
};

std::shared_ptr<node> make_zookeeper_node(address a, manager_options const& c, store_context context)
{
    auto settings = kit::settings_for(a, "zookeeper", "ensemble", keys_max, c, std::move(context));
    auto const first = static_cast<std::ptrdiff_t>(settings.seed % a.members.size());  // differs between clients
    std::rotate(a.members.begin(), a.members.begin() + first, a.members.end());
    session_settings const of_session{c.connect_timeout, c.drift_factor, c.read_only, settings.log};
    return std::make_shared<kit::lease_node>(std::move(settings), [&](kit::driver::owner& o) {
        return std::make_unique<zookeeper_driver>(o, std::move(a), of_session);
    });
}

}  // namespace

}  // namespace redlock::stores::zookeeper

namespace redlock::inline v1 {

store zookeeper(zookeeper_options options)
{
    namespace here = stores::zookeeper;
    stores::kit::check_defaults(options, here::check, "zookeeper_options");
    return stores::kit::lease_store<zookeeper_options>({"zookeeper"}, std::move(options), here::parse_address,
                                                       here::make_zookeeper_node);
}

}  // namespace redlock
