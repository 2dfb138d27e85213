#pragma once

#include "core/validity.hpp"
#include "quorum/node_set.hpp"

#include <chrono>
#include <string>

namespace redlock::detail {

/// What the rounds of one manager have in common. On the strand.
struct quorum {
    detail::runtime& runtime;
    config const& settings;
    std::string const contender;  ///< by which the nodes know this manager among those that want a lock
    node_set nodes;
    bool closed = false;          ///< nothing is asked any more

    /// For how long, from now on, a key with @p ttl may exist on a node.
    clock::duration key_lifetime(std::chrono::milliseconds ttl) const { return ttl + core::drift(ttl, settings.drift_factor); }
};

}  // namespace redlock::detail
