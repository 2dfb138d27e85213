#pragma once

#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/connection.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/greeting.hpp"
#include "stores/redis/sender.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** The operations that wait for a server. The queue sends them in batches, and completes them with the replies.

    Operations wait until the event loop has run all handlers that are due, and then leave as one batch. If the server
    cannot be reached, or is silent for longer than `node_timeout`, they stay. The queue drops operations that are
    withdrawn or too late, so a server that comes back never gets old requests.
*/
class queue final : public sender::queue {
public:
    queue(connection&, std::shared_ptr<sender>);

    /// @param self this object
    /// @param changed called with each changed key, after the replies that the server sent before the change
    void start(std::weak_ptr<queue> self, std::shared_ptr<runtime::runtime>,
               std::function<void(std::string_view key)> changed);

    void submit(std::shared_ptr<node_operation>);

    /// Sends the operations soon, or refuses them if the server cannot be reached.
    void flush_soon();

    /// The connection was lost, or an attempt to connect failed.
    void disconnected();

    /// From now on the queue encodes operations for this server's version and access list.
    void adapt_to(introduction const&);

    /// Whether the server sends pushes about changes. Only on the strand.
    bool tracks() const noexcept { return tracks_; }

    /// Completes the operations of the batch with its replies.
    void answered(batch&);

    /// The server sent a push about a key. If a denied operation has its reply but is not completed yet, its caller
    /// must get the reply first and the change second.
    void push_arrived(std::string_view key);

    void close();
    void abandon();

private:
    struct queued {
        std::shared_ptr<node_operation> operation;
        bool load_script = false;  ///< the server did not know the script, so the request loads it
    };

    bool begin_sending(clock::time_point now) override;
    bool send(std::size_t i, clock::time_point now, encoder&) override;
    void end_sending() override;

    void add(queued, encoder&);
    enum class tracking : std::uint8_t { done, gone, refused };
    tracking tracking_of(batch::entry const&, batch const&);
    tracking tracking_of(reply const& asked, reply const& left);
    void track(std::vector<std::string> const& keys);
    void tracked(std::vector<std::string> const& keys, batch const& answer);
    void tell(std::string const& key);
    bool try_again(batch::entry&, error_code refusal);
    void refuse_waiting(clock::time_point now);
    void tidy(std::vector<queued>&, clock::time_point now);

    connection& connection_;
    std::shared_ptr<sender> const sender_;
    std::weak_ptr<queue> self_;
    std::shared_ptr<runtime::runtime> runtime_;
    std::function<void(std::string_view)> changed_;
    manner manner_;
    bool tracks_ = false;
    bool closed_ = false;
    bool flush_due_ = false;
    bool refuse_all_ = false;  ///< the next refusal includes @ref kept_
    std::size_t tidy_at_ = 64;
    std::vector<queued> waiting_;
    std::vector<queued> kept_;      ///< releases that wait for a server that cannot be reached
    std::vector<queued> taken_;     ///< operations that are being sent; a member, to reuse its memory
    std::shared_ptr<batch> batch_;  ///< the batch that is being filled
    bool has_votes_ = false;        ///< it has a command whose grant counts as a vote
};

}  // namespace redlock::stores::redis
