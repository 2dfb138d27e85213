#include "bed/proxy.hpp"
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
using redlock::testbed::fault;
using redlock::testbed::proxy;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(proxies)

namespace {

/// A proxy in a process of its own.
struct apart : proxy {
    explicit apart(std::vector<target> const& targets) : proxy(targets), pid(start_apart()) {}
    pid_t const pid;
};

/// A client that is connected to a server through a proxy.
struct conversation {
    explicit conversation(std::chrono::microseconds rtt) : r({{l.port, rtt}}), client(r.port(0)), server(l.accept()) {}

    listener l;
    apart r;
    plain_socket client, server;
};

/// Echoes the bytes of one connection in a thread. Call it after the proxy has forked.
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

BOOST_AUTO_TEST_CASE(proxy_keeps_bytes_and_their_order_in_both_directions)
{
    auto const seed = std::random_device()();
    BOOST_TEST_MESSAGE("seed " << seed);
    auto const bytes = random_bytes(1 << 20, seed);
    listener l;
    apart r({{l.port, 3ms}});
    auto const server = echo(l);
    plain_socket client(r.port(0));

    std::jthread const sender([&] { client.send(bytes); });
    auto const back = client.receive(bytes.size());

    BOOST_TEST((back == bytes), "seed " << seed);
    client.end();
    BOOST_TEST(client.receive() == "");
    BOOST_TEST(client.error == 0);
}

BOOST_AUTO_TEST_CASE(set_rtt_sets_the_delay_of_one_target)
{
    listener near, far;
    apart r({{near.port, 0us}, {far.port, 4ms}});
    auto const near_server = echo(near), far_server = echo(far);
    plain_socket to_near(r.port(0)), to_far(r.port(1));

    round_trip(to_near);
    BOOST_TEST((round_trip(to_far) >= 4ms));
    r.set_rtt(0, 7ms);
    BOOST_TEST((round_trip(to_near) >= 7ms));
    r.set_rtt(1, 0us);
    round_trip(to_far);  // the bytes arrive; the time is not checked
    BOOST_CHECK_THROW(r.set_rtt(2, 1ms), std::runtime_error);
    BOOST_CHECK_THROW(r.set_rtt(0, -1us), std::runtime_error);
    BOOST_CHECK_THROW(proxy({{near.port, 2h}}), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(set_rtt_to_a_shorter_delay_keeps_the_order)
{
    conversation c(100ms);

    c.client.send("one ");
    std::this_thread::sleep_for(10ms);  // the proxy has read it
    c.r.set_rtt(0, 0us);
    c.client.send("two");

    BOOST_TEST(c.server.receive(7) == "one two");
}

BOOST_AUTO_TEST_CASE(proxy_of_a_half_closed_connection_delivers_the_reply)
{
    conversation c(2ms);

    c.client.send("question");
    c.client.end();
    BOOST_TEST(c.server.receive(100) == "question");  // receive(100) also waits for the end of the stream
    c.server.send("answer");
    c.server.close();

    BOOST_TEST(c.client.receive(100) == "answer");
    BOOST_TEST(c.client.error == 0);
}

BOOST_AUTO_TEST_CASE(proxy_forwards_a_reset_in_both_directions)
{
    for (bool const by_client : {true, false}) {
        conversation c(2ms);
        auto& from = by_client ? c.client : c.server;
        auto& to = by_client ? c.server : c.client;

        from.send("last words");
        BOOST_TEST(to.receive(10) == "last words");
        from.reset();

        BOOST_TEST(to.receive() == "");
        BOOST_TEST(to.error == ECONNRESET);
    }
}

BOOST_AUTO_TEST_CASE(proxy_without_a_server_resets_the_client)
{
    listener l;
    apart r({{l.port, 2ms}});
    l.close();

    plain_socket client(r.port(0));

    BOOST_TEST(client.receive() == "");
    BOOST_TEST(client.error == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(proxy_stops_the_sender_if_the_receiver_does_not_read)
{
    conversation c(1ms);
    auto const bytes = random_bytes(64 << 20, 1);  // more than the buffers of the proxy and the kernel
    std::size_t sent = 0;
    pollfd room{c.client.get(), POLLOUT, 0};
    while (sent < bytes.size() && ::poll(&room, 1, 500) == 1) {  // half a second without room: the sender is stopped
        auto const n = ::send(c.client.get(), bytes.data() + sent, bytes.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
        sent += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
    }

    BOOST_TEST(sent < bytes.size());
    BOOST_TEST((c.server.receive(sent) == bytes.substr(0, sent)));
}

BOOST_AUTO_TEST_CASE(proxy_serves_300_connections_at_once)
{
    listener l;
    apart r({{l.port, 2ms}});
    std::vector<plain_socket> clients, servers;
    for (int i = 0; i < 300; ++i) {
        clients.emplace_back(r.port(0));
        servers.push_back(l.accept());
    }

    for (std::size_t i = 0; i < clients.size(); ++i)
        clients[i].send(std::to_string(1000 + i));

    for (std::size_t i = 0; i < servers.size(); ++i)
        BOOST_TEST(servers[i].receive(4) == std::to_string(1000 + i));
}

BOOST_AUTO_TEST_CASE(start_apart_ends_its_process_in_the_destructor)
{
    listener first, second;
    pid_t gone = 0;
    apart stays({{second.port, 1ms}});
    plain_socket other(stays.port(0));
    auto server = second.accept();
    {
        apart r({{first.port, 1ms}});
        gone = r.pid;
        plain_socket client(r.port(0));
        BOOST_TEST(::kill(gone, 0) == 0);
    }

    BOOST_TEST(::kill(gone, 0) == -1);
    BOOST_TEST(errno == ESRCH);
    other.send("still here");
    BOOST_TEST(server.receive(10) == "still here");
}

BOOST_AUTO_TEST_CASE(start_apart_ends_its_process_when_the_parent_is_killed)
{
    listener l;
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    plain_file const in(ends[0]), out(ends[1]);
    auto const parent = ::fork();
    if (parent == 0) {
        try {
            apart r({{l.port, 0us}});
            auto const port = r.port(0);
            if (::write(out.get(), &port, sizeof port) > 0)
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
    BOOST_TEST(client.error != EAGAIN);  // EAGAIN would be a timeout of ten seconds
}

BOOST_AUTO_TEST_CASE(start_apart_closes_inherited_descriptors)
{
    listener l;
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe2(ends, 0) == 0);
    plain_file const in(ends[0]);
    plain_file out(ends[1]);
    apart const r({{l.port, 0us}});

    out.close();

    pollfd end{in.get(), POLLIN, 0};
    BOOST_TEST(::poll(&end, 1, 10'000) == 1);
    BOOST_TEST((end.revents & POLLHUP) != 0);
}

BOOST_AUTO_TEST_CASE(set_injects_each_fault)
{
    listener l;
    std::vector<proxy::target> const one{{l.port}};
    proxy r(one);
    r.start();
    auto const replied = [&](fault f) {
        plain_socket client(r.port(0));
        auto server = l.accept();
        server.send("hello");
        BOOST_TEST(client.receive(5) == "hello");
        r.set(0, f);
        client.send("request");
        BOOST_TEST_CONTEXT("fault " << int(f)) {
            if (f != fault::half_open)
                BOOST_TEST(server.receive(7) == "request");
        }
        server.send("reply");
        pollfd answer{client.get(), POLLIN, 0};
        bool const at_once = ::poll(&answer, 1, 200) == 1;
        r.set(0, fault::none);
        auto said = std::string(at_once ? "" : "later: ");
        server.end();
        for (auto bytes = client.receive(); !bytes.empty(); bytes = client.receive())
            said += bytes;
        return said + (client.error == ECONNRESET ? ", reset" : "");
    };

    BOOST_TEST(replied(fault::none) == "reply");
    BOOST_TEST(replied(fault::trickle) == "reply");
    BOOST_TEST(replied(fault::mute) == "later: , reset");
    BOOST_TEST(replied(fault::half_open) == "later: reply");
    BOOST_TEST(replied(fault::reset) == "rep, reset");
    BOOST_TEST(replied(fault::garbage) == "reply\x01?garbage\r\n$-5\r\n");
    r.set(0, fault::refuse);
    plain_socket refused(r.port(0));
    BOOST_TEST(refused.receive() == "");
    BOOST_TEST(refused.error == ECONNRESET);
    BOOST_TEST(r.connections(0) == 7);
}

BOOST_AUTO_TEST_SUITE_END()
