#include "core/key.hpp"
#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include "bed/plain_client.hpp"

#include <boost/test/unit_test.hpp>

#include <filesystem>
#include <iterator>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(connections)

namespace {

std::string with_credentials(local_server const& s, std::string const& credentials, std::string const& database = "")
{
    return "redis://" + credentials + "@127.0.0.1:" + std::to_string(s.port()) + database;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(connection_opens_at_first_use, manager_of<1>)
{
    r.context.run_for(20ms);
    BOOST_TEST(r[0].ask({"CLIENT", "LIST"}).find("redlock") == std::string::npos);
    BOOST_TEST(!locks.stats().nodes[0].connected);

    r.acquire(locks, "stock");
    BOOST_TEST(r[0].ask({"CLIENT", "LIST"}).find("name=redlock") != std::string::npos);
    BOOST_TEST(locks.stats().nodes[0].connected);
    BOOST_TEST(locks.stats().nodes[0].connections == 1u);

    BOOST_TEST(!r.shutdown(locks));
    r.context.run();  // returns: nothing is left to do
    BOOST_TEST(!locks.stats().nodes[0].connected);
}

// Handlers that a destroyed manager left on its strand must not keep the strand alive.
BOOST_AUTO_TEST_CASE(lock_manager_destruction_before_its_context_leaks_no_descriptor)
{
    real_servers r(1);
    auto const descriptors = [] {
        return std::distance(std::filesystem::directory_iterator("/proc/self/fd"),
                             std::filesystem::directory_iterator());
    };
    auto const before = descriptors();
    for (int turns = 0; turns < 16; ++turns) {
        for (int more = 0; more < 16; ++more) {
            asio::io_context context;
            {
                lock_manager locks(context, {.nodes = {r[0].url()}});
                locks.async_acquire("stock", {.ttl = 100ms, .wait = 1s}, [](error_code, lock) {});
                for (int i = 0; i < turns; ++i)
                    context.run_one_for(20ms);
            }
            for (int i = 0; i < more; ++i)
                context.run_one_for(5ms);
        }
    }
    BOOST_TEST(descriptors() == before);
}

BOOST_AUTO_TEST_CASE(acquire_uses_user_password_and_database_of_the_url)
{
    real_servers r(1, {"--requirepass", "se:cr@t"});
    std::string const port = std::to_string(r[0].port());
    {
        lock_manager locks(r.context,
                           {.nodes = {with_credentials(r[0], ":se%3Acr%40t", "/5")}, .node_timeout = busy_timeout});
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        testbed::plain_client client(r[0].port());
        client.ask({"AUTH", "se:cr@t"});
        BOOST_TEST(client.ask({"EXISTS", "lock:stock"}) == "0");
        client.ask({"SELECT", "5"});
        BOOST_TEST(client.ask({"EXISTS", "lock:stock"}) == "1");
        client.ask({"ACL", "SETUSER", "locker", "on", ">pw", "~lock:*", "-@all", "+hello", "+set", "+evalsha",
                    "+script|load", "+get", "+del", "+pexpire", "+pttl", "+info", "+command|list", "+ping", "+select"});
        won.held = {};
        r.shutdown(locks);
    }
    {
        lock_manager locks(r.context, {.nodes = {with_credentials(r[0], "locker:pw")}, .node_timeout = busy_timeout});
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.extend(won.held, 20s));
        BOOST_TEST(!r.release(won.held));
        r.shutdown(locks);
        auto refused = r.attempt(
            {.nodes = {with_credentials(r[0], "locker:pw")}, .prefix = "other:", .node_timeout = busy_timeout});
        BOOST_TEST((refused.ec == errc::no_quorum));
        BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
    }
}

// A server without these permissions could grant locks that it can neither extend nor release.
BOOST_AUTO_TEST_CASE(acquire_with_missing_permissions_gets_no_vote_and_names_them)
{
    real_servers r(1);
    auto const granted = [&](std::string const& but, bool fencing) {
        std::vector<std::string> rules{"ACL", "SETUSER", "locker", "reset", "on", ">pw", "~lock:*", "-@all"};
        for (auto const* p : {"hello", "set", "evalsha", "script|load", "get", "del", "pexpire", "pttl", "info",
                              "command|list", "ping", "zadd", "zincrby"}) {
            if (p != but)
                rules.push_back(std::string("+") + p);
        }
        r[0].ask(rules);
        lock_manager locks(
            r.context,
            {.nodes = {with_credentials(r[0], "locker:pw")}, .node_timeout = busy_timeout, .fencing = fencing});
        auto o = r.acquire(locks, "stock");
        r.release(o.held);
        BOOST_TEST(locks.stats().nodes[0].connected == !o.ec);
        r.shutdown(locks);
        return o;
    };
    for (auto const* p : {"set", "evalsha", "get", "del", "pexpire", "pttl"}) {
        BOOST_TEST_CONTEXT(p) {
            auto const refused = granted(p, false);
            BOOST_TEST((refused.ec == errc::no_quorum));
            BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
            BOOST_TEST(refused.report.message.find("a trial lock was refused: ") != std::string::npos);
            BOOST_TEST(refused.report.message.find(p) != std::string::npos);
        }
    }
    // A user that may write keys but not read them gets no vote, either.
    r[0].ask({"ACL", "SETUSER", "writer", "reset", "on", ">pw", "%W~lock:*", "+@all"});
    if (r[0].ask({"ACL", "GETUSER", "writer"}).find("%W~lock:*") != std::string::npos) {  // needs Redis 7
        auto const refused = r.attempt({.nodes = {with_credentials(r[0], "writer:pw")}, .node_timeout = busy_timeout});
        BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied), refused.report.message);
    }
    for (auto const* p : {"zadd", "zincrby"}) {
        BOOST_TEST(!granted(p, false).ec);
        if (servers_fence())
            BOOST_TEST(granted(p, true).report.message.find(p) != std::string::npos);
    }
    for (int i = 0; i < 3; ++i)
        BOOST_TEST((granted("del", servers_fence()).report.nodes[0].error == errc::permission_denied));
    // All connections use one trial counter.
    BOOST_TEST((r[0].ask({"DEL", core::fence_key("lock:=trial")}) == "1") == servers_fence());
    for (auto const* optional : {"ping", "command|list", ""})
        BOOST_TEST(!granted(optional, servers_fence()).ec);
    BOOST_TEST(granted("info", false).report.message.find("+pttl and the keys lock::=record and lock::=clients")
               != std::string::npos);
    r[0].ask({"SCRIPT", "FLUSH"});
    BOOST_TEST(granted("script|load", false).report.message.find("SCRIPT LOAD") != std::string::npos);
    auto const counters = servers_fence() ? "1" : "0";  // the lock's counter stays; the other keys expire
    BOOST_TEST(r.run_to([&] { return r[0].count_keys() == counters; }), r[0].ask({"KEYS", "*"}));
}

