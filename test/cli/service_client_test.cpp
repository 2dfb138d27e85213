// redlock -u http://…: run, hold, status, list and break over real services.

#include "cli/made_up_service.hpp"
#include "cli/service_runs.hpp"
#include "tools/redlock/args/service_url.hpp"
#include "support/certificates.hpp"
#include "bed/proxy.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <csignal>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(over_a_service)

namespace {

using urls = std::vector<std::string>;
using words = std::vector<std::string>;

/// The document without what changes with time.
boost::json::value without_times(boost::json::value document)
{
    if (auto* const all = document.if_array()) {
        for (auto& element : *all)
            element = without_times(element);
    } else if (auto* const o = document.if_object()) {
        for (auto const* const name : {"age_ms", "ttl_ms"})
            o->erase(name);
        for (auto& [name, value] : *o)
            value = without_times(value);
    }
    return document;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_over_a_service_holds_the_lock_until_the_command_ends, two_instances)
{
    auto const e = over({two.url()}, {"run", "--fencing", "x/1", "-c",
                                      "echo \"$REDLOCK_FENCE\"; exec $TOOL -u " + one->url() + " status x/1 -o json"});
    BOOST_TEST_REQUIRE(e.status == 0, e.err);
    BOOST_TEST(std::stol(e.out) > 0);
    BOOST_TEST(has(e.out, R"("state":"held")"), e.out);
    BOOST_TEST(!is_held("x%2F1"));
    BOOST_TEST(over({two.url()}, {"run", "-k", "y", "-k", "z", "-c", "exit 3"}).status == 3);
    BOOST_TEST(over({two.url()}, {"run", "y", "/no/such/program"}).status == 127);
    BOOST_TEST(!is_held("y"));
}

BOOST_FIXTURE_TEST_CASE(run_over_a_service_renews_over_the_connection_that_it_has, two_instances)
{
    auto const port = std::stoi(one->url().substr(one->url().rfind(':') + 1));
    testbed::proxy network(std::vector<testbed::proxy::target>{{static_cast<std::uint16_t>(port)}});
    network.start();
    auto running = start_over({fmt::format("http://127.0.0.1:{}", network.port(0))},
                              {"run", "--ttl", "9s", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(running.says("in"), running.err());
    auto const before = network.connections(0);
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(is_renewed("x"));
    end_command();
    BOOST_TEST(running.wait().status == 0);
    BOOST_TEST(!is_held("x"));
    BOOST_TEST(network.connections(0) == before);
}

BOOST_FIXTURE_TEST_CASE(run_over_a_service_excludes_runs_of_other_instances, two_instances)
{
    auto first = start_over({one->url()}, {"run", "--note", "nightly", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(first.says("in"), first.err());
    must_say(over({two.url()}, {"run", "-n", "x", "true"}), 75, "redlock run: x is held by ", " for \"nightly\"");
    must_say(over({two.url()}, {"run", "-w", "300ms", "x", "true"}), 75, "for \"nightly\"");
    BOOST_TEST(over(nodes(), {"run", "-n", "x", "true"}).status == 75);
    auto second = start_over({two.url()}, {"run", "x", "echo", "mine"});
    BOOST_TEST(comes_true([&] { return !two.ask(verb::get, "/v1/locks/x").json().at("waiters").as_array().empty(); }));
    end_command();
    BOOST_TEST(first.wait().status == 0);
    must_print(second.wait(), 0, "mine\n");
}

BOOST_FIXTURE_TEST_CASE(run_over_a_service_shares_the_lock_with_readers, two_instances)
{
    auto reader = start_over({one->url()}, {"run", "--shared", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(reader.says("in"), reader.err());
    BOOST_TEST(over({two.url()}, {"run", "--shared", "-w", "30s", "x", "true"}).status == 0);
    must_say(over({two.url()}, {"run", "-n", "x", "true"}), 75, "x is shared");
    end_command();
    BOOST_TEST(reader.wait().status == 0);
}

BOOST_FIXTURE_TEST_CASE(run_over_a_service_stops_its_command_if_the_lock_is_broken, two_instances)
{
    auto running = start_over({one->url()}, {"run", "--ttl", "9s", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(running.says("in"), running.err());
    must_show(over({two.url()}, {"break", "x", "--force", "--yes"}), 0, "x: deleted on 3 of 3 nodes");
    must_say(running.wait(), 124, "x is lost");
    BOOST_TEST(over({two.url()}, {"break", "x", "--force", "--yes"}).status == 1);
}

BOOST_FIXTURE_TEST_CASE(run_goes_on_with_another_instance_if_its_own_is_killed, two_instances)
{
    auto running = start_over(both(), {"run", "--ttl", "12s", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(running.says("in"), running.err());
    one->tool().process().signal(SIGKILL);
    one->tool().wait();
    BOOST_TEST(is_renewed("x"));
    end_command();
    must_print(running.wait(), 0, "in\n");
    BOOST_TEST(!is_held("x"));
}

BOOST_FIXTURE_TEST_CASE(run_goes_on_with_another_instance_if_its_own_is_paused, two_instances)
{
    auto running = start_over(both(), {"run", "--ttl", "15s", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(running.says("in"), running.err());
    one->tool().process().pause();
    BOOST_TEST(is_renewed("x"));
    one->tool().process().resume();
    BOOST_TEST(is_renewed("x"));
    end_command();
    must_print(running.wait(), 0, "in\n");
    BOOST_TEST(!is_held("x"));
}

BOOST_FIXTURE_TEST_CASE(run_waits_at_another_instance_if_its_own_is_killed, two_instances)
{
    auto first = start_over({two.url()}, {"run", "--ttl", "60s", "x", "-c", lasting_command()});
    BOOST_TEST_REQUIRE(first.says("in"), first.err());
    two.tool().process().pause();  // so the second one waits at the other instance
    auto second = start_over(both(), {"run", "x", "echo", "mine"});
    BOOST_TEST(comes_true([&] { return has(one->ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
    two.tool().process().resume();
    one->tool().process().signal(SIGKILL);
    BOOST_TEST(comes_true([&] { return has(two.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
    end_command();
    BOOST_TEST(first.wait().status == 0);
    must_print(second.wait(), 0, "mine\n");
}

// The command sees whether the key is there. It must be stopped before that.
BOOST_FIXTURE_TEST_CASE(run_stops_its_command_in_time_if_the_service_is_paused, two_instances)
{
    auto const look = fmt::format("redis-cli -p {} exists lock:x", r[0].port());
    auto running =
        start_over({one->url()}, {"run", "--ttl", "8s", "x", "-c",
                                  "echo in; while :; do [ \"$(" + look + ")\" = 0 ] && echo gone; sleep 0.05; done"});
    BOOST_TEST_REQUIRE(running.says("in"), running.err());
    one->tool().process().pause();
    auto const e = running.wait();
    must_say(e, 124, "cannot be kept");
    BOOST_TEST(e.out == "in\n");
    one->tool().process().resume();
    BOOST_TEST(over({two.url()}, {"run", "-w", "50s", "x", "true"}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(run_without_renewal_or_beyond_max_hold_stops_its_command, two_instances)
{
    must_say(over({two.url()}, {"run", "--no-renew", "--ttl", "4s", "x", "sleep", "1000"}), 124, "x cannot be kept");
    must_say(over({two.url()}, {"run", "--max-hold", "2s", "y", "sleep", "1000"}), 124, "y cannot be kept");
    BOOST_TEST(!is_held("y"));
}

BOOST_AUTO_TEST_CASE(run_waits_longer_than_one_request_to_the_service_may)
{
    real_servers r(1);
    service const s(r, {"--max-wait", "1s"});
    auto const won = s.acquire(R"({"resources":["x"],"ttl_ms":60000,"wait_ms":900})");
    auto waits = start_over({s.url()}, {"run", "-w", "50s", "x", "echo", "mine"});
    for (int i = 0; i < 3; ++i) {  // requests come and go
        BOOST_TEST(comes_true([&] { return has(s.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
        BOOST_TEST(comes_true([&] { return has(s.ask(verb::get, "/metrics").body, "redlock_waiters 0\n"); }));
    }
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    must_print(waits.wait(), 0, "mine\n");
}

BOOST_FIXTURE_TEST_CASE(hold_over_a_service_releases_at_a_signal_and_ends_with_124_if_lost, two_instances)
{
    auto holder = start_over({one->url()}, {"hold", "--ttl", "9s", "x", "y"});
    BOOST_TEST_REQUIRE(holder.says("x y\n"), holder.err());
    BOOST_TEST(is_held("y"));
    BOOST_TEST(holder.end_by(SIGTERM).status == 0);
    BOOST_TEST(!is_held("y"));

    auto loses = start_over({one->url()}, {"hold", "--ttl", "9s", "x"});
    BOOST_TEST_REQUIRE(loses.says("x\n"), loses.err());
    BOOST_TEST(over({two.url()}, {"break", "x", "--force", "--yes"}).status == 0);
    must_say(loses.wait(), 124, "redlock hold: x is lost");
}

BOOST_FIXTURE_TEST_CASE(status_and_list_over_a_service_print_what_nodes_print, two_instances)
{
    auto holder = start_over({one->url()}, {"hold", "--note", "nightly", "jobs/1"});
    auto reader = start_over({one->url()}, {"hold", "--shared", "--note", "report", "jobs/2"});
    BOOST_TEST_REQUIRE(holder.says("jobs/1\n"));
    BOOST_TEST_REQUIRE(reader.says("jobs/2\n"));
    r[1].ask({"SET", "lock:jobs/3", "by another kind of client"});
    for (auto const* const name : {"jobs/1", "jobs/2", "jobs/3", "jobs/4"}) {
        auto const by_nodes = over(nodes(), {"status", name, "-o", "json"});
        auto const by_service = over({two.url()}, {"status", name, "-o", "json"});
        BOOST_TEST(by_service.status == by_nodes.status);
        BOOST_TEST(without_times(by_service.json()) == without_times(by_nodes.json()));
    }
    must_show(over({two.url()}, {"status", "jobs/1"}), 0, "jobs/1 is held by ", "for \"nightly\"", "3 of 3 nodes");

    auto const all = over({two.url()}, {"list", "jobs/*", "-o", "jsonl"});
    BOOST_TEST(all.status == 0, all.err);
    BOOST_TEST(all.documents().size() == 3u);
    auto const nodes_of = [&](urls const& where) { return over(where, {"list", "-o", "json"}).json().at("nodes"); };
    BOOST_TEST(nodes_of({two.url()}) == nodes_of(nodes()));
    auto const one_of_them = over({two.url()}, {"list", "jobs/[2]", "-o", "json"}).json().at("locks").as_array();
    BOOST_TEST_REQUIRE(one_of_them.size() == 1u);
    must_have(one_of_them[0].as_object(), {{"key", "jobs/2"}, {"state", "shared"}});
    must_show(over({two.url()}, {"list", "other*"}), 0, "KEY");
}

BOOST_FIXTURE_TEST_CASE(break_over_a_service_tells_what_it_has_deleted, two_instances)
{
    must_say(over({two.url()}, {"break", "x"}), 1, "x is free");
    one->acquire(R"({"resources":["x"],"ttl_ms":60000,"wait_ms":9000})");
    must_say(over({two.url()}, {"break", "x"}), 64, "nothing was deleted");
    BOOST_TEST(is_held("x"));
    auto const e = over({two.url()}, {"break", "x", "--force", "--yes", "-o", "json"});
    BOOST_TEST_REQUIRE(e.status == 0, e.err);
    must_have(e.json(), {{"key", "x"}, {"state", "held"}, {"deleted", 3}});
    BOOST_TEST(!is_held("x"));
}

BOOST_AUTO_TEST_CASE(tool_sends_the_token_of_the_url_or_of_the_password_file)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const tokens = folder.path + "/tokens", wrong = folder.path + "/wrong", right = folder.path + "/right";
    write_secret(tokens, "jobs-token-0123456789 jobs/ lock,read\n");
    std::ofstream(wrong) << "other-token-0123456789\n";
    std::ofstream(right) << "jobs-token-0123456789\n";
    service const s(r, {"--token-file", tokens});
    auto const with_token = "http://:jobs-token-0123456789@" + s.url().substr(7);

    must_say(over({s.url()}, {"run", "jobs/1", "true"}), 77, s.url(), "(401)", "--password-file");
    auto const e = over({s.url()}, {"--password-file", wrong, "status", "jobs/1"});
    must_say(e, 77, "(401)");
    BOOST_TEST(!has(e.err, "other-token"));
    must_say(over({with_token}, {"run", "other", "true"}), 77, "does not permit to lock \"other\"", "(403)");
    BOOST_TEST(over({with_token}, {"run", "jobs/1", "true"}).status == 0);
    BOOST_TEST(over({s.url()}, {"--password-file", right, "run", "jobs/1", "true"}).status == 0);
    BOOST_TEST(over({with_token}, {"list", "jobs/*"}).status == 0);
    BOOST_TEST(over({with_token}, {"list"}).status == 0);  // what the token may read
}

BOOST_AUTO_TEST_CASE(tool_asks_a_service_over_tls_or_a_unix_socket)
{
    real_servers r(1);
    certificates const own;
    testbed::temporary_folder folder;
    service const tls(r, {"--tls", own.file("server.pem"), own.file("server.key")});
    service const local(r, {}, "unix:" + folder.path + "/socket");
    BOOST_TEST(over({local.url()}, {"run", "x", "true"}).status == 0);
    must_print(over({tls.url()}, {"--ca-file", own.file("ca.pem"), "run", "x", "echo", "ran"}), 0, "ran\n");
    must_say(over({tls.url()}, {"run", "x", "true"}), 69, tls.url(), "certificate verify failed");
    must_say(over({tls.url()}, {"--ca-file", "/nowhere", "run", "x", "true"}), 78, "/nowhere");
}

BOOST_AUTO_TEST_CASE(tool_names_each_service_that_does_not_answer)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const nobody = "unix:" + folder.path + "/nobody";
    auto const no_service = fmt::format("http://127.0.0.1:{}", r[0].port());
    for (words const& command : {words{"run", "x", "true"}, words{"hold", "x"}, words{"status", "x"}, words{"list"},
                                 words{"break", "x", "--force", "--yes"}})
        must_say(over({nobody, no_service}, command), 69, "no service answers: ", nobody, no_service);
    service const s(r);
    BOOST_TEST(over({nobody, no_service, s.url()}, {"run", "x", "true"}).status == 0);
}

BOOST_AUTO_TEST_CASE(tool_names_the_service_whose_answer_is_wrong)
{
    auto const answers = [](std::string const& status, std::string const& body, words const& command, int expected,
                            std::string const& why) {
        made_up_service const s([&](auto const&) { return answer_of(status, body); });
        auto const e = over({s.url()}, command);
        must_say(e, expected, s.url() + ": " + why);
        BOOST_TEST(e.out == "");
    };
    words const run{"run", "x", "echo", "ran"}, status{"status", "x"};
    answers("502 Bad Gateway", "<html>", run, 69, "the answer with status 502 is no JSON object");
    answers("200 OK", "[1]", status, 69, "the answer with status 200 is no JSON object");
    answers("404 Not Found", "{}", status, 69, "the answer with status 404 has no type of redlock serve");
    answers("200 OK", "{}", status, 78, "the field \"resource\" of the answer must be there");
    answers("200 OK", R"({"locks":5})", {"list"}, 78, "the field \"locks\" of the answer must be an array");
    answers("201 Created", R"({"id":7})", run, 78, "the field \"id\" of the answer must be a text");
    answers("400 Bad Request", R"({"type":"urn:redlock:bad-request","detail":"no"})", run, 64, "no (400)");
    answers("503 Service Unavailable", R"({"type":"urn:redlock:busy"})", {"run", "-n", "x", "true"}, 75, "");
}

BOOST_FIXTURE_TEST_CASE(tool_refuses_what_a_service_cannot_do, two_instances)
{
    auto const url = two.url();
    for (words const& command : {words{"doctor"}, words{"top"}, words{"acquire", "x"}, words{"serve"}})
        must_say(over({url}, command), 78, url + " is a service", "run, hold, status, list and break");
    must_say(over({url, r[0].url()}, {"run", "x", "true"}), 78, url + " is a service",
             r[0].url() + " is a lock server");
    must_say(over({url}, {"--prefix", "a:", "status", "x"}), 78, "--prefix is \"a:\"");
    must_say(over({url}, {"--owner", "me", "run", "x", "true"}), 64, "--owner is \"me\"");
    must_say(over({url}, {"status", "x", "--tokens"}), 64, "--tokens needs the lock servers");
    must_say(over({url}, {"list", "--waits"}), 64, "--waits needs the lock servers");
    must_say(over({url}, {"break", "x", "--token", "t"}), 64, "--token needs the lock servers");
    must_say(over({url}, {"run", "--ttl", "2h", "x", "true"}), 64, url + ": ", "ttl_ms is 7200000");
    auto const inner = [&](std::string const& how) { return "exec $TOOL -u " + url + " run " + how + " x true"; };
    must_say(over({url}, {"run", "x", "-c", inner("")}), 64, "would wait for itself");
    must_say(over({url}, {"run", "--shared", "x", "-c", inner("--shared")}), 64, "cannot pass writers");
    service const without_fencing(r);
    must_say(over({without_fencing.url()}, {"run", "--fencing", "x", "true"}), 78, "draws no fencing tokens");
    BOOST_TEST(comes_true([&] { return !is_held("x"); }));
}

BOOST_AUTO_TEST_CASE(service_url_reads_addresses_and_refuses_others_without_the_token)
{
    using cli::service_url;
    BOOST_TEST(service_url::read("http://:a%3Ab@localhost:8642/").token == "a:b");
    BOOST_TEST(service_url::read("http://:secret@localhost:8642").name() == "http://localhost:8642");
    BOOST_TEST(service_url::read("https://[::1]").name() == "https://[::1]:443");
    BOOST_TEST(service_url::read("unix:/run/locks").socket == "/run/locks");
    BOOST_TEST(service_url::is_one("unix:locks"));
    BOOST_TEST(!service_url::is_one("unix:///run/redis"));
    for (auto const* const wrong : {"http://", "unix:", "http://secret@a", "http://:secret@", "http://:secret@a:0",
                                    "http://:secret@a/path", "http://:secret@[a]", "http://:%zz@a"}) {
        BOOST_CHECK_EXCEPTION(service_url::read(wrong), std::invalid_argument,
                              [](auto const& e) { return !has(e.what(), "secret"); });
    }
}

BOOST_AUTO_TEST_SUITE_END()
