// Redlock: https://redis.io/docs/latest/develop/use/patterns/distributed-locks, and what becomes of it.

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/scripts.hpp"

namespace redlock::sim::gallery {

namespace {

/// One server after the other, as published.
class redlock_as_published : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        token_ = computer_.unique();
        auto const begun = computer_.now();
        std::size_t granted = 0;
        for (std::size_t i = 0; i < computer_.servers(); ++i)
            granted += co_await set(i);
        valid_until_ = count_from(begun) + ttl - ttl / 100 - 2ms;  // less what clocks may drift apart
        if (granted > computer_.servers() / 2 && computer_.now() < valid_until_)
            co_return true;
        co_await unlock();
        co_return false;
    }

    task<void> unlock() override
    {
        for (std::size_t i = 0; i < computer_.servers(); ++i)
            co_await computer_.ask_within(patience(), i, "EVAL", delete_if_equal, 1, key, token_);
    }

    std::optional<bool> held() override { return computer_.now() < valid_until_; }

private:
    task<bool> set(std::size_t i)
    {
        co_return co_await computer_.ask_within(patience(), i, "SET", key, token_, "NX", "PX", ttl / 1ms) == "OK";
    }

    clock::duration pause() override { return computer_.any_up_to(200ms); }

    virtual clock::duration patience() { return 50ms; }
    virtual clock::time_point count_from(clock::time_point begun) { return begun; }

    std::string token_;
    clock::time_point valid_until_{};
};

/// As some are that wait for each server for as long as that takes.
class redlock_without_timeout final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

private:
    clock::duration patience() override { return clock::duration::max(); }
};

class redlock_from_last_reply final : public redlock_as_published {
public:
    using redlock_as_published::redlock_as_published;

private:
    clock::time_point count_from(clock::time_point) override { return computer_.now(); }
};

}  // namespace

std::vector<exhibit> quorum()
{
    return {
        {.name = "Redlock without timeouts", .servers = 3, .make_server = redis_back_late, .make = make<redlock_without_timeout>},
        {.name = "Redlock, valid from last reply", .servers = 3, .make_server = redis_back_late, .make = make<redlock_from_last_reply>},
        {.name = "Redlock, restarts not delayed", .servers = 3, .make = make<redlock_as_published>},
        {.name = "Redlock as published", .servers = 3, .make_server = redis_back_late, .make = make<redlock_as_published>},
    };
}

}  // namespace redlock::sim::gallery
