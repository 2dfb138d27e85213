// The library.

#include "sim/gallery/catalogue.hpp"
#include "sim/process.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <utility>

namespace redlock::sim::gallery {

namespace {

class this_library final : public algorithm {
public:
    using algorithm::algorithm;

    task<bool> lock() override
    {
        acquire_options const options{.ttl = ttl, .wait = wait};
        auto [ec, won] = co_await computer_.runs_on().locks().async_acquire(key, options, asio::as_tuple(asio::use_awaitable));
        held_ = std::move(won);
        co_return !ec;
    }

    task<void> unlock() override { co_await held_.async_release(asio::as_tuple(asio::use_awaitable)); }

    std::optional<bool> held() override { return held_.held(); }
    std::uint64_t fencing_token() const override { return held_.fencing_token(); }

private:
    redlock::lock held_;
};

std::unique_ptr<algorithm> with_manager(computer& c)
{
    if (!c.runs_on().has_manager())
        c.runs_on().begin_manager();
    return std::make_unique<this_library>(c);
}

}  // namespace

std::vector<exhibit> ours()
{
    return {
        {.name = "ours on one server", .excludes = promise::unless_paused, .make = with_manager},
        {.name = "ours", .servers = 3, .excludes = promise::unless_paused, .make = with_manager},
        {.name = "ours with fencing", .servers = 3, .fencing = true, .excludes = promise::always, .make = with_manager},
    };
}

}  // namespace redlock::sim::gallery
