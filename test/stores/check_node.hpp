#pragma once

#include "stores/store.hpp"
#include "support/node_suite.hpp"

#include <redlock/manager_options.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>

namespace redlock::test {

/// Runs the node suite. The connect timeout is long, because a connection may take seconds on a busy machine.
inline void check_node(std::string const& url)
{
    auto kind = this_store::kind();
    kind.make = [url] { return make_node(url, {.connect_timeout = std::chrono::seconds(10)}); };
    for (auto const& f : failed_cases(kind))
        BOOST_ERROR(f);
}

}  // namespace redlock::test
