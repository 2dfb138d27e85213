#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/redis_node.hpp"
#include "stores/redis/slot_record.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** The masters of a cluster, as far as they are needed: a node for each of them.

    Each has a memory of its own, and so a quarantine of its own. So have slots that it has got from another master,
    unless that one is alive and has handed them over. On the executor, but for what may be asked on any thread.

    It has many functions because which members there are and which slots each has change together, with each new map.
*/
class cluster_members {
public:
    class owner {
    public:
        virtual void connected() = 0;                    ///< one of them, to a server
        virtual void changed(std::string_view key) = 0;  ///< as node_events says

    protected:
        ~owner() = default;
    };

    struct member {
        std::uint32_t number;
        net::place where;
        std::string tag;  ///< a hash tag in one of its slots
        std::shared_ptr<server_node> node;
        clock::time_point votes_from = clock::time_point::min();
        clock::time_point vouches_from = clock::time_point::min();  ///< it had failed, or was no master, before that
        slot_record slots{};
        clock::time_point looked = clock::time_point::min();  ///< when the record was asked for
        slot_set vouched{};                                   ///< the record has yet to be told that they are not young
        slot_set given_up{};  ///< it voted in them, and says that it has them no more; it has not said where they are
        slot_set leaving{};   ///< it may have lost them, and is asked where they are
        unsigned leaving_asked = 0;  ///< how often it was asked whether it has
    };

    /// @p map is kept up to date.
    cluster_members(net::url const& cluster, config const&, std::shared_ptr<group>, link_factory, cluster_map& map,
                    owner&);

    /// @p self keeps this alive.
    void start(std::shared_ptr<runtime::runtime>, asio::any_io_executor, std::weak_ptr<void> self);
    void close();
    void abandon();

    bool ready() const noexcept
    {
        return ready_.load(std::memory_order_relaxed);
    }  ///< whether one of them is; any thread
    bool notifies() const noexcept
    {
        return notifies_.load(std::memory_order_relaxed);
    }  ///< likewise: all that are ready

    /// Null: there is none with that number any more.
    member const* find(std::uint32_t number) const;

    /// It is made if it is not there. Null: it cannot be made, and @ref trouble says why.
    member* at(net::place const&);
    node_reply const& trouble() const noexcept { return trouble_; }

    /// A member tells of the cluster. Lets those go that are of no use any more, and makes those that are missing. What
    /// they have not sent is completed.
    void follow(cluster_map told);

    /// Master @p number itself says that a slot is elsewhere.
    void redirected(std::uint32_t number, redirection const&);

    /// Whether a vote of master @p number counts. @return with an error: why not
    node_reply doubt(std::uint32_t number, std::uint16_t slot);

    /// A copy: who is told of something may change them.
    std::vector<member> all() const { return members_; }

    /// A message for people.
    void log(std::string const& what) const;

private:
    bool guards() const noexcept { return settings_.restart_guard != restart_guard::off; }
    clock::duration quarantine() const;
    std::vector<net::place> wanted() const;
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
    void record_was_read(std::uint32_t number, std::string_view tag, slot_set const& vouched, batch const&);
    void connected(std::uint32_t number, server_identity const&);
    void changed(std::string_view key);
    void look_who_is_ready();
    void let_go();

    net::url const url_;
    std::string const name_;
    config const settings_;
    std::shared_ptr<redis::group> const group_;
    link_factory const make_link_;
    cluster_map& map_;
    owner& owner_;
    std::shared_ptr<runtime::runtime> runtime_;
    asio::any_io_executor executor_;
    std::weak_ptr<void> self_;
    std::atomic<bool> ready_{false}, notifies_{false};
    std::vector<member> members_;
    std::uint32_t number_ = 0;  ///< of the latest
    node_reply trouble_;
};

}  // namespace redlock::stores::redis
