// Typical first mistakes of a new user, and their error messages. docs/errors.md has the same table;
// REDLOCK_WRITE_ERRORS=1 writes it.

#include "support/certificates.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(first_mistakes)

namespace {

struct mistake {
    std::string done;
    std::string message;
    std::string mend;
};

// Gets the text of an exception, and replaces the test's addresses with those of the documents.
class observer {
public:
    /// Acquires until the message contains all @p words. On a busy machine, the first attempt may time out before the
    /// server's answer arrives.
    std::string message_of(manager_options c, std::initializer_list<std::string_view> words)
    {
        auto const end = std::chrono::steady_clock::now() + 20s;
        c.node_timeout = std::min<std::chrono::milliseconds>(c.node_timeout, 300ms);
        c.connect_timeout = 3s;
        std::string what = "no exception";
        try {
            lock_manager locks(r.context, std::move(c));
            auto const says_all = [&] {
                return std::all_of(words.begin(), words.end(), [&](auto w) { return what.find(w) != what.npos; });
            };
            do {
                what = failure(locks, {});
            } while (!says_all() && std::chrono::steady_clock::now() < end);
            r.shutdown(locks);
        } catch (std::exception const& e) {
            what = e.what();
        }
        return usual(std::move(what));
    }

    std::string failure(lock_manager& locks, acquire_options options)
    {
        std::string what = "no exception";
        bool done = false;
        locks.with_lock(
            "stock", options, [](lock&) -> asio::awaitable<void> { co_return; },
            [&](std::exception_ptr e) {
                done = true;
                try {
                    if (e)
                        std::rethrow_exception(e);
                } catch (lock_error const& error) {
                    what = error.what();
                }
            });
        BOOST_TEST(r.run_to([&] { return done; }));
        return what;
    }

    void call(std::string const& real, std::string const& name) { names_[real] = name; }

    std::string usual(std::string text) const
    {
        for (auto const& [real, name] : names_) {
            for (std::size_t at = 0; (at = text.find(real, at)) != text.npos; at += name.size())
                text.replace(at, real.size(), name);
        }
        return text;
    }