BOOST_AUTO_TEST_CASE(acquire_on_a_server_without_scripts_gets_no_vote)
{
    real_servers r(1, {"--rename-command", "EVALSHA", ""});
    auto const refused = r.attempt(r.settings());
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::unsupported_server));
    BOOST_TEST(refused.report.message.find("EVALSHA") != std::string::npos);
}

// The trial does not show which names are allowed; each vote does. The server's refusals contain two of the passwords.
BOOST_AUTO_TEST_CASE(acquire_by_a_user_with_some_lock_names_is_granted_only_these)
{
    real_servers r(1);
    for (std::string const password : {"pw", "keys", "NOPERM"}) {
        r[0].ask({"ACL", "SETUSER", "locker", "reset", "on", '>' + password, "~lock:stock*", "~lock::=record",
                  "~lock::=clients", "+@all"});
        ending_manager locks(r, {.nodes = {with_credentials(r[0], "locker:" + password)},
                                 .node_timeout = busy_timeout,
                                 .fencing = servers_fence()});
        auto won = r.acquire(locks, "stock");
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.extend(won.held, 20s));
        BOOST_TEST(!r.release(won.held));
        auto const refused = r.acquire(locks, "other");
        BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
        BOOST_TEST(refused.report.nodes[0].message.find(' ' + password) == std::string::npos);
    }
}

// Rotation of a password: new connections use the new one, and those that work are kept.
BOOST_AUTO_TEST_CASE(acquire_after_the_password_changed_asks_the_credentials_again)
{
    real_servers r(1);
    std::string password = "one";
    std::string node;
    bool fails = false;
    r[0].ask({"ACL", "SETUSER", "app", "on", ">one", "~*", "&*", "+@all"});
    ending_manager locks(
        r, {.nodes = {r[0].url()}, .node_timeout = busy_timeout, .credentials = [&](credentials_request const& to) {
                node = to.node;
                BOOST_TEST(to.in_address.user == "");
                if (fails)
                    throw std::runtime_error("the vault is sealed");
                return credentials{.user = "app", .password = password};
            }});
    auto held = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_TEST(!held.ec);
    auto const trouble = [&] { return r.acquire(locks, "other", {.ttl = 60s}).report.nodes.at(0); };
    BOOST_TEST(node == locks.stats().nodes[0].name);

    r[0].ask({"ACL", "SETUSER", "app", "<one", ">two"});
    BOOST_TEST(!r.extend(held.held, 60s));  // the connection still works
    fails = true;
    r[0].ask({"CLIENT", "KILL", "USER", "app"});
    BOOST_TEST(r.run_to([&] { return trouble().message.find("the vault is sealed") != std::string::npos; }));
    for (int i = 0; i < 8; ++i) {  // also after attempts that send PING first
        r.run_to([] { return false; }, 50ms);
        BOOST_TEST(trouble().message.find("the vault is sealed") != std::string::npos);
    }
    fails = false;  // still the old password
    BOOST_TEST(r.run_to([&] { return trouble().error == errc::authentication_failed; }));
    password = "two";
    BOOST_TEST(r.run_to([&] { return !r.extend(held.held, 60s); }));
    BOOST_TEST(!r.release(held.held));
}

