// redlock -u http://…: what a service may not do that lies, or that is no lock service.

#include "cli/made_up_service.hpp"
#include "tools/redlock/locks/service_json.hpp"
#include "cli/service_runs.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(hostile_service)

namespace {

using namespace std::chrono_literals;
using request = made_up_service::request;
using std::chrono::milliseconds;
using words = std::vector<std::string>;

/// The document of a lock that was granted. @param changes  fields that replace the right ones
std::string granted(std::string const& changes)
{
    auto document = boost::json::parse(R"({"id":"A","resources":["x"],"mode":"exclusive","valid_for_ms":9000,
                                           "waited_ms":0,"fencing_token":1})")
                        .as_object();
    auto const others = boost::json::parse(changes).as_object();
    for (auto const& [name, value] : others)
        document[name] = value;
    return boost::json::serialize(document);
}

/// Grants each lock with these changes, extends it likewise, and lets it be released.
std::string grant(request const& q, std::string const& changes)
{
    return asks_for_health(q)            ? healthy()
           : q.method() == verb::delete_ ? answer_of("204 No Content", "")
           : q.method() == verb::patch   ? answer_of("200 OK", granted(changes))
                                         : answer_of("201 Created", granted(changes));
}

/// That of the last request with this method; empty: there was none.
std::string last_target_of(made_up_service const& s, verb method)
{
    std::string last;
    for (auto const& r : s.requests()) {
        if (r.method() == method)
            last = std::string(r.target());
    }
    return last;
}

cli::service_grant read(std::string const& changes, words const& names = {"x"}, mode m = mode::exclusive)
{
    return cli::grant_in(boost::json::parse(granted(changes)).as_object(), names, m, 10s);
}

std::int64_t now_ms()
{
    return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

void must_be_clean(std::string const& text)
{
    for (std::string_view const raw : {"\x1b", "\x07", "\x7f", "\xc2\x9b", "\xe2\x80\xae"})
        BOOST_TEST(!has(text, raw), text);
}

/// A lock, or a page of locks, with texts that act on a terminal.
std::string state_with(std::string const& text)
{
    auto const t = boost::json::serialize(boost::json::value(text));
    return fmt::format(R"({{"resource":"x","locked":true,"mode":"exclusive","owner":{0},"note":{0},"since_ms":1,
        "remaining_ms":5000,"knows_readers":true,"knows_waiters":true,
        "readers":[{{"owner":{0},"note":{0},"since_ms":2,"remaining_ms":5,"votes":1}}],
        "waiters":[{{"owner":{0},"note":{0},"mode":{0}}}],
        "nodes":[{{"name":{0},"locked":true,"state":"held","owner":{0},"note":{0},"remaining_ms":5,"holder":{0}}},
                 {{"name":{0},"locked":false,"state":"unknown","error":{0},"code":{0}}}]}})",
                       t);
}

}  // namespace

BOOST_AUTO_TEST_CASE(grant_in_bounds_the_validity_by_the_ttl)
{
    BOOST_TEST((read("{}").valid_for == 9s));
    BOOST_TEST((read(R"({"valid_for_ms":10001})").valid_for == 10s));
    BOOST_TEST((read(R"({"valid_for_ms":9223372036854775807})").valid_for == 10s));
    BOOST_TEST((read(R"({"valid_for_ms":0})").valid_for == 0s));
}

BOOST_AUTO_TEST_CASE(grant_in_refuses_impossible_fields)
{
    for (auto const* const wrong : {R"({"valid_for_ms":-1})",
                                    R"({"valid_for_ms":-9223372036854775808})",
                                    R"({"valid_for_ms":1e300})",
                                    R"({"valid_for_ms":1.5})",
                                    R"({"valid_for_ms":"9"})",
                                    R"({"valid_for_ms":null})",
                                    R"({"waited_ms":-1})",
                                    R"({"fencing_token":-1})",
                                    R"({"id":""})",
                                    R"({"id":null})",
                                    R"({"id":"A\r\nX: y"})",
                                    R"({"id":"A\u0000"})",
                                    R"({"id":"A B"})",
                                    R"({"id":"\u00e4"})",
                                    R"({"resources":[]})",
                                    R"({"resources":["y"]})",
                                    R"({"resources":["x","y"]})",
                                    R"({"resources":"x"})",
                                    R"({"mode":"shared"})",
                                    R"({"mode":null})"})
        BOOST_CHECK_THROW(read(wrong), cli::wrong_document);
    BOOST_CHECK_THROW(read("{}", {"x", "y"}), cli::wrong_document);
    BOOST_CHECK_THROW(read("{}", {"x"}, mode::shared), cli::wrong_document);
    BOOST_TEST(read(R"({"resources":["y","x"]})", {"x", "y", "x"}).resources.size() == 2u);
}

