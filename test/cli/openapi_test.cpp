// /openapi.json: requests made from the document, and the answers of a running service.

#include "cli/described_service.hpp"
#include "cli/openapi_document.hpp"

#include <redlock/detail/http.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::test;
using namespace redlock::test::described;

BOOST_AUTO_TEST_SUITE(openapi)

namespace {

// The response of the operation with this status.
json::object const& response_of(operation const& o, unsigned status)
{
    auto const* const known = o.what.at("responses").as_object().if_contains(std::to_string(status));
    BOOST_TEST_REQUIRE(known, o.title() << " has no response " << status);
    return schemas().resolved(*known);
}

std::set<std::string> types_of(json::object const& media)
{
    std::set<std::string> all;
    for (auto const& [name, example] : media.at("examples").as_object())
        all.insert(text_in(example.at("value").as_object(), "type"));
    return all;
}

// Tests that the document describes the answer: its status, its header and its body.
void must_be_described(operation const& o, one_request const& a)
{
    BOOST_TEST_CONTEXT(o.title() << ": " << a.status() << ' ' << (a.is_stream() ? "" : a.body())) {
        auto const& known = response_of(o, a.status());
        if (auto const* const headers = known.if_contains("headers")) {
            for (auto const& [name, reference] : headers->as_object()) {
                auto const& header = schemas().resolved(reference);
                auto const field = a.headers().find(name);
                BOOST_TEST((field != a.headers().end() || !header.contains("required")), name);
                if (field == a.headers().end())
                    continue;
                auto const text = std::string(field->value());
                bool const is_number = header.at("schema").at("type") == "integer";
                auto const value = is_number ? json::parse(text) : json::value(text);
                BOOST_TEST(schemas().fault_of(value, header.at("schema"), std::string(name)) == "");
            }
        }
        auto const* const content = known.if_contains("content");
        if (!content) {
            BOOST_TEST(a.body() == "");
            return;
        }
        auto const* const media = content->as_object().if_contains(a.content_type());
        BOOST_TEST_REQUIRE(media, a.content_type());
        if (a.content_type().ends_with("json"))
            BOOST_TEST(schemas().fault_of(json::parse(a.body()), media->at("schema")) == "");
        if (a.content_type() == "application/problem+json") {
            BOOST_TEST(types_of(media->as_object()).contains(text_in(a.json(), "type")));
            BOOST_TEST(a.json().at("status").to_number<unsigned>() == a.status());
        }
    }
}

// Tests that the service refuses the request, and that its reason contains @p name.
void must_be_refused(operation const& o, one_request const& a, std::string const& name, std::string const& why)
{
    BOOST_TEST_CONTEXT(o.title() << ", " << why) {
        BOOST_TEST_REQUIRE(!a.is_stream());
        BOOST_TEST(a.status() == 400u, a.body());
        if (a.status() != 400)
            return;
        must_be_described(o, a);
        BOOST_TEST(has(text_in(a.json(), "detail"), name), a.body());
    }
}

std::set<std::string> matches_in(std::string const& text, std::string const& pattern)
{
    std::set<std::string> all;
    std::regex const r(pattern);
    for (std::sregex_iterator m(text.begin(), text.end(), r), end; m != end; ++m)
        all.insert((*m)[1]);
    return all;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(serve_answers_valid_requests_like_the_document, described_service)
{
    for (bool const with_optional : {false, true}) {
        for (auto const& o : operations()) {
            renew();
            auto a = send(o, with_optional, {}, with_token());
            BOOST_TEST(a.status() / 100 == 2u, o.title() << ": " << a.body());
            must_be_described(o, a);
            if (a.is_stream() && !with_optional)  // one that is continued has no events yet
                BOOST_TEST(schemas().fault_of(a.next_event(), document().at_pointer("/components/schemas/event"))
                           == "");
            if (o.name == "acquireLock") {
                auto const id = text_in(a.json(), "id");
                BOOST_TEST(ask(verb::delete_, "/v1/held/" + id).status() == 204u);
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(serve_refuses_wrong_fields_of_bodies_by_name, described_service)
{
    renew();
    for (auto const& o : operations()) {
        if (!o.body_schema())
            continue;
        auto const& schema = schemas().resolved(*o.body_schema());
        auto const refused = [&](json::object const& body, std::string const& name) {
            auto const text = json::serialize(body);
            must_be_refused(o, send(o, false, text, with_token()), name, text.substr(0, 200));
        };
        for (auto const& [name, rules] : schema.at("properties").as_object()) {
            for (auto const& wrong : schemas().wrong_values(rules)) {
                auto body = body_of(o, true);
                body[name] = wrong;
                refused(body, name);
            }
        }
        auto more = body_of(o, true);
        more["further"] = 1;
        refused(more, "further");
        if (auto const* const required = schema.if_contains("required")) {
            for (auto const& name : required->as_array()) {
                auto less = body_of(o, true);
                less.erase(name.as_string());
                refused(less, std::string(name.as_string()));
            }
        }
        for (auto const* const text : {"[]", "5", "null", "{\"", "{} {}", "\xff"})
            must_be_refused(o, send(o, false, text, with_token()), "JSON object", text);
    }
}

BOOST_FIXTURE_TEST_CASE(serve_refuses_wrong_parameters_by_name, described_service)
{
    renew();
    for (auto const& o : operations()) {
        for (auto const& p : parameters_of(o)) {
            auto const& schema = p.what.at("schema");
            auto const type = text_in(schema.as_object(), "type");
            for (auto const& value : schemas().wrong_values(schema)) {
                auto const text = as_text(value);
                bool const is_text_of_number = type != "string" && value.is_string();
                if (type == "string" && !value.is_string())
                    continue;  // each value is a text in a request
                if (p.place() == "path" && text.empty())
                    continue;  // another path
                if (is_text_of_number && !text.empty() && text != "text")
                    continue;
                must_be_refused(o, send(o, false, {}, with_token(), {{p.key, text}}), p.name(), p.name() + '=' + text);
            }
        }
    }
    must_be_refused(operation_named("listLocks"), ask(verb::get, "/v1/locks?from=x"), "from", "from=x");
    must_be_refused(operation_named("listLocks"), ask(verb::get, "/v1/locks?pre=x"), "pre", "pre=x");
}

BOOST_FIXTURE_TEST_CASE(serve_answers_unknown_locks_and_sessions_with_404, described_service)
{
    renew();
    BOOST_TEST(ask(verb::delete_, "/v1/sessions/" + session()).status() == 204u);
    for (auto const& o : operations()) {
        for (auto const& p : parameters_of(o)) {
            if (p.key != "id" && p.key != "session" && p.key != "Last-Event-ID")
                continue;
            for (std::string const text : {"unknown", "unknown.1", "a b", "%"}) {
                auto const a = send(o, false, {}, with_token(), {{p.key, text}});
                BOOST_TEST(a.status() == 404u, o.title() << ' ' << text);
                must_be_described(o, a);
            }
        }
        if (o.body_schema() && o.name != "runBatch") {       // each result of a batch has a status of its own
            auto const a = send(o, true, {}, with_token());  // its session has ended
            BOOST_TEST(a.status() == 404u, o.title() << ' ' << a.body());
            must_be_described(o, a);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(serve_without_nodes_answers_like_the_document, described_service)
{
    renew();
    session();
    kill_servers();
    BOOST_TEST_REQUIRE(comes_true([&] { return ask(verb::get, "/healthz").status() == 503; }));
    for (auto const& o : operations()) {
        auto const a = send(o, false, {}, with_token(), {{"If-Match", "\"0\""}});
        must_be_described(o, a);
        bool const may_need_nodes = o.what.at("responses").as_object().contains("503") && !a.is_stream();
        bool const needs_nodes = may_need_nodes && o.name != "endSession";  // this session has no locks
        BOOST_TEST((a.status() == 503u) == needs_nodes, o.title() << ' ' << a.body());
    }
}

BOOST_FIXTURE_TEST_CASE(serve_answers_other_methods_with_those_of_the_path, described_service)
{
    renew();
    std::map<std::string, std::set<std::string>> methods;
    for (auto const& o : operations())
        methods[o.path].insert(std::string(http::to_string(o.method)));
    for (auto o : operations()) {
        for (auto const other : {verb::get, verb::post, verb::put, verb::patch, verb::delete_, verb::options}) {
            if (methods[o.path].contains(std::string(http::to_string(other))))
                continue;
            o.method = other;
            auto const a = send(o, false, {}, with_token());
            BOOST_TEST(a.status() == 405u, o.title() << ' ' << a.body());
            auto const allowed = matches_in(std::string(a.headers()[http::field::allow]), "([A-Z]+)");
            BOOST_TEST((allowed == methods[o.path]), o.title());
            auto const& media = document().at_pointer("/components/responses/other/content/application~1problem+json");
            BOOST_TEST(schemas().fault_of(a.json(), media.at("schema")) == "");
            BOOST_TEST(types_of(media.as_object()).contains(text_in(a.json(), "type")));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(serve_answers_head_without_a_body, described_service)
{
    auto connection = running().connect();
    for (auto const& [target, status] : {std::pair("/v1/locks", "200"), {"/v1/sessions", "405"}, {"/nowhere", "404"}}) {
        connection.send(verb::head, target, {}, with_token());
        BOOST_TEST(has(connection.read_until("\r\n\r\n"), std::string("HTTP/1.1 ") + status), target);
        BOOST_TEST(connection.ask(verb::get, "/readyz").status == 200u);
    }
}

BOOST_FIXTURE_TEST_CASE(serve_asks_for_tokens_where_the_document_does, described_service)
{
    renew();
    for (auto const& o : operations()) {
        auto const nobody = send(o, false, {}, {});
        BOOST_TEST((nobody.status() == 401u) == o.needs_token(), o.title() << ' ' << nobody.body());
        must_be_described(o, nobody);
        if (o.what.at("responses").as_object().contains("403")) {
            bool const is_for_any_name = o.name == "listLocks" || o.name == "openSession";
            auto const other = send(o, false, {}, is_for_any_name ? with_token_for_metrics() : with_other_token());
            BOOST_TEST(other.status() == 403u, o.title() << ' ' << other.body());
            must_be_described(o, other);
        }
    }
}

BOOST_FIXTURE_TEST_CASE(serve_sends_the_document_itself, described_service)
{
    auto const a = ask(verb::get, "/openapi.json");
    BOOST_TEST(a.status() == 200u);
    BOOST_TEST((json::parse(a.body()) == document()));
}

BOOST_AUTO_TEST_CASE(openapi_document_has_the_paths_of_the_table_in_docs_serve_md)
{
    std::set<std::string> told, known;
    std::ifstream page(REDLOCK_SOURCE "/docs/serve.md");
    for (std::string line; std::getline(page, line);) {
        std::smatch row;
        if (!std::regex_search(line, row, std::regex("^\\| `([A-Z]+) /[^|]*")))
            continue;
        for (auto path : matches_in(row.str(), "(/[^`? ]*)"))
            told.insert(row.str(1) + ' ' + std::regex_replace(path, std::regex("[A-Z]+"), "{}"));
    }
    for (auto const& o : operations())
        known.insert(std::regex_replace(o.title(), std::regex("\\{[a-z]+\\}"), "{}"));
    BOOST_TEST(told == known, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(openapi_document_has_each_problem_of_the_service)
{
    std::set<std::string> made, known;
    for (auto const& file : std::filesystem::directory_iterator(REDLOCK_SOURCE "/src/tools/serve"))
        made.merge(matches_in(text_of(file.path()),
                              "\\b(?:problem|limit_reached)\\([^\"();{]*(?:\\([^()]*\\))?[^\"();{]*\"([a-z-]+)\""));
    for (int e = 1; !make_error_code(static_cast<errc>(e)).message().empty() && e < 50; ++e)
        made.insert(detail::problem_for(static_cast<errc>(e), true, nullptr).name);
    made.insert(detail::problem_for(asio::error::operation_aborted, true, nullptr).name);
    for (auto const& [name, response] : document().at_pointer("/components/responses").as_object()) {
        auto const* const media = response.at("content").as_object().if_contains("application/problem+json");
        if (!media)
            continue;
        for (auto const& type : types_of(media->as_object()))
            known.insert(type.substr(type.rfind(':') + 1));
    }
    BOOST_TEST(made == known, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(openapi_document_has_examples_that_match_its_schemas)
{
    for (auto const& o : operations()) {
        if (o.body_schema())
            BOOST_TEST(schemas().fault_of(o.example(), *o.body_schema()) == "", o.title());
        for (auto const& p : parameters_of(o)) {
            if (auto const* const example = p.what.if_contains("example"))
                BOOST_TEST(schemas().fault_of(*example, p.what.at("schema")) == "", p.name());
        }
        for (auto const& [status, reference] : o.what.at("responses").as_object()) {
            auto const* const content = schemas().resolved(reference).if_contains("content");
            auto const* const media = content ? content->as_object().if_contains("application/problem+json") : nullptr;
            if (!media)
                continue;
            for (auto const& [name, example] : media->at("examples").as_object()) {
                auto const& problem = example.at("value");
                BOOST_TEST(schemas().fault_of(problem, media->at("schema")) == "", name);
                BOOST_TEST((status == "default" || status == "4XX" || status == json::serialize(problem.at("status"))));
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(fault_of_a_value_names_its_place)
{
    auto const all = json::parse(R"({"text":{"type":["string","null"],"maxLength":2},
        "list":{"type":"array","minItems":1,"items":{"$ref":"#/text"}},
        "one":{"oneOf":[{"$ref":"#/text"},{"type":"integer","minimum":3}]},
        "all":{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/list"}}}})");
    json_schema const s(all);
    auto const fault = [&](char const* schema, char const* value) {
        return s.fault_of(json::parse(value), all.at(schema));
    };
    BOOST_TEST(fault("text", "null") == "");
    BOOST_TEST(fault("text", R"("äö")") == "");
    BOOST_TEST(has(fault("text", R"("abc")"), "maxLength"));
    BOOST_TEST(has(fault("text", "1"), "type"));
    BOOST_TEST(has(fault("list", "[]"), "minItems"));
    BOOST_TEST(has(fault("list", R"(["a",1])"), "/1 is 1"));
    BOOST_TEST(fault("one", "3") == "");
    BOOST_TEST(fault("one", "3.0") == "");
    BOOST_TEST(has(fault("one", "2"), "oneOf"));
    BOOST_TEST(has(fault("all", "{}"), "required"));
    BOOST_TEST(has(fault("all", R"({"a":["b"],"c":1})"), "/c is not listed"));
    BOOST_TEST(has(fault("all", R"({"a":[7]})"), "/a/0 is 7"));
    BOOST_CHECK_THROW(s.fault_of(1, json::parse(R"({"multipleOf":2})")), std::invalid_argument);
    for (auto const& wrong : s.wrong_values(all.at("one")))
        BOOST_TEST(!s.fault_of(wrong, all.at("one")).empty());
}

BOOST_AUTO_TEST_SUITE_END()