    real_servers r{0};

private:
    std::map<std::string, std::string> names_;
};

std::string page()
{
    std::ifstream in(REDLOCK_SOURCE "/docs/errors.md");
    return {std::istreambuf_iterator<char>(in), {}};
}

// The part of a message that is compared. The server's own words depend on its version, and the order of two nodes
// depends on time.
std::string ours(std::string const& message)
{
    auto const end = message.find("the same server") == message.npos ? message.rfind(": ")
                                                                     : message.find("; no vote from");
    return end == message.npos ? message : message.substr(0, end);
}

constexpr std::string_view begin_mark = "<!-- written by the tests: begin -->\n";
constexpr std::string_view end_mark = "<!-- end -->\n";

std::string table(std::vector<mistake> const& all)
{
    std::string text = "| what was done | what the message says | what to do |\n|---|---|---|\n";
    for (auto const& m : all)
        text += "| " + m.done + " | `" + m.message + "` | " + m.mend + " |\n";
    return text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(error_messages_name_the_mistake_and_the_way_out)
{
    observer o;
    std::vector<mistake> all;
    auto const add = [&](std::string done, manager_options c, std::string mend,
                         std::initializer_list<std::string_view> words) {
        auto const message = o.message_of(std::move(c), words);
        for (auto const word : words)
            BOOST_TEST(message.find(word) != message.npos,
                       done << ": \"" << message << "\" does not say \"" << word << "\"");
        all.push_back({std::move(done), message, std::move(mend)});
    };
    auto const address = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };

    auto const closed = testbed::free_port();
    o.call(address(closed), "10.0.0.1:6379");
    add("the server is not started, or the port is wrong", {.nodes = {"redis://" + address(closed)}},
        "start it; compare address and port with `redis-cli -h 10.0.0.1 -p 6379 ping`", {"Connection refused"});

    add("a name that does not exist", {.nodes = {"redis://lock-server.invalid"}}, "fix the name, or the resolver",
        {"no connection to the node"});

    local_server guarded({"--requirepass", "secret"});
    o.call(address(guarded.port()), "10.0.0.2:6379");
    add("no password", {.nodes = {guarded.url()}}, "write it into the URL: `redis://:PASSWORD@10.0.0.2`", {"NOAUTH"});
    add("a wrong password", {.nodes = {"redis://:guess@" + address(guarded.port())}},
        "correct it; `@`, `:`, `/` and `%` in it are percent-encoded", {"WRONGPASS"});

    local_server primary, replica;
    replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(primary.port())});
    o.call(address(replica.port()), "10.0.0.3:6379");
    add("a replica", {.nodes = {replica.url()}}, "name the primary instead", {"its role is replica"});

    local_server member({"--cluster-enabled", "yes"});
    o.call(address(member.port()), "10.0.0.4:6379");
    add("a member of a cluster", {.nodes = {member.url()}},
        "name servers that are independent of each other, or all of it: `redis-cluster://10.0.0.4`",
        {"member of a cluster"});

    testbed::temporary_folder folder;  // a Sentinel needs a writable configuration file
    std::ofstream(folder.path + "/sentinel")
        << "#!/bin/sh\n: > " << folder.path << "/conf\nexec " << testbed::server_program() << ' ' << folder.path
        << "/conf \"$@\" --sentinel\n";
    std::filesystem::permissions(folder.path + "/sentinel", std::filesystem::perms::owner_all);
    local_server sentinel({}, folder.path + "/sentinel");
    o.call(address(sentinel.port()), "10.0.0.5:26379");
    add("a Sentinel", {.nodes = {sentinel.url()}},
        "`redis-sentinel://10.0.0.5/NAME`, with the name that it has for the master", {"this is a Sentinel"});

    certificates c;
    tls_server s(c);
    o.call(address(s.port), "10.0.0.6:6380");
    o.call("localhost:" + std::to_string(s.port), "locks.example:6380");
    o.call(address(s.server.port()), "10.0.0.6:6379");
    tls_options const tls{.ca_file = c.file("ca.pem")};
    add("no TLS to a port that wants it", {.nodes = {"redis://" + address(s.port)}}, "`rediss://` in the URL",
        {"rediss://"});
    add("TLS to a port that does not speak it", {.nodes = {"rediss://" + address(s.server.port())}, .tls = tls},
        "`redis://`, or the port for TLS", {"begins with redis://"});

    c.sign_for("expired", "20010101000000Z", "20020101000000Z");
    c.sign_for("early", "20400101000000Z", "20410101000000Z");
    tls_server expired(c, "expired"), early(c, "early"), elsewhere(c, "elsewhere");
    for (auto* t : {&expired, &early, &elsewhere})
        o.call("localhost:" + std::to_string(t->port), "locks.example:6380");
    add("an expired certificate", {.nodes = {expired.url()}, .tls = tls}, "renew it", {"certificate has expired"});
    add("a certificate that is not valid yet", {.nodes = {early.url()}, .tls = tls}, "set the clocks of both",
        {"not yet valid"});
    add("a certificate for another name", {.nodes = {elsewhere.url()}, .tls = tls}, "use the name that is in it",
        {"ostname mismatch"});
    add("an authority that is not known", {.nodes = {s.url()}},
        "name its certificate in `manager_options::tls.ca_file`", {"certificate in certificate chain"});

    local_server twice;
    o.call("127.0.0.1:" + std::to_string(twice.port()), "10.0.0.7:6379");
    o.call("localhost:" + std::to_string(twice.port()), "locks.example:6379");
    auto const other = "redis://localhost:" + std::to_string(twice.port());
    add("two names of one server", {.nodes = {twice.url(), other}}, "name each server once",
        {"(the node is the same server"});

    local_server full({"--maxclients", "1"});
    o.call(address(full.port()), "10.0.0.8:6379");
    asio::ip::tcp::socket only(o.r.context);
    only.connect({asio::ip::address_v4::loopback(), full.port()});
    add("a server with too many clients", {.nodes = {full.url()}}, "raise its `maxclients`",
        {"max number of clients reached"});

    local_server strict;
    o.call(address(strict.port()), "10.0.0.9:6379");
    strict.ask({"ACL", "SETUSER", "locker", "on", ">pw", "~lock:*", "+@all", "-pexpire"});
    add("a permission is missing", {.nodes = {"redis://locker:pw@" + address(strict.port())}},
        "[the list of permissions](guarantees.md#access-control)",
        {"too few rights", "a trial lock was refused", "'pexpire'"});

    local_server shared;
    o.call(address(shared.port()), "10.0.0.1:6379");
    shared.ask({"RPUSH", "lock:stock", "a list"});
    if (servers_tell_type())
        add("the key of the lock is something else", {.nodes = {shared.url()}},
            "delete it, or choose another `manager_options::prefix`", {"WRONGTYPE"});

    local_server well;
    o.call(address(well.port()), "10.0.0.1:6379");
    lock_manager locks(o.r.context, {.nodes = {well.url()}});
    all.push_back({"a ttl that is out of range", o.usual(o.failure(locks, {.ttl = 2min})),
                   "raise `manager_options::max_ttl`, or renew a shorter one"});
    o.r.shutdown(locks);

    auto const before = page();
    auto const begin = before.find(begin_mark), end = before.find(end_mark);
    BOOST_TEST_REQUIRE((begin != before.npos && end != before.npos));
    auto const written = before.substr(begin + begin_mark.size(), end - begin - begin_mark.size());
    if (std::getenv("REDLOCK_WRITE_ERRORS")) {
        std::ofstream(REDLOCK_SOURCE "/docs/errors.md")
            << before.substr(0, begin) << begin_mark << table(all) << before.substr(end);
        return;
    }
    for (auto const& m : all) {
        auto const as_it_is = table({m});
        auto const line = "| " + m.done + " | `" + ours(m.message);
        BOOST_TEST(written.find(line) != written.npos,
                   "docs/errors.md is behind; REDLOCK_WRITE_ERRORS=1 writes it: " << line);
    }
    BOOST_TEST(std::count(written.begin(), written.end(), '\n')
               == static_cast<std::ptrdiff_t>(all.size() + (servers_tell_type() ? 2 : 3)));
}

BOOST_AUTO_TEST_SUITE_END()
