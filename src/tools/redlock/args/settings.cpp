#include "tools/redlock/args/settings.hpp"

#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/server_place.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace redlock::cli {

bool settings::has_color(int descriptor) const
{
    if (color != when::automatically)
        return color == when::always;
    return in_environment("NO_COLOR").empty() && ::isatty(descriptor) != 0;
}

std::string with_password(std::string const& url, std::string const& password)
{
    auto const mark = url.find("://");
    auto const begin = mark == url.npos ? 0 : mark + 3;
    auto const end = std::min(url.find_first_of("/?", begin), url.size());
    auto const at = url.rfind('@', end);
    bool const has_user = at != url.npos && at >= begin;
    if (has_user && url.find(':', begin) < at)
        return url;
    auto const scheme = mark == url.npos ? std::string("redis://") : url.substr(0, begin);
    auto const user = has_user ? url.substr(begin, at - begin) : std::string();
    return fmt::format("{}{}:{}@{}", scheme, user, percent_encoded(password), url.substr(has_user ? at + 1 : begin));
}

}  // namespace redlock::cli
