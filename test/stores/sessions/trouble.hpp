#pragma once

#include "stores/store.hpp"
#include "support/fake_server.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <utility>

namespace redlock::test {

/// The report about a node with a faulty address.
inline node_report trouble_with(std::string const& url, manager_options special = {})
{
    real_servers r(0);
    auto const tried = r.attempt(on(url, std::move(special)), {.wait = 300ms});
    BOOST_TEST((tried.ec == errc::no_quorum));
    return trouble_of(tried);
}

/// The report about a server that answers every request with @p words.
inline node_report trouble_with_answer(std::string const& words)
{
    real_servers r(0);
    fake_server fake(r.context, [&](std::string_view) { return words; });
    auto const url = this_store::scheme + fake.url().substr(5) + "?timeout=100ms";
    auto const tried = r.attempt(on(url, {.connect_timeout = 100ms}), {.wait = 300ms});
    BOOST_TEST((tried.ec == errc::no_quorum));
    return trouble_of(tried);
}

inline bool says(node_report const& n, std::string const& words)
{
    BOOST_TEST_INFO(n.message);
    return n.message.find(words) != std::string::npos;
}

}  // namespace redlock::test
