#include "runtime/runtime.hpp"
#include "stores/redis/socket_transport.hpp"
#include "support/fake_server.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(socket_transports)

namespace {

// An owner that calls `greeted` when the greeting is answered, and counts batches without replies.
struct asker final : stores::redis::transport::owner {
    void connecting() override {}
    void answered(std::shared_ptr<stores::redis::batch> const& b) override
    {
        if (b == greeting && b->has(0))
            greeted();
        else
            lost += b->has(0) ? 0 : 1;
    }
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply) override { ++ends; }

    std::shared_ptr<stores::redis::batch> greeting;
    std::function<void()> greeted;
    int lost = 0, ends = 0;
};

std::shared_ptr<stores::redis::batch> ping()
{
    auto b = std::make_shared<stores::redis::batch>();
    b->request.push("PING");
    return b;
}

}  // namespace

BOOST_AUTO_TEST_CASE(send_after_cut_returns_the_batch_without_replies)
{
    boost::asio::io_context context;
    test::fake_server server(context, [](std::string_view) { return "+PONG\r\n"; });
    auto const runtime = runtime::make_system_runtime(context.get_executor());
    auto const transport = stores::redis::make_socket_transport(net::parse_url(server.url()), {});
    asker a;
    a.greeting = ping();
    a.greeted = [&] {
        transport->server_accepted();
        transport->send(ping());
        transport->cut();
        transport->cut();
        transport->send(ping());  // the sender does not know the end of the connection yet
        transport->server_accepted();
    };
    boost::asio::post(runtime->strand(), [&] {
        transport->start(runtime, a);
        transport->open(a.greeting);
    });
    while (a.lost < 2)
        BOOST_TEST_REQUIRE(context.run_one_for(std::chrono::seconds(20)) == 1u);
    BOOST_TEST(a.ends == 1);
    transport->close();
}

BOOST_AUTO_TEST_SUITE_END()
