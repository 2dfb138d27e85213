// Host names with several addresses, and resolvers that do not answer. The tests replace `getaddrinfo` of this program.

#include "net/addresses.hpp"
#include "support/real_servers.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/test/unit_test.hpp>

#include <dlfcn.h>
#include <netdb.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

BOOST_AUTO_TEST_SUITE(addresses)

namespace {

// The state of the replaced resolver.
struct {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::vector<std::string>, std::less<>> names;
    bool hangs = false;
} resolver;

}  // namespace

extern "C" int getaddrinfo(char const* node, char const* service, addrinfo const* hints, addrinfo** result)
{
    static auto const real = reinterpret_cast<decltype(&getaddrinfo)>(dlsym(RTLD_NEXT, "getaddrinfo"));
    std::unique_lock lock(resolver.mutex);
    auto const known = node ? resolver.names.find(std::string_view(node)) : resolver.names.end();
    if (known == resolver.names.end())
        return real(node, service, hints, result);
    resolver.changed.wait(lock, [] { return !resolver.hangs; });
    auto** next = result;
    *next = nullptr;
    for (auto const& address : known->second) {
        if (auto const failed = real(address.c_str(), service, hints, next))
            return failed;
        next = &(*next)->ai_next;
    }
    return 0;
}

using namespace redlock;
using namespace redlock::test;
using asio::ip::tcp;

namespace {

constexpr auto* host = "several.test";

class resolved_name {
public:
    explicit resolved_name(std::vector<std::string> addresses, bool hangs = false)
    {
        std::lock_guard const lock(resolver.mutex);
        resolver.names[host] = std::move(addresses);
        resolver.hangs = hangs;
    }

    ~resolved_name() { wake(); }

    void wake()
    {
        std::lock_guard const lock(resolver.mutex);
        resolver.hangs = false;
        resolver.changed.notify_all();
    }
};

tcp::endpoint at(std::string const& address, std::uint16_t port) { return {asio::ip::make_address(address), port}; }

// An address that never answers: the accept queue of its socket is full, and no connection is accepted.
class black_hole {
public:
    black_hole(asio::io_context& context, tcp::endpoint const& where) : acceptor_(context)
    {
        acceptor_.open(where.protocol());
        acceptor_.bind(where);
        acceptor_.listen(0);
        for (int i = 0; i < 4; ++i)
            sockets_.emplace_back(context).async_connect(where, [](error_code) {});
    }

private:
    tcp::acceptor acceptor_;
    std::deque<tcp::socket> sockets_;
};

// An address that accepts each connection and closes it at once.
class hanging_up {
public:
    hanging_up(asio::io_context& context, tcp::endpoint const& where) : acceptor_(context, where) { accept(); }

    int connections = 0;

private:
    void accept()
    {
        acceptor_.async_accept([this](error_code ec, tcp::socket) {
            if (ec)
                return;
            ++connections;
            accept();
        });
    }

