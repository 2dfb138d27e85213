#pragma once

#include "core/validity.hpp"
#include "quorum/admission.hpp"
#include "quorum/node_set.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace redlock::inline v1::quorum {

using contender_name = std::shared_ptr<std::string const>;

/// The state that the rounds of one manager share. On the strand.
struct quorum_state {
    runtime::runtime& runtime;
    manager_options const& settings;
    events::member_counters<stats>& count;
    contender_name const contender;  ///< identifies this manager in the nodes' lists of waiting clients
    node_set nodes;
    redlock::quorum::admission admission;
    bool closed = false;  ///< no round asks the nodes any more

    /// How long, from now on, a key with @p ttl may exist on a node.
    clock::duration key_lifetime(std::chrono::milliseconds ttl) const
    {
        return ttl + core::drift(ttl, settings.drift_factor);
    }
};

}  // namespace redlock::quorum
