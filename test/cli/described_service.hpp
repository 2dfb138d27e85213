#pragma once

#include "cli/openapi_document.hpp"
#include "cli/running_service.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::test::described {

inline std::string encoded(std::string_view text)
{
    std::string all;
    for (unsigned char const c : text)
        all += std::isalnum(c) ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
    return all;
}

inline std::string as_text(json::value const& v)
{
    return v.is_string() ? std::string(v.get_string()) : json::serialize(v);
}

/// A connection for one request. It reads a stream of events one by one.
class one_request {
public:
    one_request(service const& s, verb method, std::string const& target, std::string body, http_headers const& headers)
        : socket_(context_)
    {
        socket_.connect(s.endpoint());
        http::request<http::string_body> r(method, target, 11);
        r.set(http::field::host, "localhost");
        for (auto const& [name, value] : headers)
            r.set(name, value);
        r.body() = std::move(body);
        r.prepare_payload();
        http::write(socket_, r);
        http::read_header(socket_, input_, answer_);
        if (!is_stream())
            http::read(socket_, input_, answer_);
    }

    unsigned status() const { return answer_.get().result_int(); }
    std::string const& body() const { return answer_.get().body(); }
    json::object json() const { return json::parse(body()).as_object(); }
    http::fields const& headers() const { return answer_.get(); }

    std::string content_type() const
    {
        std::string const type(headers()[http::field::content_type]);
        return type.substr(0, type.find(';'));
    }

    bool is_stream() const { return content_type() == "text/event-stream"; }

    /// The next event: its fields, and `data` as JSON.
    json::object next_event()
    {
        for (;;) {
            auto& text = answer_.get().body();
            auto const end = text.find("\n\n");
            if (end == text.npos) {
                http::read_some(socket_, input_, answer_);
                continue;
            }
            std::istringstream lines(text.substr(0, end));
            text.erase(0, end + 2);
            json::object event;
            for (std::string line; std::getline(lines, line);) {
                auto const colon = line.find(": ");
                if (colon == 0 || colon == line.npos)  // a comment
                    continue;
                auto const name = line.substr(0, colon), value = line.substr(colon + 2);
                event[name] = name == "data" ? json::parse(value) : json::value(value);
            }
            if (!event.empty())
                return event;
        }
    }

private:
    asio::io_context context_;
    asio::generic::stream_protocol::socket socket_;
    boost::beast::flat_buffer input_;
    http::response_parser<http::string_body> answer_;
};

/// A service with tokens, and what its requests need: a lock, a session.
class described_service {
public:
    described_service()
    {
        write_secret(folder_.path + "/tokens", all_ + " * lock,read,break,metrics\n" + other_
                                                   + " other/ lock,read,break\n" + watch_ + " * metrics\n");
        running_.emplace(servers_, std::vector<std::string>{"--token-file", folder_.path + "/tokens"});
    }

    http_headers with_token() const { return {{"Authorization", "Bearer " + all_}}; }
    http_headers with_other_token() const { return {{"Authorization", "Bearer " + other_}}; }
    http_headers with_token_for_metrics() const { return {{"Authorization", "Bearer " + watch_}}; }

    one_request ask(verb method, std::string const& target, std::string body = {}) const
    {
        return one_request(*running_, method, target, std::move(body), with_token());
    }

    /// Makes what the next requests are about: another lock.
    void renew()
    {
        name_ = fmt::format("jobs/of/test/{}", ++number_);
        auto const won = ask(verb::post, "/v1/locks",
                             fmt::format(R"({{"resources":["{}"],"ttl_ms":60000,"wait_ms":60000}})", name_));
        BOOST_TEST_REQUIRE(won.status() == 201u, won.body());
        id_ = text_in(won.json(), "id");
        etag_ = std::string(won.headers()[http::field::etag]);
        stream_.reset();
    }

    std::string session()
    {
        if (!stream_) {
            stream_.emplace(*running_, verb::post, "/v1/sessions", R"({"grace_ms":60000})", with_token());
            session_ = text_in(stream_->next_event().at("data").as_object(), "session");
        }
        return session_;
    }

    /// A valid value of a parameter. Empty: the document has to know one.
    std::optional<std::string> value_of(parameter const& p)
    {
        if (p.key == "name")
            return name_;
        if (p.key == "id")
            return id_;
        if (p.key == "condition")
            return etag_;
        if (p.key == "session")
            return session();
        if (p.key == "Last-Event-ID")
            return session() + ".1";
        if (p.key == "If-Match")
            return std::string(ask(verb::get, "/v1/locks/" + encoded(name_)).headers()[http::field::etag]);
        if (p.key == "Idempotency-Key")
            return fmt::format("key {}", ++number_);
        if (auto const* const example = p.what.if_contains("example"))
            return as_text(*example);
        return std::nullopt;
    }

    /// Sends a request. @param given values in place of valid ones, by the key of the parameter
    one_request send(operation const& o, bool with_optional, std::optional<std::string> body, http_headers headers,
                     std::map<std::string, std::string> const& given = {})
    {
        auto target = o.path;
        std::string query;
        for (auto const& p : parameters_of(o)) {
            auto const wrong = given.find(p.key);
            bool const stands_alone = p.place() == "query" && p.name() == "name";
            if (wrong == given.end() && !p.is_required() && (!with_optional || stands_alone))
                continue;
            auto const value = wrong == given.end() ? value_of(p) : std::optional(wrong->second);
            if (!value)
                continue;
            if (p.place() == "path")
                target.replace(target.find('{' + p.name() + '}'), p.name().size() + 2, encoded(*value));
            else if (p.place() == "query")
                query += (query.empty() ? "?" : "&") + p.name() + '=' + encoded(*value);
            else
                headers.emplace_back(p.name(), *value);
        }
        if (!body && o.body_schema())
            body = json::serialize(body_of(o, with_optional));
        return one_request(*running_, o.method, target + query, body.value_or(""), headers);
    }

    /// A valid body: the example of the document, or only what a request must have.
    json::object body_of(operation const& o, bool with_optional)
    {
        auto body = o.example();
        auto const& schema = schemas().resolved(*o.body_schema());
        if (with_optional && schema.at("properties").as_object().contains("session"))
            body["session"] = session();
        if (with_optional)
            return body;
        json::object least;
        if (auto const* const required = schema.if_contains("required")) {
            for (auto const& name : required->as_array())
                least[name.as_string()] = body.at(name.as_string());
        }
        return least;
    }

    service& running() { return *running_; }

    /// Kills the servers. The service continues.
    void kill_servers()
    {
        for (auto& s : servers_.servers)
            s->kill();
    }

private:
    std::string const all_ = "token-of-test-0123456789", other_ = "token-of-other-0123456789",
                      watch_ = "token-of-metrics-0123456789";
    real_servers servers_{3};
    testbed::temporary_folder folder_;
    std::optional<service> running_;
    std::optional<one_request> stream_;
    std::string name_{}, id_{}, etag_{}, session_{};
    int number_ = 0;
};

}  // namespace redlock::test::described
