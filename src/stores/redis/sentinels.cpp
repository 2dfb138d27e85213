#include "stores/redis/sentinels.hpp"

#include "net/url_text.hpp"

#include <fmt/format.h>

namespace redlock::redis {

std::vector<url> sentinels_of(url const& u)
{
    std::vector<url> all;
    for (auto const& p : u.asked) {
        auto sentinel = u.of(p);
        sentinel.user = u.sentinel_user;
        sentinel.password = u.sentinel_password;
        sentinel.database = 0;
        all.push_back(std::move(sentinel));
    }
    return all;
}

redis::request ask_for_master(std::string_view service)
{
    redis::request r;
    r.push("SENTINEL", "GET-MASTER-ADDR-BY-NAME", service);
    return r;
}

node_reply read_master(reply const& answer, std::string_view service, place& master)
{
    if (answer.is_error()) {
        auto r = interpret_error(answer.text);
        if (r.error == errc::server_error && r.untouched)
            return {.error = errc::unsupported_server, .text = "this is no Sentinel"};
        return r;
    }
    if (answer.type == redlock::redis::resp::type::null)
        return {.error = errc::node_unreachable, .text = fmt::format("it knows no master by the name \"{}\"", service)};
    if (answer.elements.size() != 2)
        return {.error = errc::unexpected_reply, .text = "it does not tell an address"};
    auto const& host = answer.elements[0];
    auto const port = to_number(answer.elements[1], 1, 65'535);
    if (host.empty() || !(is_host_name(host) || is_v6_address(host)) || !port)
        return {.error = errc::unexpected_reply, .text = "what it tells is no address"};
    master = {host, std::to_string(*port)};
    return {};
}

bool is_deposed(reply const& r) noexcept
{
    return r.is_error() && r.text.starts_with("READONLY");
}

}  // namespace redlock::redis
