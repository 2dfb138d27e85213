#include "stores/redis/sender.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::stores::redis {

void sender::add(std::weak_ptr<outbox> from, std::shared_ptr<runtime::runtime> const& r)
{
    // The run comes after all handlers that are due in the event loop, so their operations are in the same batch.
    if (due_.empty())
        asio::post(r->strand().inner(),
                   [self = shared_from_this(), r] { asio::dispatch(r->strand(), [self, r] { self->run(r->now()); }); });
    due_.push_back(std::move(from));
}

void sender::run(clock::time_point now)
{
    encoder_.forget();  // the previous run may have ended with an exception
    sending_.clear();
    for (auto& weak : std::exchange(due_, {})) {
        if (auto o = weak.lock(); o && o->begin_sending(now))
            sending_.push_back(std::move(o));
    }
    bool more = !sending_.empty();
    for (std::size_t i = 0; more; ++i) {
        more = false;
        for (auto& o : sending_)
            more = o->send(i, now, encoder_) || more;
    }
    encoder_.forget();
    for (auto& o : sending_)
        o->end_sending();
    sending_.clear();
}

}  // namespace redlock::stores::redis
