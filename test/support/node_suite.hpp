#pragma once

#include <redlock/testing/node_suite.hpp>

#include <exception>
#include <string>
#include <vector>

namespace redlock::test {

/// The names of the cases that fail for nodes of this kind, with their errors.
inline std::vector<std::string> failed_cases(testing::node_kind const& kind)
{
    std::vector<std::string> failed;
    for (auto const& c : testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            failed.push_back(std::string(c.name) + ": " + e.what());
        }
    }
    return failed;
}

}  // namespace redlock::test
