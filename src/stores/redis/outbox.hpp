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
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** What is to be sent to a server, and what is waited for there.

    Operations queue up until the event loop has handled all that is due, and then leave as one batch. While the server
    cannot be reached, or has been silent for longer than `node_timeout`, they stay in the queue, where they are dropped
    when they are not wanted any more: nothing old is ever replayed to a server that comes back.
*/
class outbox final : public sender::outbox {
public:
    outbox(connection&, std::shared_ptr<sender>, std::string password);

    /// @p self: this. @p changed is told of changes to keys behind the answers that they come after.
    void start(std::weak_ptr<outbox> self, std::shared_ptr<runtime::runtime>,
               std::function<void(std::string_view key)> changed);

    void submit(std::shared_ptr<node_operation>);

    /// What may be sent is sent soon, and what cannot is refused.
    void flush_soon();

    /// The connection was lost, or an attempt to connect failed.
    void disconnected();

    /// From now on operations are put as this server wants them.
    void suit(introduction const&);

    /// Whether the server tells of changes. On the strand.
    bool tracks() const noexcept { return manner_.tracks != tracked::nothing; }

    /// The answers to what was sent have come.
    void answered(batch&);

    /// The server has said that a key has changed; who was answered before, but has not heard of it yet, must hear of
    /// both in their order.
    void change_read(std::string_view key);

    void close();
    void abandon();

private:
    struct queued {
        std::shared_ptr<node_operation> operation;
        bool load_script = false;  ///< the server did not know the script: send it along
    };

    bool begin_sending(clock::time_point now) override;
    bool send(std::size_t i, clock::time_point now, encoder&) override;
    void end_sending() override;

    void add(queued, encoder&);
    tracked tracks_for(node_command const&) const;
    bool is_tracked(batch::entry const&, batch const&);
    bool try_again(batch::entry&, error_code refusal);
    void refuse_queue(clock::time_point now);
    void tidy(std::vector<queued>&, clock::time_point now);

    connection& connection_;
    std::shared_ptr<sender> const sender_;
    std::string const password_;
    std::weak_ptr<outbox> self_;
    std::shared_ptr<runtime::runtime> runtime_;
    std::function<void(std::string_view)> changed_;
    manner manner_;
    bool closed_ = false;
    bool flush_due_ = false;
    bool refuse_all_ = false;  ///< the next refusal also looks at @ref kept_
    std::size_t tidy_at_ = 64;
    std::vector<queued> queue_;
    std::vector<queued> kept_;      ///< releases that wait for a server that cannot be reached
    std::vector<queued> taken_;     ///< what is being sent; kept for its memory
    std::shared_ptr<batch> batch_;  ///< into which it goes
};

}  // namespace redlock::stores::redis