BOOST_AUTO_TEST_CASE(lock_in_bounds_times_and_names)
{
    auto const with_since = [](std::string const& since) {
        auto o = boost::json::parse(state_with("a")).as_object();
        o["since_ms"] = boost::json::parse(since);
        return cli::lock_in(o, "x").since;
    };
    BOOST_TEST(with_since("1700000000000").has_value());
    BOOST_TEST(!with_since("9223372036854775807").has_value());
    BOOST_TEST(!with_since("-9223372036854775808").has_value());
    auto const o = boost::json::parse(state_with("a")).as_object();
    BOOST_CHECK_THROW(cli::lock_in(o, "y"), cli::wrong_document);
    BOOST_CHECK_THROW(cli::breaks_in(boost::json::parse(R"({"resource":"y","nodes":[]})").as_object(), "x"),
                      cli::wrong_document);
}

BOOST_AUTO_TEST_CASE(run_counts_the_validity_from_its_own_clock)
{
    made_up_service const lies(
        [](request const& q) { return grant(q, R"({"valid_for_ms":31536000000,"waited_ms":9223372036854775807})"); });
    auto const e = over({lies.url()}, {"run", "-n", "--ttl", "30s", "x", "-c", "echo \"$REDLOCK_DEADLINE\""});
    BOOST_TEST_REQUIRE(e.status == 0, e.err);
    BOOST_TEST(std::stoll(e.out) <= now_ms() + 30'000);
}

BOOST_AUTO_TEST_CASE(run_stops_its_command_if_a_renewal_lies)
{
    std::atomic<int> renewals = 0;
    made_up_service const lies([&](request const& q) {
        bool const is_second = q.method() == verb::patch && ++renewals > 1;
        return is_second ? answer_of("503 Service Unavailable", R"({"type":"urn:redlock:unavailable"})")
                         : grant(q, R"({"valid_for_ms":31536000000})");
    });
    must_say(over({lies.url()}, {"run", "-n", "--ttl", "3s", "x", "sleep", "1000"}), 124, "cannot be kept");
    BOOST_TEST(renewals > 1);
}

BOOST_AUTO_TEST_CASE(run_refuses_and_releases_a_lock_that_was_not_asked_for)
{
    for (auto const& [changes, why] :
         {std::pair(R"({"resources":["other"]})", "\"resources\""),
          std::pair(R"({"valid_for_ms":-1})", "\"valid_for_ms\""), std::pair(R"({"mode":"shared"})", "\"mode\"")}) {
        made_up_service const lies([what = std::string(changes)](request const& q) { return grant(q, what); });
        must_say(over({lies.url()}, {"run", "-n", "x", "echo", "RAN"}), 78, lies.url() + ": the field ", why);
        BOOST_TEST(last_target_of(lies, verb::delete_).ends_with("/A"));
    }
}

BOOST_AUTO_TEST_CASE(run_does_not_start_its_command_with_a_lock_that_is_over)
{
    made_up_service const lies([](request const& q) { return grant(q, R"({"valid_for_ms":0})"); });
    auto const e = over({lies.url()}, {"run", "-n", "x", "echo", "RAN"});
    must_say(e, 69, "could not be kept");
    BOOST_TEST(e.out == "");
}

BOOST_AUTO_TEST_CASE(run_encodes_the_id_of_its_lock_in_paths)
{
    made_up_service const odd([](request const& q) { return grant(q, R"({"id":"../A?b#%/c"})"); });
    BOOST_TEST(over({odd.url()}, {"run", "-n", "x", "true"}).status == 0);
    BOOST_TEST(last_target_of(odd, verb::delete_).ends_with("/..%2FA%3Fb%23%25%2Fc"));
}

BOOST_AUTO_TEST_CASE(commands_print_no_text_of_a_service_unescaped)
{
    std::string const raw = "a\x1b[31mb\x07\x7f\xc2\x9b\xe2\x80\xae\r\n";
    auto const text = boost::json::serialize(boost::json::value(raw));
    words const problems{fmt::format(R"({{"type":"urn:redlock:busy","title":{0},"detail":{0}}})", text),
                         R"({"type":"urn:redlock:)" + text.substr(1) + "}"};
    for (auto const* const status : {"400 Wrong", "403 Wrong", "404 Wrong", "409 Wrong", "500 Wrong", "503 Wrong"}) {
        for (auto const& problem : problems) {
            made_up_service const s(
                [&](request const& q) { return asks_for_health(q) ? healthy() : answer_of(status, problem); });
            for (words const& command : {words{"run", "-n", "x", "true"}, words{"status", "x"}}) {
                auto const e = over({s.url()}, command);
                BOOST_TEST(e.status != 0);
                must_be_clean(e.err + e.out);
            }
        }
    }
    auto const state = state_with(raw);
    made_up_service const s([&](request const& q) {
        return asks_for_health(q) ? healthy()
               : q.target().starts_with("/v1/locks?")
                   ? answer_of("200 OK", fmt::format(R"({{"locks":[{}],"next":null,"nodes":[{{"name":{},
                                                         "complete":false,"error":{},"code":"a"}}]}})",
                                                     state, text, text))
               : q.method() == verb::post ? answer_of("409 Conflict", R"({"type":"urn:redlock:busy"})")
                                          : answer_of("200 OK", state, "ETag: \"1\"\r\n");
    });
    for (auto const* const output : {"table", "json"}) {
        for (words command : {words{"status", "x"}, words{"list"}, words{"run", "-n", "x", "true"}}) {
            if (command.front() != "run")
                command.insert(command.end(), {"-o", output});
            auto const e = over({s.url()}, command);
            BOOST_TEST(has(e.out + e.err, "[31mb"), e.err);
            must_be_clean(e.out + e.err);
        }
    }
}

