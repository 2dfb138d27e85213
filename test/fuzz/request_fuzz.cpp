// A client of the service may send any bytes, in any pieces.

#include "fuzz/must.hpp"
#include "tools/serve/access.hpp"
#include "tools/serve/answers.hpp"
#include "tools/serve/fields.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/target.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/json/parse.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::serve;
using namespace std::chrono_literals;

namespace {

namespace http = boost::beast::http;

// The requests of one connection, up to the first error.
std::vector<request> requests_in(std::string_view bytes, std::size_t piece)
{
    std::vector<request> all;
    std::string unread;
    std::optional<http::request_parser<http::string_body>> parser;
    while (!bytes.empty()) {
        unread += bytes.substr(0, piece);
        bytes.remove_prefix(std::min(piece, bytes.size()));
        while (!unread.empty()) {
            if (!parser) {
                parser.emplace();
                parser->header_limit(512);
                parser->body_limit(1024);
                parser->eager(true);
            }
            boost::system::error_code ec;
            auto const used = parser->put(boost::asio::buffer(unread), ec);
            unread.erase(0, used);
            if (ec == http::error::need_more)
                break;
            if (ec)
                return all;
            if (!parser->is_done()) {
                if (used == 0)
                    break;
                continue;
            }
            all.push_back(parser->release());
            must(all.back().body().size() <= 1024, "a body exceeds the limit");
            parser.reset();
        }
    }
    return all;
}

void check_same(std::vector<request> const& a, std::vector<request> const& b)
{
    must(a.size() == b.size(), "the number of requests depends on the pieces");
    for (std::size_t i = 0; i < a.size(); ++i)
        must(a[i].method_string() == b[i].method_string() && a[i].target() == b[i].target()
                 && a[i].body() == b[i].body(),
             "a request depends on the pieces");
}

void check_refusal(request const& r, std::string_view why)
{
    auto const answer = problem(r, http::status::bad_request, "bad-request", "The request is wrong", why);
    boost::system::error_code ec;
    auto const document = boost::json::parse(answer.body(), ec);
    must(!ec && document.is_object(), "a refusal is not JSON");
    must(document.as_object().at("detail").as_string().size() <= 3 * why.size(), "a refusal is too long");
}

void check_id(std::string_view text)
{
    static lock_ids const ids({"0123456789abcdef"}), others({"fedcba9876543210"});
    must(!ids.ticket_of(text), "an id was accepted that nobody has made");
    text = text.substr(0, 16);  // each piece of the input is such a text
    lock_ticket const t{.resources = std::string(text), .token = std::string(text), .fencing_token = text.size()};
    auto const id = ids.id_of(t);
    must(ids.ticket_of(id) == t, "the id of a ticket is another ticket");
    must(!others.ticket_of(id), "an id was accepted that another service has made");
}

void check_target(request const& r)
{
    auto const t = target::read(r.target());
    if (!t)
        return;
    std::size_t size = 0;
    for (auto const& part : t->path) {
        size += part.size();
        check_id(part);
    }
    for (auto const& [name, value] : t->query)
        size += name.size() + value.size();
    must(size <= r.target().size(), "a decoded target is longer than its text");
}

void check_fields(request const& r)
{
    try {
        fields const body(r.body(), {"resources", "ttl_ms", "wait_ms", "mode", "note", "session"});
        auto const ttl = body.milliseconds("ttl_ms", 10s), wait = body.milliseconds("wait_ms", 0ms);
        must(ttl >= 0ms && ttl <= 24h && wait >= 0ms && wait <= 24h, "a time out of range was accepted");
        body.text("mode");
        body.text("note");
        body.word("session");
        must(!body.texts("resources").empty(), "a request without a name was accepted");
    } catch (wrong_field const& e) {
        check_refusal(r, e.what());
    }
}

void check_access(request const& r)
{
    static auto const tokens = access::read("0123456789abcdef jobs/ lock,read\n");
    auto const given = r[http::field::authorization];
    bool const is_known = given.ends_with(" 0123456789abcdef")
                          && boost::beast::iequals(given.substr(0, given.find(' ') + 1), "bearer ")
                          && given.size() == std::string_view("Bearer 0123456789abcdef").size();
    must(tokens.knows(given) == is_known, "a wrong token was accepted, or the right one was not");
    auto const client = tokens.client_of(given);
    must(tokens.permits(client, &grant::locks, "jobs/7") == is_known, "a token does not permit what it should");
    must(!tokens.permits(client, &grant::locks, "other") && !tokens.permits(client, &grant::breaks, "jobs/7"),
         "a token permits what it should not");
    try {
        access::read(r.body());
    } catch (std::exception const& e) {
        check_refusal(r, e.what());
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    std::string_view const bytes(reinterpret_cast<char const*>(data), size);
    auto const all = requests_in(bytes, bytes.size());
    check_same(all, requests_in(bytes, 7));
    for (auto const& r : all) {
        check_target(r);
        check_fields(r);
        check_access(r);
    }
    check_id(bytes);
    return 0;
}
