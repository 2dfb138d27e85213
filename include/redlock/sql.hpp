#pragma once

#include <string>
#include <vector>

namespace redlock {

/// A statement for a client library of yours.
struct sql_statement {
    std::string text{};
    std::vector<std::string> parameters{};  ///< in the order of their places, each as text
};

}  // namespace redlock
