// A lock by hand over Boost.Redis: SET NX PX, and a script that compares the value before it deletes the key.
// https://www.boost.org/doc/libs/release/libs/redis/doc/html/index.html
//
// - It tries to acquire the lock every 50 ms.
// - It neither renews the lock nor checks it, and has no fencing tokens.
// - One connection with default settings serves all clients, and sends their commands together.
// - `./dev versus` compiles it, because Boost.Redis needs a newer Boost than this project.

#include "worker.hpp"

#include <boost/asio/consign.hpp>
#include <boost/redis/connection.hpp>
#include <boost/redis/src.hpp>
#include <boost/version.hpp>

#include <memory>
#include <random>

namespace {

namespace asio = boost::asio;
namespace redis = boost::redis;

class boost_redis {
public:
    boost_redis(asio::io_context& context, versus::call const& c)
        : ttl_(c.ttl),
          connection_(std::make_shared<redis::connection>(context, redis::logger(redis::logger::level::err)))
    {
        auto const& url = c.urls.front();  // redis://HOST:PORT
        auto const host = url.find("//") + 2, port = url.rfind(':');
        redis::config settings;
        settings.addr = {url.substr(host, port - host), url.substr(port + 1)};
        connection_->async_run(settings, asio::consign(asio::detached, connection_));
    }

    struct lock {
        bool held() const { return true; }
        std::string token() const { return {}; }
        asio::awaitable<void> release()
        {
            redis::request request;
            request.push("EVAL",
                         "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) "
                         "else return 0 end",
                         1, name, value);
            redis::response<int> deleted;
            co_await connection->async_exec(request, deleted, asio::use_awaitable);
            if (std::get<0>(deleted).value() == 0)
                throw std::runtime_error("the lock was not there any more");
        }
        std::shared_ptr<redis::connection> connection;
        std::string name, value;
    };

    asio::awaitable<lock> acquire(std::string name)
    {
        auto const value = std::to_string(random_()) + '-' + std::to_string(random_());
        redis::request request;
        request.push("SET", name, value, "NX", "PX", ttl_.count());
        for (;;) {
            redis::response<std::optional<std::string>> set;
            co_await connection_->async_exec(request, set, asio::use_awaitable);
            if (std::get<0>(set).value())
                co_return lock{connection_, name, value};
            co_await versus::sleep_until(versus::steady::now() + std::chrono::milliseconds(50));
        }
    }

    asio::awaitable<void> close()
    {
        connection_->cancel();
        co_return;
    }

private:
    std::chrono::milliseconds ttl_;
    std::shared_ptr<redis::connection> connection_;
    std::mt19937_64 random_{(std::uint64_t(std::random_device()()) << 32) | std::random_device()()};
};

}  // namespace

int main(int argc, char** argv)
{
    auto const boost = std::to_string(BOOST_VERSION / 100'000) + '.' + std::to_string(BOOST_VERSION / 100 % 1'000);
    return versus::run_worker<boost_redis>({argv + 1, argv + argc}, "Boost.Redis of Boost " + boost);
}
