#pragma once

#include <redlock/config.hpp>

#include <string>
#include <vector>

namespace redlock::cli {

/// One of `config::nodes`.
struct named_node {
    std::string name{};              ///< without user and password
    int database = 0;                ///< of Redis or Valkey
    bool ends_with_session = false;  ///< see `node_limits::ends_with_session`
};

/// The nodes of @p settings, without a connection. A URL that is wrong is left out: the manager refuses it.
std::vector<named_node> named_nodes(config const& settings);

}  // namespace redlock::cli
