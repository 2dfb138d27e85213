#pragma once

#include "runtime/runtime.hpp"
#include "stores/redis/encoder.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace redlock::stores::redis {

/** Makes the queues of a manager's nodes send together, after all handlers that are due in the event loop. So an
    operation that goes to all nodes is encoded once.
*/
class sender : public std::enable_shared_from_this<sender> {
public:
    class queue {
    public:
        // None of these throws if memory runs out.

        /// @return whether the queue has something to send
        virtual bool begin_sending(clock::time_point now) = 0;
        /// Sends operation @p i of the queue. @return false: there is no such operation
        virtual bool send(std::size_t i, clock::time_point now, encoder&) = 0;
        virtual void end_sending() = 0;

    protected:
        ~queue() = default;
    };

    /// Schedules the queue @p from for sending. All queues run on the strand of @p r.
    void add(std::weak_ptr<queue> from, std::shared_ptr<runtime::runtime> const& r);

private:
    void run(clock::time_point now);

    struct place {
        std::weak_ptr<queue> from;
        std::shared_ptr<queue> sending{};  ///< while it sends
    };

    std::vector<place> due_;
    encoder encoder_;
};

}  // namespace redlock::stores::redis
