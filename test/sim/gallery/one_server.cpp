// Locks on one Redis server, oldest first.

#include "sim/gallery/catalogue.hpp"
#include "sim/gallery/scripts.hpp"

namespace redlock::sim::gallery {

namespace {

class setnx_then_expire final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        auto const set = co_await computer_.ask(0, "SETNX", key, "locked");
        if (set == "1")
            co_await computer_.ask(0, "EXPIRE", key, ttl / 1s);
        co_return set == "1";
    }

    task<void> unlock() override { co_await computer_.ask(0, "DEL", key); }
};

class set_nx_then_del final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override { co_return co_await computer_.ask(0, "SET", key, "locked", "NX", "EX", ttl / 1s) == "OK"; }

    task<void> unlock() override { co_await computer_.ask(0, "DEL", key); }
};

/// The value is when the lock is over, by the clock of who set it.
class setnx_and_getset final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        over_ = computer_.time_of_day() + ttl;
        auto const set = co_await computer_.ask(0, "SETNX", key, over_.count());
        if (set == "1")
            co_return true;
        auto const before = co_await computer_.ask(0, "GET", key);
        if (!is_over(before))
            co_return false;
        over_ = computer_.time_of_day() + ttl;
        co_return co_await computer_.ask(0, "GETSET", key, over_.count()) == before;
    }

    task<void> unlock() override
    {
        if (computer_.time_of_day() < over_)  // otherwise it is somebody else's
            co_await computer_.ask(0, "DEL", key);
    }

private:
    bool is_over(std::string const& value)
    {
        return !value.empty() && value != "(nil)" && std::chrono::milliseconds(std::stoll(value)) < computer_.time_of_day();
    }

    std::chrono::milliseconds over_{};
};

/// The same as one step.
class timestamp_script final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        auto const now = computer_.time_of_day();
        over_ = now + ttl;
        co_return co_await computer_.ask(0, "EVAL", take_if_over, 1, key, now.count(), over_.count()) == "1";
    }

    task<void> unlock() override
    {
        if (computer_.time_of_day() < over_)
            co_await computer_.ask(0, "DEL", key);
    }

private:
    std::chrono::milliseconds over_{};
};

class set_nx_with_token final : public polling {
public:
    using polling::polling;

    task<bool> try_lock() override
    {
        token_ = computer_.unique();
        co_return co_await computer_.ask(0, "SET", key, token_, "NX", "PX", ttl / 1ms) == "OK";
    }

    task<void> unlock() override { co_await computer_.ask(0, "EVAL", delete_if_equal, 1, key, token_); }

private:
    std::string token_;
};

}  // namespace

std::vector<exhibit> one_server()
{
    return {
        {.name = "SETNX, then EXPIRE", .make = make<setnx_then_expire>},
        {.name = "SET NX EX, released by DEL", .make = make<set_nx_then_del>},
        {.name = "SETNX with a timestamp, GETSET", .make = make<setnx_and_getset>},
        {.name = "the same as one script", .make = make<timestamp_script>},
        {.name = "SET NX PX, compare and delete", .make = make<set_nx_with_token>},
        {.name = "the same, replica promoted", .make_server = redis_with_replica, .make = make<set_nx_with_token>},
    };
}

}  // namespace redlock::sim::gallery
