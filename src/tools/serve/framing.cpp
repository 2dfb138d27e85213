#include "tools/serve/framing.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/field.hpp>

#include <string>
#include <string_view>

namespace redlock::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using http::field;

std::string_view value_of(request const& r, field name)
{
    auto const found = r.find(name);
    return found == r.end() ? std::string_view() : std::string_view(found->value());
}

std::string_view without_port(std::string_view host)
{
    auto const bracket = host.rfind(']');
    auto const colon = host.find(':', bracket == host.npos ? 0 : bracket);
    host = host.substr(0, colon);
    return host.starts_with('[') && host.ends_with(']') ? host.substr(1, host.size() - 2) : host;
}

bool is_local_name(std::string_view host)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address(std::string(host), ec);
    return !ec || beast::iequals(host, "localhost");
}

}  // namespace

std::optional<response> refusal_of_framing(request const& r)
{
    auto const refuse = [&](http::status status, std::string_view why) {
        return problem(r, status, "bad-request", "The request is wrong", why);
    };
    if (r.version() >= 11 && r.count(field::host) != 1)
        return refuse(http::status::bad_request, "The request must have one header field Host.");
    if (auto const codings = r.count(field::transfer_encoding); codings > 0) {
        if (codings > 1 || r.version() < 11 || r.count(field::content_length) > 0)
            return refuse(http::status::bad_request,
                          "The request must have one header field Transfer-Encoding, or Content-Length.");
        if (!beast::iequals(value_of(r, field::transfer_encoding), "chunked"))
            return refuse(http::status::not_implemented, "Transfer-Encoding must be chunked.");
    }
    if (r.count(field::expect) > 0 && !beast::iequals(value_of(r, field::expect), "100-continue"))
        return refuse(http::status::expectation_failed, "Expect must be 100-continue.");
    return std::nullopt;
}

bool may_be_from_a_page(request const& r, bool is_local)
{
    auto const site = value_of(r, field::sec_fetch_site);
    return r.count(field::origin) > 0 || beast::iequals(site, "cross-site") || beast::iequals(site, "same-site")
           || (is_local && r.count(field::host) > 0 && !is_local_name(without_port(value_of(r, field::host))));
}

}  // namespace redlock::serve
