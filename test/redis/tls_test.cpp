#include "support/certificates.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(tls)

BOOST_AUTO_TEST_CASE(acquire_over_tls_on_a_verified_server_succeeds)
{
    certificates c;
    tls_server s(c);
    real_servers r(0);
    for (auto const* host : {"localhost", "127.0.0.1"}) {
        lock_manager locks(r.context, {.nodes = {s.url(host)},
                                       .node_timeout = busy_timeout,
                                       .connect_timeout = 5s,
                                       .tls = {.ca_file = c.file("ca.pem")}});
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        BOOST_TEST(s.server.ask({"EXISTS", "lock:stock"}) == "1");
        BOOST_TEST(!r.release(won.held));
        // The same after a reconnect.
        s.server.ask({"CLIENT", "KILL", "TYPE", "normal"});
        BOOST_TEST(!r.acquire(locks, "stock", {.wait = 5s}).ec);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(acquire_over_tls_with_a_wrong_certificate_is_refused)
{
    certificates c, others;
    tls_server s(c), elsewhere(c, "elsewhere"), nameless(c, "localhost");
    real_servers r(0);
    std::pair<std::string, std::string> const cases[] = {
        {s.url(), others.file("ca.pem")},  // signed by another authority
        {s.url(), ""},                     // the system does not know the authority
        {elsewhere.url(), c.file("ca.pem")},
        {nameless.url(), c.file("ca.pem")},  // a common name does not count as a server name (RFC 9525)
    };
    for (auto const& [url, ca] : cases) {
        auto const refused =
            r.attempt({.nodes = {url}, .node_timeout = busy_timeout, .connect_timeout = 5s, .tls = {.ca_file = ca}});
        BOOST_TEST((refused.ec == errc::no_quorum));
        BOOST_TEST((refused.report.nodes[0].error == errc::node_unreachable));
        BOOST_TEST(refused.report.nodes[0].message.find("certificate verify failed") != std::string::npos);
    }
    manager_options const careless{
        .nodes = {elsewhere.url()}, .node_timeout = busy_timeout, .connect_timeout = 5s, .tls = {.verify = false}};
    BOOST_TEST(!r.attempt(careless).ec);
}

BOOST_AUTO_TEST_CASE(acquire_over_tls_sends_the_client_certificate)
{
    certificates c;
    tls_server s(c, "server", "yes");
    real_servers r(0);
    tls_options const tls{.ca_file = c.file("ca.pem"),
                          .certificate_file = c.file("client.pem"),
                          .private_key_file = c.file("client.key")};
    manager_options settings{.nodes = {s.url()}, .node_timeout = busy_timeout, .connect_timeout = 5s, .tls = tls};
    BOOST_TEST(!r.attempt(settings).ec);

    settings.tls = {.ca_file = c.file("ca.pem")};
    BOOST_TEST((r.attempt(settings).ec == errc::no_quorum));
}

BOOST_AUTO_TEST_CASE(tls_never_falls_back_to_plain)
{
    certificates c;
    real_servers r(1);
    auto const url = "rediss://127.0.0.1:" + std::to_string(r[0].port());
    BOOST_TEST((r.attempt({.nodes = {url}, .connect_timeout = 300ms}).ec == errc::no_quorum));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
