// Wrong users, wrong addresses, and a full database.

#include "stores/sessions/trouble.hpp"
#include "support/certificates.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures, event_loop, *only_with_server())

BOOST_AUTO_TEST_CASE(acquire_at_a_wrong_address_explains_the_mistake)
{
    auto const nobody = "127.0.0.1:" + std::to_string(testbed::free_port());
    auto const refused = trouble_with("etcd://" + nobody + "," + nobody);
    BOOST_TEST((refused.error == errc::node_unreachable));
    BOOST_TEST(says(refused, nobody + ": Connection refused; " + this_store::asks_for_port));
    BOOST_TEST(says(trouble_with("etcds" + server().url().substr(4)),
                    "If it speaks no TLS there, its URL begins with etcd://"));
}

BOOST_AUTO_TEST_CASE(acquire_at_another_kind_of_server_asks_for_the_port)
{
    local_server redis;
    for (auto const& words : {"", "HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n404\n", "-ERR\r\n"})
        BOOST_TEST(says(trouble_with_answer(words), this_store::asks_for_port));
    auto const other = trouble_with("etcd://127.0.0.1:" + std::to_string(redis.port()));
    BOOST_TEST(says(other, this_store::asks_for_port));
    BOOST_TEST(says(other, "If it requires TLS there, its URL begins with etcds://"));
}

BOOST_AUTO_TEST_CASE(acquire_over_tls_verifies_server_and_client_certificates)
{
    certificates c;
    etcd_server s({"--cert-file", c.file("server.pem"), "--key-file", c.file("server.key"), "--trusted-ca-file",
                   c.file("ca.pem"), "--client-cert-auth"},
                  "https");
    auto const at = "://localhost:" + std::to_string(s.port());
    tls_options const tls{.ca_file = c.file("ca.pem"),
                          .certificate_file = c.file("client.pem"),
                          .private_key_file = c.file("client.key")};
    BOOST_TEST(!r.attempt(on("etcds" + at, {.tls = tls})).ec);

    BOOST_TEST(says(trouble_with("etcds" + at), "certificate verify failed"));
    BOOST_TEST(says(trouble_with("etcd" + at), "its URL begins with etcds://"));
    BOOST_TEST((trouble_with("etcds" + at, {.tls = {.ca_file = c.file("ca.pem")}}).error != error_code()));
}

BOOST_AUTO_TEST_CASE(acquire_without_user_or_right_names_the_way_out)
{
    etcd_server s;
    s.ask({"user", "add", "root:geheim"});
    s.ask({"user", "add", "app:geheim"});
    s.ask({"role", "add", "locks"});
    s.ask({"role", "grant-permission", "locks", "--prefix=true", "readwrite", "lock:"});
    s.ask({"user", "grant-role", "app", "locks"});
    s.ask({"user", "grant-role", "root", "root"});
    auto const as = [&](std::string const& user) {
        return "etcd://" + user + "@127.0.0.1:" + std::to_string(s.port());
    };
    BOOST_TEST(!r.attempt(on(as("app:geheim"))).ec);  // authentication is not enabled yet
    BOOST_REQUIRE(s.ask({"auth", "enable"}).starts_with("Authentication Enabled"));

    BOOST_TEST(!r.attempt(on(as("app:geheim"), {.fencing = true})).ec);
    auto const nobody = trouble_with(s.url());
    BOOST_TEST((nobody.error == errc::authentication_failed));
    BOOST_TEST(says(nobody, "name a user in its URL"));
    auto const wrong = trouble_with(as("app:geheims"));
    BOOST_TEST((wrong.error == errc::authentication_failed));
    BOOST_TEST(says(wrong, "invalid user ID or password"));
    auto const forbidden = trouble_with(as("app:geheim"), {.prefix = "others:"});
    BOOST_TEST((forbidden.error == errc::permission_denied));
    BOOST_TEST(says(forbidden, "etcdctl role grant-permission ROLE --prefix=true readwrite"));
}

BOOST_AUTO_TEST_CASE(list_by_a_manager_that_only_reads_needs_the_right_to_read)
{
    etcd_server s;
    s.ask({"user", "add", "root:geheim"});
    s.ask({"user", "add", "app:geheim"});
    s.ask({"role", "add", "looks"});
    s.ask({"role", "grant-permission", "looks", "--prefix=true", "read", "lock:"});
    s.ask({"user", "grant-role", "app", "looks"});
    s.ask({"user", "grant-role", "root", "root"});
    BOOST_REQUIRE(s.ask({"auth", "enable"}).starts_with("Authentication Enabled"));
    auto const as = [&](std::string const& user) {
        return "etcd://" + user + ":geheim@127.0.0.1:" + std::to_string(s.port());
    };
    lock_manager writer(r.context, on(as("root")));
    auto held = hold(r, writer, "stock", {.ttl = 60s, .wait = 60s});
    auto const list = [&](std::string const& prefix) {
        lock_manager reader(r.context, on(as("app"), {.prefix = prefix, .read_only = true}));
        auto listed = r.wait_for<lock_page>([&](auto done) { reader.async_list("*", std::move(done)); });
        r.shutdown(reader);
        return listed;
    };

    auto const [ec, page] = list("lock:");

    BOOST_TEST(!ec, ec.message());
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].nodes[0].value == held.token());
    auto const [why, nothing] = list("others:");
    BOOST_TEST((why == errc::no_quorum));
    BOOST_TEST((nothing.nodes[0].error == errc::permission_denied));
    BOOST_TEST(nothing.nodes[0].message.find("permission denied") != std::string::npos);
    BOOST_TEST(!r.release(held));
    r.shutdown(writer);
}

// When users change, all authentication tokens become invalid. The server reports it, and a new connection gets a new
// token.
BOOST_AUTO_TEST_CASE(acquire_with_an_invalid_auth_token_authenticates_again)
{
    etcd_server s;
    s.ask({"user", "add", "root:geheim"});
    s.ask({"user", "grant-role", "root", "root"});
    BOOST_REQUIRE(s.ask({"auth", "enable"}).starts_with("Authentication Enabled"));
    lock_manager locks(r.context, on("etcd://root:geheim@127.0.0.1:" + std::to_string(s.port()) + "?session=600s"));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    s.ask({"--user", "root:geheim", "auth", "disable"});
    s.ask({"auth", "enable"});

    BOOST_TEST(!r.acquire(locks, "other", {.wait = 20s}).ec);

    BOOST_TEST(held.held());
    BOOST_TEST(!r.release(held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_full_database_fails_but_release_succeeds)
{
    etcd_server s({"--quota-backend-bytes=1000000"});
    lock_manager locks(r.context, on(s.url("?session=600s")));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    std::string const heavy(100'000, 'x');
    for (int i = 0; i < 30 && !s.ask({"put", "heavy" + std::to_string(i), heavy}).starts_with("error"); ++i) {
    }

    auto const full = r.acquire(locks, "other");

    BOOST_TEST((full.ec == errc::no_quorum));
    BOOST_TEST((full.report.nodes[0].error == errc::node_refuses_writes));
    BOOST_TEST(full.report.nodes[0].message.find("etcdctl alarm disarm") != std::string::npos);
    BOOST_TEST(!r.extend(held, 50s));
    real_servers::outcome beside;
    r.start_acquire(beside, locks, "another", {});  // shares a transaction with the release
    BOOST_TEST(!r.release(held));
    BOOST_TEST(r.run_to([&] { return beside.done; }));
    BOOST_TEST((beside.ec == errc::no_quorum));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
