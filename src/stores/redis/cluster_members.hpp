#pragma once

#include "core/quarantine.hpp"
#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/redis_node.hpp"
#include "stores/redis/server_record.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** The masters of a cluster that the manager needs, with a node for each.

    Each master has its own memory, so it has its own quarantine. Slots that a master got from another one also have a
    quarantine, unless the other master is alive and handed them over.

    All functions run on the executor, except those that are marked "any thread". The class is large because each new
    map changes the members and their slots together.
*/
class cluster_members {
public:
    class owner {
    public:
        virtual void connected() = 0;                    ///< a member has connected to its server
        virtual void learned() = 0;                      ///< more is known about the server of a member
        virtual void changed(std::string_view key) = 0;  ///< see node_events

    protected:
        ~owner() = default;
    };

    struct member {
        std::uint32_t number;
        net::place where;
        net::place target;  ///< where the node connects
        std::string tag;    ///< a hash tag in one of its slots
        std::shared_ptr<server_node> node;
        clock::time_point votes_from = clock::time_point::min();  ///< end of the quarantine
        /// From then on it can hand slots over. Before, it had failed, or was no master.
        clock::time_point vouches_from = clock::time_point::min();
        server_identity server{};
        slot_times slots{};
        std::vector<server_record::range> ranges{};           ///< as the record told them
        clock::time_point looked = clock::time_point::min();  ///< when the record was last requested
        slot_set vouched{};                                   ///< not young, which the record does not say yet
        slot_set given_up{};         ///< the member voted in them, and lost them to an unknown master
        slot_set leaving{};          ///< the member may have lost them; it is asked for their new place
        unsigned leaving_asked = 0;  ///< how often it was asked about `leaving`
    };

    /// @param map the members keep it up to date
    cluster_members(net::url const& cluster, manager_options const&, std::shared_ptr<group>, transport_factory,
                    cluster_map& map, owner&);

    /// @param self the owner of this object; callbacks lock it, and do nothing if it is gone
    void start(std::shared_ptr<runtime::runtime>, asio::any_io_executor, std::weak_ptr<void> self);
    void close();
    void abandon();

    /// Whether a member is ready. Any thread.
    bool ready() const noexcept { return ready_.load(std::memory_order_relaxed); }

    /// Whether all ready members send pushes about changes. Any thread.
    bool notifies() const noexcept { return notifies_.load(std::memory_order_relaxed); }

    /// Null: the member with this number is gone.
    member const* find(std::uint32_t number) const;

    /// Finds or makes the member. Null: it cannot be made, and @ref trouble says why.
    member* at(net::place const&);
    node_reply const& trouble() const noexcept { return trouble_; }

    /// All masters that own slots. If the prefix has a hash tag, all locks are in one slot, and only its master is
    /// needed.
    std::vector<net::place> wanted() const;

    /// Takes a new map from a member. Closes members that are not needed any more, which completes their unsent
    /// operations, and makes missing members.
    void follow(cluster_map told);

    /// Master @p number has answered that another master owns the slot.
    void redirected(std::uint32_t number, redirection const&);

    /// Checks whether a vote of master @p number counts. @return with an error: why not
    node_reply doubt(std::uint32_t number, std::uint16_t slot);

    /// Whether all masters are new to the prefix.
    std::optional<server_identity> as_new() const;

    /// Tells the masters that the prefix is not new: see @ref node::note_old_set.
    void note_old_set();

    /// A copy, because operations that complete may change the members.
    std::vector<member> all() const { return members_; }

    /// The masters that the prefix needs: those of @ref as_new. A former one may stay connected, and does not count.
    /// Empty: one of them has no member yet.
    std::vector<member> needed() const;

    void log(std::string const& what) const;

private:
    bool guards() const noexcept { return settings_.restart_guard != restart_guard::off; }
    clock::duration quarantine() const;
    member* of_number(std::uint32_t);
    member* of_place(net::place const&);
    void tend();
    bool hands_over(member const&, std::uint16_t slot) const;
    void forget(std::uint16_t slot);
    void ask_what_has_left(member&);
    void answered(std::uint32_t number, reply const& cluster);
    void hand_over(std::uint32_t from, std::uint16_t slot, net::place const& to);
    void read_record(member&);
    void read_records();
    void told(std::uint32_t number, server_record const&);
    void record_has_moved(std::uint32_t number);
    void connected(std::uint32_t number, server_identity const&);
    void learned(std::uint32_t number, server_identity const&);
    void find_out_about_old_set();
    void changed(std::string_view key);
    void update_ready();
    void drop_references();

    net::url const url_;
    std::string const name_;
    manager_options const settings_;
    std::shared_ptr<redis::group> const group_;
    transport_factory const make_transport_;
    cluster_map& map_;
    owner& owner_;
    std::shared_ptr<runtime::runtime> runtime_;
    asio::any_io_executor executor_;
    std::weak_ptr<void> self_;
    std::atomic<bool> ready_{false}, notifies_{false};
    std::vector<member> members_;
    core::old_set old_set_;
    runtime::alarm old_set_known_{[this] { find_out_about_old_set(); }};
    std::uint32_t number_ = 0;  ///< of the latest member
    node_reply trouble_;
};

}  // namespace redlock::stores::redis