BOOST_AUTO_TEST_CASE(status_list_and_break_refuse_answers_about_other_locks)
{
    auto const state = state_with("a");
    made_up_service const s([&](request const& q) {
        return asks_for_health(q) ? healthy()
               : q.target().starts_with("/v1/locks?")
                   ? answer_of("200 OK", fmt::format(R"({{"locks":[{}],"next":"again","nodes":[]}})", state))
               : q.method() == verb::post ? answer_of("200 OK", R"({"resource":"y","nodes":[]})")
                                          : answer_of("200 OK", state, "ETag: \"1\"\r\n");
    });
    must_say(over({s.url()}, {"status", "y"}), 78, "the field \"resource\" of the answer must be the name");
    must_say(over({s.url()}, {"break", "x", "--force", "--yes"}), 78, "the field \"resource\" of the answer");
    must_say(over({s.url()}, {"list"}), 78, "the field \"next\" of the answer must be another one");
}

BOOST_AUTO_TEST_CASE(break_endures_a_service_that_forgets_nodes)
{
    std::atomic<bool> is_broken = false;
    made_up_service const s([&](request const& q) {
        is_broken = is_broken || q.method() == verb::post;
        auto document = boost::json::parse(state_with("a")).as_object();
        if (is_broken)
            document["nodes"].as_array().clear();
        return asks_for_health(q)         ? healthy()
               : q.method() == verb::post ? answer_of("200 OK", R"({"resource":"x","nodes":[
                         {"name":"a","deleted":false,"error":"e","code":"unavailable"},
                         {"name":"b","deleted":false,"error":"e","code":"unavailable"}]})")
                                          : answer_of("200 OK", boost::json::serialize(document), "ETag: \"1\"\r\n");
    });
    must_say(over({s.url()}, {"break", "x", "--force", "--yes"}), 69, "redlock break: b: e");
}

BOOST_AUTO_TEST_CASE(tool_follows_no_redirect_and_reads_no_endless_answer)
{
    made_up_service const target([](request const& q) { return grant(q, "{}"); });
    auto const answers = [](std::string const& answer, std::string const& why) {
        made_up_service const s([&](request const&) { return answer; });
        must_say(over({s.url()}, {"run", "-n", "x", "echo", "RAN"}), 69, s.url() + ": " + why);
        BOOST_TEST(over({s.url()}, {"status", "x"}).status == 69);
    };
    answers(answer_of("307 Temporary Redirect", "", "Location: " + target.url() + "/v1/locks\r\n"),
            "the answer with status 307 is no JSON object");
    answers(answer_of("200 OK", std::string(5 * 1024 * 1024, ' ')), "body limit exceeded");
    answers("HTTP/1.1 200 OK\r\n\r\n{" + std::string(5 * 1024 * 1024, ' '), "body limit exceeded");
    answers("HTTP/1.1 200 OK\r\nX: " + std::string(1024 * 1024, 'x') + "\r\n\r\n{}", "header limit exceeded");
    answers("-ERR unknown command\r\n", "bad");
    answers("", "end of stream");
    answers(answer_of("200 OK", std::string(100, '[') + std::string(100, ']')),
            "the answer with status 200 is no JSON");
    BOOST_TEST(target.requests().empty());
}

BOOST_AUTO_TEST_SUITE_END()
