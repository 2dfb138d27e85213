#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(tls)

namespace {

/// A certificate authority of the test's own, and what it has signed.
struct certificates {
    certificates()
    {
        make("openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem");
        sign("server", "DNS:localhost,IP:127.0.0.1");
        sign("client", "DNS:client");
        sign("elsewhere", "DNS:elsewhere.example");
        sign("localhost", "IP:127.0.0.1");  // whose common name is what we ask for
    }

    void sign(std::string const& name, std::string const& names)
    {
        make("openssl req -newkey rsa:2048 -nodes -subj /CN=" + name + " -keyout " + name + ".key -out " + name + ".csr");
        make("printf 'subjectAltName=" + names + "' > ext && openssl x509 -req -in " + name
             + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile ext -out " + name + ".pem");
    }

    void make(std::string const& command)
    {
        auto const all = "cd " + folder.path + " && (" + command + ") >/dev/null 2>&1";
        BOOST_TEST_REQUIRE(std::system(all.c_str()) == 0, command);
    }

    std::string file(std::string const& name) const { return folder.path + "/" + name; }

    testbed::temporary_folder folder;
};

/// A server that speaks TLS on one port, and without it on the other, for the test to look at it.
struct tls_server {
    explicit tls_server(certificates const& c, std::string const& identity = "server", std::string const& clients = "no")
        : port(testbed::free_port()),
          server({"--tls-port", std::to_string(port), "--tls-cert-file", c.file(identity + ".pem"), "--tls-key-file",
                  c.file(identity + ".key"), "--tls-ca-cert-file", c.file("ca.pem"), "--tls-auth-clients", clients})
    {
    }

    std::string url(std::string const& host = "localhost") const { return "rediss://" + host + ":" + std::to_string(port); }

    std::uint16_t port;
    local_server server;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_verified_server_is_locked_on)
{
    certificates c;
    tls_server s(c);
    real_servers r(0);
    for (auto const* host : {"localhost", "127.0.0.1"}) {
        lock_manager locks(r.context, {.nodes = {s.url(host)}, .node_timeout = patience, .connect_timeout = 5s, .tls = {.ca_file = c.file("ca.pem")}});
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        BOOST_TEST(s.server.ask({"EXISTS", "lock:stock"}) == "1");
        BOOST_TEST(!r.release(won.held));
        // Again, after a new connection.
        s.server.ask({"CLIENT", "KILL", "TYPE", "normal"});
        BOOST_TEST(!r.acquire(locks, "stock", {.wait = 5s}).ec);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(an_unknown_authority_or_a_wrong_name_is_refused)
{
    certificates c, others;
    tls_server s(c), elsewhere(c, "elsewhere"), nameless(c, "localhost");
    real_servers r(0);
    std::pair<std::string, std::string> const cases[] = {
        {s.url(), others.file("ca.pem")},  // signed by somebody else
        {s.url(), ""},                     // unknown to the system
        {elsewhere.url(), c.file("ca.pem")},
        {nameless.url(), c.file("ca.pem")},  // a common name is no name of a server (RFC 9525)
    };
    for (auto const& [url, ca] : cases) {
        lock_manager locks(r.context, {.nodes = {url}, .node_timeout = patience, .connect_timeout = 5s, .tls = {.ca_file = ca}});
        auto refused = r.acquire(locks, "stock");
        BOOST_TEST((refused.ec == errc::no_quorum));
        BOOST_TEST((refused.report.nodes[0].error == errc::node_unreachable));
        BOOST_TEST(refused.report.nodes[0].message.find("certificate verify failed") != std::string::npos);
        r.shutdown(locks);
    }
    lock_manager careless(r.context, {.nodes = {elsewhere.url()}, .node_timeout = patience, .connect_timeout = 5s, .tls = {.verify = false}});
    BOOST_TEST(!r.acquire(careless, "stock").ec);
    r.shutdown(careless);
}

BOOST_AUTO_TEST_CASE(a_client_certificate_is_shown)
{
    certificates c;
    tls_server s(c, "server", "yes");
    real_servers r(0);
    tls_options const tls{.ca_file = c.file("ca.pem"), .certificate_file = c.file("client.pem"), .private_key_file = c.file("client.key")};
    lock_manager locks(r.context, {.nodes = {s.url()}, .node_timeout = patience, .connect_timeout = 5s, .tls = tls});
    BOOST_TEST(!r.acquire(locks, "stock").ec);
    r.shutdown(locks);

    lock_manager bare(r.context, {.nodes = {s.url()}, .node_timeout = patience, .connect_timeout = 5s, .tls = {.ca_file = c.file("ca.pem")}});
    BOOST_TEST((r.acquire(bare, "stock").ec == errc::no_quorum));
    r.shutdown(bare);
}

BOOST_AUTO_TEST_CASE(tls_never_falls_back_to_plain)
{
    certificates c;
    real_servers r(1);
    lock_manager locks(r.context, {.nodes = {"rediss://127.0.0.1:" + std::to_string(r[0].port())}, .connect_timeout = 300ms});
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::no_quorum));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
