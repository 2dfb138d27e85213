#include "cli/named_nodes.hpp"

#include "net/url.hpp"

#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/algorithm/string/case_conv.hpp>

#include <algorithm>
#include <stdexcept>

namespace redlock::cli {

std::vector<named_node> named_nodes(config const& settings)
{
    std::vector<named_node> all;
    for (auto const& url : settings.nodes) {
        auto const scheme = boost::algorithm::to_lower_copy(url.substr(0, url.find("://")));
        auto const knows = [&](store const& s) { return std::ranges::find(s.schemes, scheme) != s.schemes.end(); };
        auto const of_store = std::ranges::find_if(settings.stores, knows);
        if (of_store == settings.stores.end()) {
            auto const parsed = redis::parse_url(url);
            all.push_back({.name = parsed.name(), .database = parsed.database});
            continue;
        }
        try {
            auto const made = of_store->make(url, settings, {.claim = [](auto&, auto&) { return std::string(); }});
            all.push_back({.name = made->name(), .ends_with_session = made->limits().ends_with_session});
        } catch (std::invalid_argument const&) {
        }
    }
    return all;
}

}  // namespace redlock::cli