    tcp::acceptor acceptor_;
};

manager_options settings_for(std::uint16_t port,
                             std::chrono::milliseconds connect_timeout = manager_options().connect_timeout)
{
    auto const url = "redis://" + std::string(host) + ":" + std::to_string(port);
    return {.nodes = {url}, .node_timeout = busy_timeout, .connect_timeout = connect_timeout};
}

// The addresses in the order of attempts. A bar marks those that are tried only after the others have failed.
std::vector<std::string> order(std::vector<std::string> const& resolved, net::known_addresses const& known = {})
{
    std::vector<tcp::endpoint> endpoints;
    for (auto const& a : resolved)
        endpoints.push_back(at(a, 6379));
    std::vector<std::string> all;
    for (auto const& a : net::order_of_attempts(endpoints, known))
        all.push_back((a.last_resort ? "| " : "") + a.to.address().to_string());
    return all;
}

using list = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(order_of_attempts_alternates_address_families)
{
    BOOST_TEST(order({"10.0.0.1"}) == list({"10.0.0.1"}));
    BOOST_TEST(order({"fd00::1", "fd00::2", "fd00::3", "10.0.0.1"})
               == list({"fd00::1", "10.0.0.1", "fd00::2", "fd00::3"}));
    BOOST_TEST(order({"10.0.0.1", "10.0.0.2", "fd00::1"}) == list({"10.0.0.1", "fd00::1", "10.0.0.2"}));
    BOOST_TEST(order({"10.0.0.1", "10.0.0.1", "10.0.0.2"}) == list({"10.0.0.1", "10.0.0.2"}));
}

BOOST_AUTO_TEST_CASE(order_of_attempts_puts_good_addresses_first_and_failed_ones_last)
{
    list const all{"10.0.0.1", "10.0.0.2", "10.0.0.3"};
    net::known_addresses known;
    known.note("10.0.0.2", true);
    BOOST_TEST(order(all, known) == list({"10.0.0.2", "10.0.0.1", "10.0.0.3"}));
    known.note("10.0.0.2", false);
    BOOST_TEST(order(all, known) == list({"10.0.0.1", "10.0.0.3", "| 10.0.0.2"}));
    known.note("10.0.0.1", false);
    known.note("10.0.0.9", false);
    BOOST_TEST(order(all, known) == list({"10.0.0.3", "| 10.0.0.1", "| 10.0.0.2"}));
    known.note("10.0.0.3", false);
    BOOST_TEST(order(all, known) == all);  // if all have failed, the order begins anew
    known.note("10.0.0.3", true);
    BOOST_TEST(order(all, known) == list({"10.0.0.3", "10.0.0.1", "10.0.0.2"}));
    BOOST_TEST(order({}, known) == list());
}

BOOST_AUTO_TEST_CASE(acquire_with_one_address_that_never_answers_uses_the_next)
{
    real_servers r(1);
    black_hole const first(r.context, at("127.0.0.2", r[0].port()));
    resolved_name const name({"127.0.0.2", "127.0.0.1"});
    ending_manager locks(r, settings_for(r[0].port()));

    auto won = r.acquire(locks, "stock", {.wait = 20s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(acquire_with_one_address_that_refuses_uses_the_next)
{
    real_servers r(1);
    resolved_name const name({"127.0.0.3", "127.0.0.1"});
    BOOST_TEST(!r.attempt(settings_for(r[0].port()), {.wait = 20s}).ec);
}

BOOST_AUTO_TEST_CASE(acquire_with_one_address_that_hangs_up_uses_the_next)
{
    real_servers r(1);
    hanging_up const first(r.context, at("127.0.0.2", r[0].port()));
    resolved_name const name({"127.0.0.2", "127.0.0.1"});
    ending_manager locks(r, settings_for(r[0].port()));
    BOOST_TEST(!r.acquire(locks, "stock", {.wait = 20s}).ec);
    BOOST_TEST(first.connections >= 1);

    // The address that worked is tried first from now on.
    auto const before = first.connections;
    r[0].ask({"CLIENT", "KILL", "TYPE", "normal"});
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));
    BOOST_TEST(first.connections == before);
}

BOOST_AUTO_TEST_CASE(acquire_without_a_good_address_reports_each_with_its_reason)
{
    real_servers r(1);
    auto const port = r[0].port();
    r[0].kill();
    black_hole const first(r.context, at("127.0.0.2", port));
    resolved_name const name({"127.0.0.2", "127.0.0.1"});

    auto const lost = r.attempt(settings_for(port, 300ms));

    BOOST_TEST(lost.report.message.find("127.0.0.2: Connection timed out, 127.0.0.1: Connection refused")
                   != std::string::npos,
               lost.report.message);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_hung_resolver_reports_it_after_connect_timeout)
{
    real_servers r(1);
    resolved_name name({"127.0.0.1"}, true);
    ending_manager locks(r, settings_for(r[0].port(), 100ms));

    auto const lost = r.acquire(locks, "stock");
    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST(lost.report.message.find("its name was not resolved within 100 ms") != std::string::npos,
               lost.report.message);

    name.wake();
    BOOST_TEST(!r.acquire(locks, "stock", {.wait = 20s}).ec);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_hung_resolver_uses_the_other_nodes)
{
    real_servers r(2);
    resolved_name name({"127.0.0.1"}, true);
    lock_manager locks(r.context, r.settings({.nodes = {"redis://" + std::string(host)}, .connect_timeout = 100ms}));

    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].last_message.find("not resolved") != std::string::npos; }));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(!r.shutdown(locks));
    r.context.restart();
    r.context.run();  // must return although the resolver still hangs
}

BOOST_AUTO_TEST_CASE(context_destruction_while_the_resolver_hangs_calls_no_handler)
{
    resolved_name name({"127.0.0.1"}, true);
    {
        asio::io_context context;
        lock_manager locks(context, settings_for(1));
        locks.async_acquire("stock", {.wait = 1h}, [](error_code, lock) { BOOST_TEST(false); });
        context.run_for(50ms);
    }
    name.wake();
}

BOOST_AUTO_TEST_CASE(acquire_with_a_name_without_address_reports_it)
{
    real_servers r(0);
    resolved_name const name({});
    auto const lost = r.attempt(settings_for(1));
    BOOST_TEST(lost.report.message.find("its name has no address") != std::string::npos, lost.report.message);
}

BOOST_AUTO_TEST_CASE(shutdown_ends_the_search_for_an_address)
{
    real_servers r(0);
    auto const port = testbed::free_port();
    asio::io_context elsewhere;
    black_hole const first(elsewhere, at("127.0.0.2", port)), second(elsewhere, at("127.0.0.3", port));
    resolved_name const name({"127.0.0.2", "127.0.0.3"});
    lock_manager locks(r.context, settings_for(port, 60s));
    real_servers::outcome waiting;
    r.start_acquire(waiting, locks, "stock", {.wait = 1h});
    r.context.run_for(400ms);
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(waiting.done);
    r.context.restart();
    r.context.run_for(20s);
    BOOST_TEST(r.context.stopped());  // nothing is left to do
}

BOOST_AUTO_TEST_CASE(context_destruction_during_the_search_calls_no_handler)
{
    auto context = std::make_unique<asio::io_context>();
    auto const port = testbed::free_port();
    std::optional<black_hole> first(std::in_place, *context, at("127.0.0.2", port));
    std::optional<black_hole> second(std::in_place, *context, at("127.0.0.3", port));
    resolved_name const name({"127.0.0.2", "127.0.0.3"});
    lock_manager locks(*context, settings_for(port));
    int calls = 0;
    locks.async_acquire("stock", {.wait = 1h}, [&](error_code, lock) { ++calls; });
    context->run_for(400ms);
    first.reset();
    second.reset();
    context.reset();
    BOOST_TEST(calls == 0);
}

BOOST_AUTO_TEST_SUITE_END()
