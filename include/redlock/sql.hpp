#pragma once

#include <string>
#include <vector>

namespace redlock::inline v1 {

/// A statement with parameters, to execute with your own client library.
struct sql_statement {
    std::string text{};                     ///< The statement, with placeholders for the parameters.
    std::vector<std::string> parameters{};  ///< In the order of their placeholders, each as text.
};

}  // namespace redlock
