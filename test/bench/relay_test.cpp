#include "relay/relay.hpp"
#include "bench/test_sockets.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <random>
#include <stdexcept>
#include <string>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace redlock::bench;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(relays)

namespace {

/// Sends back what comes, on one connection, until that ends. A thread: made after the relay.
std::jthread echo(listener& l)
{
    return std::jthread([&l] {
        auto s = l.accept();
        for (auto bytes = s.receive(); !bytes.empty() && s.send(bytes);)
            bytes = s.receive();
    });
}

std::string random_bytes(std::size_t count, std::uint32_t seed)
{
    std::mt19937 random(seed);
    std::string bytes(count, '\0');
    for (auto& b : bytes)
        b = static_cast<char>(random());
    return bytes;
}

/// The shortest of some round trips.
std::chrono::steady_clock::duration round_trip(plain_socket& s)
{
    auto shortest = std::chrono::steady_clock::duration::max();
    for (int i = 0; i < 5; ++i) {
        auto const start = std::chrono::steady_clock::now();
        s.send("ping");
        BOOST_TEST_REQUIRE(s.receive(4) == "ping");
        shortest = std::min(shortest, std::chrono::steady_clock::now() - start);
    }
    return shortest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(bytes_arrive_unchanged_and_in_order_both_ways)
{
    auto const seed = std::random_device()();
    BOOST_TEST_MESSAGE("seed " << seed);
    auto const bytes = random_bytes(1 << 20, seed);
    listener l;
    relay r({{l.port, 3ms}});
    auto const server = echo(l);
    plain_socket client(r.ports().at(0));

    std::jthread const sender([&] { client.send(bytes); });
    auto const back = client.receive(bytes.size());

    BOOST_TEST((back == bytes), "seed " << seed);
    client.end();
    BOOST_TEST(client.receive() == "");
    BOOST_TEST(client.error == 0);
}

BOOST_AUTO_TEST_CASE(a_round_trip_takes_the_time_that_was_set_for_its_node)
{
    listener near, far;
    relay r({{near.port, 0us}, {far.port, 4ms}});
    auto const near_server = echo(near), far_server = echo(far);
    plain_socket to_near(r.ports().at(0)), to_far(r.ports().at(1));

    round_trip(to_near);
    BOOST_TEST((round_trip(to_far) >= 4ms));
    r.set_rtt(0, 7ms);
    BOOST_TEST((round_trip(to_near) >= 7ms));
    r.set_rtt(1, 0us);
    round_trip(to_far);  // in time or not, it arrives
    BOOST_CHECK_THROW(r.set_rtt(2, 1ms), std::runtime_error);
    BOOST_CHECK_THROW(r.set_rtt(0, -1us), std::runtime_error);
    BOOST_CHECK_THROW(relay({{near.port, 2h}}), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(a_half_closed_connection_still_carries_the_answer)
{
    listener l;
    relay r({{l.port, 2ms}});
    plain_socket client(r.ports().at(0));
    auto server = l.accept();

    client.send("question");
    client.end();
    BOOST_TEST(server.receive(100) == "question");  // and the end
    server.send("answer");
    server.close();

    BOOST_TEST(client.receive(100) == "answer");
    BOOST_TEST(client.error == 0);
}

BOOST_AUTO_TEST_CASE(a_reset_is_passed_on_in_both_directions_after_the_bytes)
{
    for (bool const by_client : {true, false}) {
        listener l;
        relay r({{l.port, 2ms}});
        plain_socket client(r.ports().at(0));
        auto server = l.accept();
        auto& from = by_client ? client : server;
        auto& to = by_client ? server : client;

        from.send("last words");
        BOOST_TEST(to.receive(10) == "last words");
        from.reset();

        BOOST_TEST(to.receive() == "");
        BOOST_TEST(to.error == ECONNRESET);
    }
}

BOOST_AUTO_TEST_CASE(a_server_that_is_not_there_is_a_reset)
{
    listener l;
    relay r({{l.port, 2ms}});
    l.close();

    plain_socket client(r.ports().at(0));

    BOOST_TEST(client.receive() == "");
    BOOST_TEST(client.error == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(who_does_not_read_stops_the_sender_and_loses_nothing)
{
    listener l;
    relay r({{l.port, 1ms}});
    plain_socket client(r.ports().at(0));
    auto server = l.accept();
    auto const bytes = random_bytes(64 << 20, 1);  // more than the relay and all the kernel's buffers hold
    std::size_t sent = 0;
    pollfd room{client.get(), POLLOUT, 0};
    while (sent < bytes.size() && ::poll(&room, 1, 500) == 1) {  // half a second without room: it has been stopped
        auto const n = ::send(client.get(), bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }

    BOOST_TEST(sent < bytes.size());
    BOOST_TEST((server.receive(sent) == bytes.substr(0, sent)));
}

BOOST_AUTO_TEST_CASE(hundreds_of_connections_at_once)
{
    listener l;
    relay r({{l.port, 2ms}});
    std::vector<plain_socket> clients, servers;
    for (int i = 0; i < 300; ++i) {
        clients.emplace_back(r.ports().at(0));
        servers.push_back(l.accept());
    }

    for (std::size_t i = 0; i < clients.size(); ++i)
        clients[i].send(std::to_string(1000 + i));

    for (std::size_t i = 0; i < servers.size(); ++i)
        BOOST_TEST(servers[i].receive(4) == std::to_string(1000 + i));
}

BOOST_AUTO_TEST_CASE(the_process_is_gone_after_the_destructor_and_another_is_unharmed)
{
    listener first, second;
    pid_t gone = 0;
    relay stays({{second.port, 1ms}});
    plain_socket other(stays.ports().at(0));
    auto server = second.accept();
    {
        relay r({{first.port, 1ms}});
        gone = r.pid();
        plain_socket client(r.ports().at(0));
        BOOST_TEST(::kill(gone, 0) == 0);
    }

    BOOST_TEST(::kill(gone, 0) == -1);
    BOOST_TEST(errno == ESRCH);
    other.send("still here");
    BOOST_TEST(server.receive(10) == "still here");
}

BOOST_AUTO_TEST_CASE(it_dies_with_a_parent_that_is_killed)
{
    listener l;
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    plain_file const in(ends[0]), out(ends[1]);
    auto const parent = ::fork();
    if (parent == 0) {
        try {
            relay r({{l.port, 0us}});
            if (::write(out.get(), r.ports().data(), sizeof(std::uint16_t)) > 0)
                ::pause();
        } catch (std::exception const&) {
        }
        ::_exit(1);
    }
    std::uint16_t port = 0;
    BOOST_TEST(::read(in.get(), &port, sizeof port) == 2);
    plain_socket client(port);
    auto const server = l.accept();

    ::kill(parent, SIGKILL);
    ::waitpid(parent, nullptr, 0);

    BOOST_TEST(client.receive() == "");
    BOOST_TEST(client.error != EAGAIN);  // that would be ten seconds without anything
}

BOOST_AUTO_TEST_CASE(what_the_parent_has_open_is_not_kept_open)
{
    listener l;
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe2(ends, 0) == 0);
    plain_file const in(ends[0]);
    plain_file out(ends[1]);
    relay const r({{l.port, 0us}});

    out.close();

    pollfd end{in.get(), POLLIN, 0};
    BOOST_TEST(::poll(&end, 1, 10'000) == 1);
    BOOST_TEST((end.revents & POLLHUP) != 0);
}

BOOST_AUTO_TEST_SUITE_END()
