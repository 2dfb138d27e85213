#include "fault/rolling.hpp"

#include "support/as_future.hpp"
#include "bed/local_server.hpp"

#include <redlock.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_future.hpp>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

namespace redlock::test {

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using testbed::local_server;

constexpr acquire_options long_hold{.ttl = 1s, .wait = 10s, .renew = renewal::automatic};

class rolling {
public:
    explicit rolling(std::size_t count)
    {
        manager_options settings{.max_ttl = 1s, .fencing = true};
        for (std::size_t i = 0; i < count; ++i)
            settings.nodes.push_back(servers_.emplace_back(std::make_unique<local_server>())->url());
        healing_ = std::make_unique<lock_manager>(context_, settings);
        rival_ = std::make_unique<lock_manager>(context_, settings);
        settings.heal = false;
        plain_ = std::make_unique<lock_manager>(context_, settings);
        thread_ = std::thread([this] { context_.run(); });
    }

    ~rolling()
    {
        context_.stop();
        thread_.join();
    }

    int run()
    {
        auto healed = healing_->async_acquire("healed", long_hold, asio::use_future).get();
        auto const plain = plain_->async_acquire("plain", long_hold, asio::use_future).get();
        auto const token = healed.fencing_token();
        std::size_t restarts = 0;
        std::size_t plain_held = 0;  // the number of restarts after which it was held
        for (std::size_t i = 0; i < servers_.size() && healed.held(); ++i) {
            restart(i, healed);
            ++restarts;
            plain_held += plain.held();
        }

        bool const held = healed.held() && healed.fencing_token() == token;
        bool const released = !std::get<0>(healed.async_release(test::as_future()).get());
        fmt::print("with healing: {} over {} of {} restarts, {} keys set again, {} times acquired by another client; "
                   "without: {} over {}\n",
                   held && released ? "held" : "LOST", restarts, servers_.size(), healing_->stats().healed, stolen_,
                   plain.held() ? "HELD" : "lost, held", plain_held);
        return held && released && stolen_ == 0 && !plain.held() ? 0 : 1;
    }

private:
    // Restarts a server. Waits until its quarantine has ended, and until renewals count its healed key.
    void restart(std::size_t i, lock const& held)
    {
        auto const node = [&] { return healing_->stats().nodes[i]; };
        auto const renewals = [&] { return healing_->stats().renewals; };
        auto const connections = node().connections;
        servers_[i]->kill();
        servers_[i]->start();
        wait(held, [&] { return node().connections > connections; });
        // After this trip through the event loop, the manager knows whether the server is in quarantine. An earlier
        // check could miss the quarantine.
        asio::post(context_, asio::use_future).get();
        wait(held, [&] { return node().quarantine == 0ms; });
        wait(held, [&] { return servers_[i]->ask({"GET", "lock:healed"}) == held.token(); });
        auto const before = renewals();
        wait(held, [&] { return renewals() >= before + 2; });
    }

    // Waits until the condition is true, or the lock is lost. Meanwhile another client wants the lock.
    template <class Condition>
    void wait(lock const& held, Condition condition)
    {
        auto const deadline = std::chrono::steady_clock::now() + 30s;
        while (!condition() && held.held()) {
            if (std::chrono::steady_clock::now() > deadline)
                throw std::runtime_error("a restarted server does not vote again");
            auto const [ec, other] = rival_->async_acquire("healed", {.ttl = 200ms}, test::as_future()).get();
            stolen_ += !ec && held.held();
            std::this_thread::sleep_for(20ms);
        }
    }

    std::vector<std::unique_ptr<local_server>> servers_;
    asio::io_context context_{1};
    asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(context_);
    std::unique_ptr<lock_manager> healing_;
    std::unique_ptr<lock_manager> rival_;
    std::unique_ptr<lock_manager> plain_;
    std::thread thread_;
    std::size_t stolen_ = 0;
};

}  // namespace

int rolling_restart(std::size_t count) { return rolling(count).run(); }

}  // namespace redlock::test
