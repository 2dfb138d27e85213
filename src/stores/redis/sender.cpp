#include "stores/redis/sender.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::stores::redis {

void sender::add(std::weak_ptr<queue> from, std::shared_ptr<runtime::runtime> const& r)
{
    // The run comes after all handlers that are due in the event loop, so their operations are in the same batch.
    if (due_.empty())
        asio::post(r->urgent().inner(),
                   [self = shared_from_this(), r] { asio::dispatch(r->urgent(), [self, r] { self->run(r->now()); }); });
    due_.push_back({std::move(from)});
}

void sender::run(clock::time_point now)
{
    encoder_.forget();  // the previous run may have ended with an exception
    auto due = std::exchange(due_, {});
    for (auto& d : due) {
        d.sending = d.from.lock();
        if (d.sending && !d.sending->begin_sending(now))
            d.sending.reset();
    }
    bool more = true;
    for (std::size_t i = 0; more; ++i) {
        more = false;
        for (auto& d : due)
            more = (d.sending && d.sending->send(i, now, encoder_)) || more;
    }
    encoder_.forget();
    for (auto& d : due) {
        if (d.sending)
            d.sending->end_sending();
    }
}

}  // namespace redlock::stores::redis
