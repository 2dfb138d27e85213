#pragma once

#include "options.hpp"
#include "result.hpp"
#include "scenarios.hpp"
#include "versus/peers.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace redlock::bench {

/// A measurement of the scenario `versus`, in which all peers do the same.
struct versus_cell {
    std::size_t nodes = 1;
    std::size_t clients = 1;
    bool one_key = false;  ///< all clients want the same lock; false: each client has its own
    std::chrono::milliseconds hold{0};
    bool stopped = false;              ///< one node is stopped during each measurement
    std::chrono::microseconds rtt{0};  ///< of a proxy before each node; 0: no proxy

    /// "versus: 5 nodes, 32 clients, one key, hold 1 ms".
    std::string name() const;
};

std::vector<versus_cell> versus_cells(options const&);

/** Measures this library, and beside it each of @ref options::peers that can do the same.

    The floor of a peer is this library in the same rounds. A peer that fails gets a result without cycles, which has
    its error among the failures.
*/
std::vector<result> measure_versus(versus_cell const&, options const&, progress const&);

/// The peers whose workers are in the folder of --peers, without this library. Some may be missing.
/// @throws std::runtime_error if --peer names another one
std::vector<peer> find_rivals(options const&);

/// Adds an entry for each peer: its versions, or why it is left out.
void describe(std::vector<peer> const&, std::map<std::string, std::string>& machine);

}  // namespace redlock::bench
