
#include "runtime/as_result.hpp"
#include "runtime/within.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <optional>

using namespace redlock;
using namespace std::chrono_literals;
namespace asio = boost::asio;

BOOST_AUTO_TEST_SUITE(time_limits)

namespace {

// A socket that receives nothing until it sends to itself.
struct limited {
    asio::awaitable<void> receive(std::chrono::milliseconds limit)
    {
        auto [ec, size] = co_await runtime::within(limit, inbox.async_receive(asio::buffer(bytes), runtime::as_result));
        result = ec;
        received = size;
    }

    asio::io_context context;
    asio::ip::udp::socket inbox{context, {asio::ip::address_v4::loopback(), 0}};
    std::array<char, 8> bytes{};
    std::optional<error_code> result;
    std::size_t received = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(within_for_an_operation_in_time_returns_its_result, limited)
{
    inbox.send_to(asio::buffer("hello", 5), inbox.local_endpoint());

    asio::co_spawn(context, receive(1h), asio::detached);
    context.run();

    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST(!*result);
    BOOST_TEST(received == 5u);
}

BOOST_FIXTURE_TEST_CASE(within_for_an_operation_that_never_ends_aborts_it, limited)
{
    asio::co_spawn(context, receive(1ms), asio::detached);
    context.run();

    BOOST_TEST_REQUIRE(result.has_value());
    BOOST_TEST((*result == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(within_cancelled_before_its_limit_ends_the_operation, limited)
{
    asio::cancellation_signal cancel;
    bool ended = false;
    auto told = [&](std::exception_ptr) { ended = true; };

    asio::co_spawn(context, receive(1h), asio::bind_cancellation_slot(cancel.slot(), told));
    asio::post(context, [&] { cancel.emit(asio::cancellation_type::terminal); });
    context.run();

    BOOST_TEST(ended);
    BOOST_TEST(inbox.is_open());
}

BOOST_AUTO_TEST_SUITE_END()
