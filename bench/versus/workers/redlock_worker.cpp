// This library, as README.md says: `wait`, automatic renewal, `held()`, and `async_wait_lost` for the notice of a loss.
//
// - max_ttl is the TTL. A server without a durable log does not vote for so long after a restart, so docs/guarantees.md
//   recommends for such servers: no longer than needed. The restart guard is the default, `automatic`.
// - All other settings have their defaults, such as node_timeout: 50 ms.
// - `--fencing` as the first argument: the locks have fencing tokens.

#include "versus/workers/worker.hpp"

#include <redlock.hpp>

namespace {

bool has_tokens = false;

class redlock_peer {
public:
    redlock_peer(boost::asio::io_context& context, versus::call const& c)
        : ttl_(c.ttl), watches_(!c.speed), locks_(context, {.nodes = c.urls, .max_ttl = c.ttl, .fencing = has_tokens})
    {
    }

    class lock {
    public:
        lock(redlock::lock held, bool watched) : lock_(std::move(held))
        {
            if (watched)
                lock_.async_wait_lost([lost = lost_](redlock::error_code ec) { *lost = ec == redlock::errc::lost; });
        }
        bool held() const { return lock_.held() && !*lost_; }
        std::string token() const { return has_tokens ? std::to_string(lock_.fencing_token()) : ""; }
        boost::asio::awaitable<void> release() { co_await lock_.async_release(boost::asio::use_awaitable); }

    private:
        redlock::lock lock_;
        std::shared_ptr<bool> lost_ = std::make_shared<bool>(false);
    };

    boost::asio::awaitable<lock> acquire(std::string name)
    {
        redlock::acquire_options const options{
            .ttl = ttl_, .wait = redlock::wait_forever, .renew = redlock::renewal::automatic};
        auto acquired = co_await locks_.async_acquire(name, options, boost::asio::use_awaitable);
        co_return lock(std::move(acquired), watches_);
    }

    boost::asio::awaitable<void> close()
    {
        co_await locks_.async_shutdown(boost::asio::as_tuple(boost::asio::use_awaitable));
    }

private:
    std::chrono::milliseconds ttl_;
    bool watches_;
    redlock::lock_manager locks_;
};

}  // namespace

int main(int argc, char** argv)
{
    std::vector<std::string> words(argv + 1, argv + argc);
    has_tokens = !words.empty() && words.front() == "--fencing";
    if (has_tokens)
        words.erase(words.begin());
    return versus::run_worker<redlock_peer>(words, "redlock " REDLOCK_VERSION_STRING);
}
