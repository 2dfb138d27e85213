#pragma once

#include <cstddef>
#include <memory>

namespace redlock::sim {

class server;
class world;

// Servers of other stores than Redis, and their nodes.

std::unique_ptr<server> make_database(world&, std::size_t index, double rate);
std::unique_ptr<server> make_cluster(world&, std::size_t index, double rate);

}  // namespace redlock::sim
