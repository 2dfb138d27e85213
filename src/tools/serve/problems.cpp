#include "tools/serve/problems.hpp"

#include "tools/serve/client_loads.hpp"
#include "tools/serve/fields.hpp"

#include <redlock/beast.hpp>

#include <boost/beast/http/field.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;

constexpr char const* right_condition = "If-Match must be *, or entity tags in quotation marks with commas between";

}  // namespace

response forbidden(request const& r, std::string_view what, std::string_view name)
{
    return may_not(r, std::string(what) + " \"" + std::string(name) + '"');
}

response may_not(request const& r, std::string_view what)
{
    return problem(r, http::status::forbidden, "forbidden", "The token does not permit this",
                   "The bearer token does not permit to " + std::string(what) + '.');
}

response unknown_lock(request const& r)
{
    return problem(r, http::status::not_found, "not-held", "The lock is not held",
                   "It was released, has expired, or was lost. Acquire it again.");
}

response bad_id(request const& r)
{
    return problem(r, http::status::not_found, "unknown-lock", "There is no such lock",
                   "The id is not one that the service has returned.");
}

// The time to live of the other lock says nothing about when it is free: it may be extended, or released.
response not_acquired(request const& r, error_code ec, acquire_options const& how, lock const& l)
{
    if (ec != errc::contended)
        return problem_response(r, ec, how, l.report());
    auto a = problem(r, http::status::conflict, "busy", "Another client holds the lock",
                     how.wait.count() > 0 ? "The wait is over. Try again, or do without the lock."
                                          : "Try again, or wait for the lock with wait_ms.");
    a.set(http::field::retry_after, "1");
    return a;
}

response unfinished_release(request const& r, error_code ec)
{
    auto const known = problem_response(r, ec);
    bool const goes_on = ec == errc::no_quorum;
    auto a = problem(r, known.result(), "unavailable", "The release is not confirmed",
                     goes_on
                         ? "Too few nodes have confirmed it in time. The service goes on with it in the background, "
                           "so the lock may be free soon. Until then, it ends with its time to live."
                         : "The service has not released the lock. It ends with its time to live.");
    a.set(http::field::retry_after, known[http::field::retry_after]);
    return a;
}

response not_matching(request const& r)
{
    return problem(r, http::status::precondition_failed, "changed", "The lock has changed",
                   "Its entity tag is not the one of If-Match. Inspect it again.");
}

response bad_request(request const& r, std::string_view why)
{
    return problem(r, http::status::bad_request, "bad-request", "The request is wrong", why);
}

response unauthorized(request const& r)
{
    auto a = problem(r, http::status::unauthorized, "unauthorized", "A bearer token is needed",
                     "The header field Authorization has no token that the service knows.");
    a.set(http::field::www_authenticate, "Bearer");
    return a;
}

response unknown_session(request const& r)
{
    return problem(r, http::status::not_found, "unknown-session", "There is no such session",
                   "It has ended, or belongs to another instance or another client. Open a session, and acquire its "
                   "locks again, or move them by PATCH.");
}

response unknown_path(request const& r)
{
    return problem(r, http::status::not_found, "unknown-path", "There is no such path",
                   "/openapi.json lists the paths and their methods.");
}

response stopping(request const& r)
{
    auto a = problem(r, http::status::service_unavailable, "stopping", "The service ends",
                     "It opens no sessions any more. Try another instance, or this one after its restart.");
    a.set(http::field::retry_after, "1");
    return a;
}

response from_a_page(request const& r)
{
    return problem(
        r, http::status::forbidden, "forbidden", "Pages in browsers need a token",
        "The request has the header field Origin, is from another site, or names a host other than localhost. "
        "Without --token-file, any page could use the locks.");
}

response wrong_method(request const& r, std::string_view allowed)
{
    auto a = problem(r, http::status::method_not_allowed, "wrong-method", "The path has no such method",
                     "The path has the methods " + std::string(allowed) + ".");
    a.set(http::field::allow, allowed);
    return a;
}

response limit_reached(request const& r, std::string_view name, std::string_view what, std::size_t limit,
                       std::string_view option)
{
    return problem(r, http::status::too_many_requests, name, "A limit of the client is reached",
                   "This client may have " + std::to_string(limit) + ' ' + std::string(what)
                       + " at a time on this instance. Let some of them end, or raise " + std::string(option) + ".");
}

response no_turn(request const& r)
{
    return problem(r, http::status::too_many_requests, "too-many-requests", "A limit of the client is reached",
                   "The service makes " + std::to_string(client_loads::lists_max)
                       + " lists of a client at a time, and this one has waited for "
                       + std::to_string(client_loads::turn_wait.count())
                       + " s. Read the answers of the others, and ask for fewer lists at a time.");
}

std::string condition_of(request const& r)
{
    std::string all;
    for (auto [line, end] = r.equal_range(http::field::if_match); line != end; ++line)
        all.append(all.empty() ? "" : ",").append(line->value().data(), line->value().size());
    return all;
}

// RFC 9110, section 13.1.1. A weak entity tag never matches.
bool matches(request const& r, std::function<bool(std::string_view)> const& is_tag)
{
    auto const all = condition_of(r);
    if (r.count(http::field::if_match) == 0 || all == "*")
        return true;
    std::string_view rest = all;
    auto const skip = [&](char const* marks) {
        rest.remove_prefix(std::min(rest.find_first_not_of(marks), rest.size()));
    };
    bool is_met = false, has_tags = false;
    for (skip(" \t,"); !rest.empty(); skip(" \t,")) {
        bool const is_weak = rest.starts_with("W/");
        rest.remove_prefix(is_weak ? 2 : 0);
        auto const end = rest.starts_with('"') ? rest.find('"', 1) : rest.npos;
        if (end == rest.npos)
            throw wrong_field(right_condition);
        is_met = (!is_weak && is_tag(rest.substr(0, end + 1))) || is_met;
        has_tags = true;
        rest.remove_prefix(end + 1);
        skip(" \t");
        if (!rest.empty() && rest.front() != ',')
            throw wrong_field(right_condition);
    }
    if (!has_tags)
        throw wrong_field(right_condition);
    return is_met;
}

}  // namespace redlock::serve
