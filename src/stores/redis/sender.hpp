#pragma once

#include "runtime/runtime.hpp"
#include "stores/redis/encoder.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <memory>
#include <vector>

namespace redlock::stores::redis {

/** Lets the outboxes of a manager's nodes send what they were given, side by side, after all that is due in the event
    loop: an operation that goes to all of them is encoded once.
*/
class sender : public std::enable_shared_from_this<sender> {
public:
    class outbox {
    public:
        /// @return whether there is something to send
        virtual bool begin_sending(clock::time_point now) = 0;
        /// Its operation @p i. @return false: there is none
        virtual bool send(std::size_t i, clock::time_point now, encoder&) = 0;
        virtual void end_sending() = 0;

    protected:
        ~outbox() = default;
    };

    /// @p from has something to send; all of them live on the strand of @p r.
    void add(std::weak_ptr<outbox> from, std::shared_ptr<runtime::runtime> const& r);

private:
    void run(clock::time_point now);

    std::vector<std::weak_ptr<outbox>> due_;
    std::vector<std::shared_ptr<outbox>> sending_;
    encoder encoder_;
};

}  // namespace redlock::stores::redis
