#pragma once

#include "core/server_memory.hpp"
#include "net/address_census.hpp"
#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/server_record.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** Keeps a connection to one server from the first use on. It connects, sends the greeting, and reconnects with
    back-off. If the server stops answering, it ends the connection.

    It owns the batches in flight: those that were sent and are not answered.

    The class is large because connecting, greeting, heartbeats and the end of a connection share one state.
*/
class connection final : transport::owner {
public:
    class owner {
    public:
        /// Called if the greeting succeeded. @return with an error: why the server must not vote
        virtual node_reply check_server(introduction const&) = 0;
        virtual void connected(server_identity const&) = 0;
        /// More is known about the server of this connection.
        virtual void learned(server_identity const&) {}
        /// The server has told its record: in the greeting, before @ref connected, and then with each look.
        virtual void told(server_record const&) {}
        /// The server has answered @ref found . The record that it told says whether it is founded.
        /// @param says_again see core::server_memory::says_again
        virtual void founding_ended([[maybe_unused]] bool says_again) {}
        /// A master of a cluster has lost the slot of its record, so the record needs another tag.
        virtual void record_has_moved() {}
        /// The connection was lost, or an attempt failed. If there is a @ref trouble, the owner completes all waiting
        /// operations with it, except releases.
        virtual void disconnected() = 0;
        /// The batch holds the replies that arrived; no more will follow.
        virtual void answered(batch&) = 0;
        virtual void push_arrived(std::string_view key) = 0;  ///< see transport::owner
        virtual void changed(std::string_view key) = 0;
        virtual void log(log_level, std::string const& what) const = 0;

    protected:
        ~owner() = default;
    };

    connection(net::url const&, manager_options const&, owner&, std::shared_ptr<transport>);
    ~connection() { transport_->abandon(); }
    connection(connection const&) = delete;
    connection& operator=(connection const&) = delete;

    void start(std::shared_ptr<runtime::runtime>);

    /// Starts to connect. Further calls do nothing.
    void open();

    void close();
    void abandon();

    bool up() const noexcept { return up_; }

    /// Why the latest attempt to connect failed; no error while it is under way.
    node_reply const& trouble() const noexcept { return trouble_; }

    /// The number of the current connection, or of the last one. 0: there was none.
    std::uint32_t number() const noexcept { return number_; }

    /// Whether the server may still execute commands that were sent on connection @p n.
    bool may_still_execute(std::uint32_t n) const noexcept { return n <= lingering_; }

    /// Whether the oldest request is unanswered for longer than `node_timeout`.
    bool silent(clock::time_point now) const
    {
        return !in_flight_.empty() && now - in_flight_.front()->sent > node_timeout_;
    }

    std::shared_ptr<batch> take_batch();
    void give_back(std::shared_ptr<batch>);

    /// Call it only while the connection is up.
    void send(std::shared_ptr<batch> const&);

    /// Adds a question to a batch with votes: whether the server still has the record that it told.
    void ask_for_word(batch&) const;

    /// Whether the votes in the batch count. If not, the server has lost its record, and perhaps locks.
    bool trusts(batch const&) const;

    /// Asks for the record now, in front of later batches. Does nothing if the connection is down.
    /// @param vouched see @ref record_question
    void look(slot_set const* vouched = nullptr) { look({}, vouched); }

    /// If the record is fresh, makes it founded.
    void found(commands::found how)
    {
        look(how.only_asks ? std::string() : memory_.verdict(core::beginning::founded), nullptr, how);
    }

    /// If the record is fresh, notes in it that the set is not new.
    void note_old_set() { look(memory_.verdict(core::beginning::in_old_set), nullptr); }

    /// Another connection must be made: what is known about the server has changed.
    void greet_again() { transport_->cut(); }

    /// The password, which must not be shown.
    std::string_view secret() const { return greeting_.secret(); }

    void move_to(std::string_view tag) { greeting_.move_to(tag); }

    std::deque<std::shared_ptr<batch>> const& in_flight() const noexcept { return in_flight_; }

private:
    void connecting() override;
    void answered(std::shared_ptr<batch> const&) override;
    void push_arrived(std::string_view key) override { owner_.push_arrived(key); }
    void changed(std::string_view key) override { owner_.changed(key); }
    void ended(node_reply why) override;

    void attempt();
    void greet();
    void give_up_greeting(node_reply why);
    void greeted();
    bool looks_elsewhere(introduction const&);
    node_reply check_server(introduction const&);
    void end_earlier(std::string const& client_id, std::uint32_t lingering_before);
    void look_again_later();
    void deadline_passed();
    void send_heartbeat();
    struct questions {
        bool policy = false, memory = false, record = false;  ///< see greeting
        std::optional<commands::found> found{};
        log_policy signed_as = log_policy::unknown;
    };
    void look(std::string_view verdict, slot_set const* vouched, std::optional<commands::found> found = {});
    void looked(batch const& answer, questions asked);
    bool looked_at_record(reply const&);
    server_identity identity() const;
    bool is_fresh() const;
    void lacks_record(node_reply const& why);
    std::string random_word();
    void set_trouble(node_reply why);
    clock::duration pause();

    greeting greeting_;
    bool const is_chosen_;  ///< Sentinels choose the server
    std::chrono::milliseconds const node_timeout_, max_ttl_;
    clock::duration const greeting_limit_;
    owner& owner_;
    std::shared_ptr<transport> const transport_;
    std::shared_ptr<runtime::runtime> runtime_;

    runtime::alarm retry_{[this] { attempt(); }};
    runtime::alarm deadline_{[this] { deadline_passed(); }};
    runtime::alarm look_soon_{[this] { look(); }};
    bool begun_ = false;
    bool up_ = false;
    bool refused_ = false;        ///< the greeting showed that the server cannot vote
    bool asks_for_ping_ = false;  ///< the latest greeting got no reply: PING goes first
    bool knows_ping_ = false;     ///< the server of this connection has answered PING
    unsigned hung_up_ = 0;        ///< how often in a row it then ended the connection at HELLO
    unsigned failures_ = 0;
    clock::time_point up_since_;
    node_reply trouble_;
    std::uint32_t number_ = 0;
    std::uint32_t lingering_ = 0;  ///< the server may still execute commands of connections up to this number
    std::string client_id_;        ///< the server's id of the connection
    std::string run_id_;           ///< of the server of the latest connection
    core::server_memory memory_;
    net::address_census census_;
    std::string other_address_;                ///< of the name, if it leads to another server
    bool looks_elsewhere_ = false;             ///< this connection ends only because another address is to be looked at
    log_policy policy_ = log_policy::unknown;  ///< at the last look
    questions answers_;                        ///< the questions that the server answers
    bool logged_no_record_ = false;

    std::shared_ptr<batch> asked_;  ///< the greeting, until it is accepted
    std::deque<std::shared_ptr<batch>> in_flight_;
    std::uint64_t sent_ = 0;       ///< batches so far
    std::uint64_t looked_at_ = 0;  ///< the oldest batch in flight at the last heartbeat
    bool suspected_ = false;       ///< that batch was still unanswered at the next heartbeat
    std::vector<std::shared_ptr<batch>> spare_;
};

}  // namespace redlock::stores::redis
