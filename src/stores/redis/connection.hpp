#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/server_history.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** Keeps a connection to one server, from the first use on: connects, greets, tries again after growing pauses, and
    gives up one on which nothing is answered any more.

    What is on its way belongs to it: the batches that were sent and are not answered.

    It is large because connecting, greeting, watching for silence and looking at the server again share one state. Only
    one of them is under way.
*/
class connection final : link::listener {
public:
    /// Whose connection it is.
    class owner {
    public:
        /// The server could vote, as far as it is known here. @return with an error: why it must not
        virtual node_reply check_server(introduction const&) = 0;
        virtual void connected(server_identity const&) = 0;
        /// There is no connection. If a @ref trouble is known, all that waits must hear of it.
        virtual void disconnected() = 0;
        /// Other clients have these settings: see shared_settings.
        virtual void met_settings(std::vector<std::string> const&) {}
        /// The answers that have come are in it; more will not.
        virtual void answered(batch&) = 0;
        virtual void change_read(std::string_view key) = 0;  ///< see link::listener
        virtual void changed(std::string_view key) = 0;
        virtual void log(log_level, std::string const& what) const = 0;

    protected:
        ~owner() = default;
    };

    connection(net::url const&, config const&, owner&, std::shared_ptr<link>);
    ~connection() { link_->abandon(); }
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    void start(std::shared_ptr<runtime::runtime>);

    /// Connects, unless it has begun to.
    void open();

    void close();
    void abandon();

    bool up() const noexcept { return up_; }

    /// Why the latest attempt to connect failed; no error while it is under way.
    node_reply const& trouble() const noexcept { return trouble_; }

    /// Of the present connection, or the one before: not 0, once there was one.
    std::uint32_t number() const noexcept { return number_; }

    /// Whether what was sent on connection @p n may still be carried out.
    bool may_still_execute(std::uint32_t n) const noexcept { return n <= lingering_; }

    /// Whether the server has been silent for longer than `node_timeout` though it was asked something.
    bool silent(clock::time_point now) const
    {
        return !in_flight_.empty() && now - in_flight_.front()->sent > node_timeout_;
    }

    std::shared_ptr<batch> take_batch();
    void give_back(std::shared_ptr<batch>);

    /// Only while it is up.
    void send(std::shared_ptr<batch> const&);

    std::deque<std::shared_ptr<batch>> const& in_flight() const noexcept { return in_flight_; }

private:
    void connecting() override;
    void answered(std::shared_ptr<batch> const&) override;
    void change_read(std::string_view key) override { owner_.change_read(key); }
    void changed(std::string_view key) override { owner_.changed(key); }
    void ended(node_reply why) override;

    void attempt();
    void greeted();
    node_reply check_server(introduction const&);
    void end_earlier(std::string const& client_id, std::uint32_t lingering_before);
    void look_again_later();
    void patience_is_over();
    void ask_for_a_sign();
    struct questions {
        bool log = false, memory = false, life = false;  ///< see greeting
    };
    void looked(batch const& answer, questions asked);
    void looked_at_life(reply const&);
    void lacks_life(node_reply const& why);
    std::string random_word();
    void set_trouble(node_reply why);
    clock::duration pause();

    std::string const password_;
    greeting const greeting_;
    std::chrono::milliseconds const node_timeout_;
    clock::duration const greeting_limit_;
    owner& owner_;
    std::shared_ptr<link> const link_;
    std::shared_ptr<runtime::runtime> runtime_;

    runtime::alarm retry_{[this] { attempt(); }};
    runtime::alarm patience_{[this] { patience_is_over(); }};
    bool begun_ = false;
    bool up_ = false;
    bool refused_ = false;  ///< this connection's server said, or showed, why it cannot vote
    unsigned failures_ = 0;
    clock::time_point up_since_;
    node_reply trouble_;
    std::uint32_t number_ = 0;
    std::uint32_t lingering_ = 0;  ///< what was sent on this connection, or on earlier ones, may still be carried out
    std::string client_id_;        ///< by which the server knows the connection
    server_history history_;
    questions answers_;  ///< which of them it answers
    bool told_that_no_life_ = false;

    std::shared_ptr<batch> asked_;  ///< the greeting, until it is accepted
    std::deque<std::shared_ptr<batch>> in_flight_;
    std::uint64_t sent_ = 0;       ///< batches so far
    std::uint64_t looked_at_ = 0;  ///< the first in flight when the connection was last looked at
    bool suspected_ = false;       ///< it was the same the time before
    std::vector<std::shared_ptr<batch>> spare_;
};

}  // namespace redlock::stores::redis