BOOST_AUTO_TEST_CASE(acquire_by_a_user_without_password_succeeds)
{
    real_servers r(1);
    r[0].ask({"ACL", "SETUSER", "guest", "on", "nopass", "~*", "&*", "+@all"});
    for (auto const* const who : {"guest:", "guest:any"}) {
        ending_manager locks(r, {.nodes = {with_credentials(r[0], who)}, .node_timeout = busy_timeout});
        BOOST_TEST(!r.acquire(locks, std::string("stock") + who).ec);
        BOOST_TEST(r[0].ask({"CLIENT", "LIST"}).find("user=guest") != std::string::npos);
    }
}

// Rule 14 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(log_lines_messages_and_names_contain_no_password)
{
    real_servers r(1, {"--requirepass", "correct"});
    std::string everything;
    for (auto const& url : {with_credentials(r[0], "default:hunter2"), std::string("redis://:hunter2@127.0.0.1:1")}) {
        lock_manager locks(r.context, {.nodes = {url},
                                       .node_timeout = busy_timeout,
                                       .log = [&](log_level, std::string_view line) { everything += line; }});
        auto refused = r.acquire(locks, "stock");
        BOOST_TEST((refused.ec == errc::no_quorum));
        auto const& n = refused.report.nodes.at(0);
        BOOST_TEST((n.error == (url.ends_with(":1") ? errc::node_unreachable : errc::authentication_failed)));
        auto const s = locks.stats().nodes.at(0);
        everything += refused.report.message + n.name + n.message + s.name + s.last_message;
        r.shutdown(locks);
    }
    BOOST_TEST(everything.find("127.0.0.1") != std::string::npos);
    BOOST_TEST(everything.find("hunter2") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(acquire_over_a_unix_socket_succeeds)
{
    testbed::temporary_folder folder;
    auto const path = folder.path + "/s";
    real_servers r(1, {"--unixsocket", path});
    ending_manager locks(r, {.nodes = {"unix://" + path + "?db=3"}, .node_timeout = busy_timeout});

    auto won = r.acquire(locks, "stock");

    BOOST_TEST(!won.ec);
    BOOST_TEST(r[0].ask({"INFO", "keyspace"}).find("db3:keys=3") != std::string::npos);
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(acquire_over_a_unix_socket_with_user_and_password_succeeds)
{
    testbed::temporary_folder folder;
    auto const path = folder.path + "/s";
    real_servers r(1, {"--unixsocket", path, "--requirepass", "se/cr@t"});
    lock_manager locks(r.context, {.nodes = {"unix://:se%2Fcr%40t@" + path}});
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(locks.stats().nodes[0].name == "unix://" + path);
    r.shutdown(locks);

    try {
        // Other programs accept this form.
        lock_manager refused(r.context, {.nodes = {"unix://" + path + "?password=hunter2"}});
        BOOST_TEST(false);
    } catch (std::invalid_argument const& e) {
        BOOST_TEST(std::string(e.what()).find("hunter2") == std::string::npos);
        BOOST_TEST(std::string(e.what()).find("unix://user:password@/path") != std::string::npos);
    }
}

// Rule 12 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_on_two_addresses_of_a_server_counts_one_vote)
{
    real_servers r(1);
    auto const port = std::to_string(r[0].port());
    lock_manager locks(r.context,
                       {.nodes = {"redis://127.0.0.1:" + port, "redis://localhost:" + port, "memory://third"},
                        .node_timeout = busy_timeout,
                        .restart_guard = restart_guard::off});  // a young server among older ones would not vote

    auto won = r.acquire(locks, "stock");

    // One of the two addresses votes. Together with the third node, this is a majority.
    BOOST_TEST(!won.ec);
    BOOST_TEST(r.run_to([&] {
        auto const nodes = locks.stats().nodes;
        return nodes[0].last_error == errc::duplicate_node || nodes[1].last_error == errc::duplicate_node;
    }));
    r.release(won.held);
    auto second = r.acquire(locks, "stock", {.wait = 5s});
    bool refused = false;
    for (auto& n : second.report.nodes)
        refused = refused || n.error == errc::duplicate_node;
    BOOST_TEST(refused);
    r.release(second.held);
    r.shutdown(locks);

    // Without a third node, one vote is not a majority.
    std::vector<std::string> const alone{"redis://127.0.0.1:" + port, "redis://localhost:" + port,
                                         "redis://127.0.0.1:1"};
    BOOST_TEST((r.attempt({.nodes = alone, .node_timeout = busy_timeout}).ec == errc::no_quorum));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(connection_that_is_idle_stays_open_and_is_reused, manager_of<1>)
{
    r.acquire(locks, "a");
    r.context.restart();
    auto const asked = carried_out(r[0], "config|get");
    skip_time(busy_timeout);
    BOOST_TEST(r.run_to([&] { return carried_out(r[0], "config|get") > asked; }));  // a heartbeat
    auto won = r.acquire(locks, "b");
    BOOST_TEST(!won.ec);
    BOOST_TEST(locks.stats().nodes[0].connections == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
