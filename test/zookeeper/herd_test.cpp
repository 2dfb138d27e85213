// The herd effect: what a hand-over costs the server while many processes wait for the lock.

#include "stores/store.hpp"
#include "support/long_proof.hpp"
#include "support/stated.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(herd, event_loop, *only_with_server())

namespace {

/// The packets of all clients since the start of the server.
struct packets {
    explicit packets(zookeeper_server const& s) : received(number(s, "Received: ")), sent(number(s, "Sent: ")) {}

    std::uint64_t received, sent;

private:
    static std::uint64_t number(zookeeper_server const& s, std::string const& label)
    {
        auto const said = s.ask("srvr");
        return std::stoull(said.substr(said.find(label) + label.size()));
    }
};

/// The messages of one hand-over. A request has one answer; what the server sends beyond that is notifications.
struct cost {
    double notifications = 0, requests = 0;
};

/// Managers stand for processes. The first one has the lock while the others begin to wait.
class crowd {
public:
    crowd(real_servers& r, zookeeper_server const& s, std::size_t waiters) : r_(r), server_(s)
    {
        for (std::size_t i = 0; i <= waiters; ++i)
            managers_.push_back(std::make_unique<lock_manager>(r.context, on(s.url(this_store::patient))));
    }

    cost count()
    {
        auto first = hold(r_, *managers_.front(), "stock", options);
        auto const waiters = managers_.size() - 1;
        for (std::size_t i = 1; i <= waiters; ++i) {
            managers_[i]->async_acquire("stock", options, [this](error_code ec, lock l) {
                if (!ec)
                    keep_for_a_while(std::move(l));
            });
            BOOST_TEST_REQUIRE(r_.run_to([&] { return managers_[i]->stats().rounds > 0; }));
        }
        r_.run_to([] { return false; }, 2s);
        packets const before(server_);
        BOOST_TEST(!r_.release(first));
        auto const handovers = std::min<std::size_t>(waiters / 2, 10);
        BOOST_TEST(r_.run_to([&] { return done_ >= handovers; }, 600s));
        packets const after(server_);
        for (auto& m : managers_)
            r_.shutdown(*m);
        auto const requests = after.received - before.received;
        auto const of_each = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(handovers); };
        return {of_each(after.sent - before.sent - requests), of_each(requests)};
    }

private:
    static inline acquire_options const options{.ttl = 60s, .wait = 900s, .renew = renewal::automatic};

    void keep_for_a_while(lock l)
    {
        auto const held = std::make_shared<lock>(std::move(l));
        auto const over = std::make_shared<boost::asio::steady_timer>(r_.context, 10ms);
        over->async_wait(
            [this, held, over](auto) { held->async_release([this, held](error_code ec) { done_ += !ec; }); });
    }

    real_servers& r_;
    zookeeper_server const& server_;
    std::vector<std::unique_ptr<lock_manager>> managers_;
    std::size_t done_ = 0;
};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_by_many_managers_sends_few_requests)
{
    for (std::size_t const waiters : pick(std::vector<std::size_t>{10}, {10, 100, 1000})) {
        auto const c = crowd(r, server(), waiters).count();

        BOOST_TEST_MESSAGE(waiters << " waiters: " << c.notifications << " notifications and " << c.requests
                                   << " requests for each hand-over");
        BOOST_TEST(c.notifications <= 3.0 * static_cast<double>(waiters));
        BOOST_TEST(c.requests <= 12.0 * static_cast<double>(waiters));
    }
}

BOOST_AUTO_TEST_SUITE_END()
