#pragma once

#include "sim/client.hpp"
#include "sim/server.hpp"

#include <memory>
#include <string>

namespace redlock::sim::gallery {

/// Carries out the commands of the gallery's algorithms: some of Redis, of a database, and of ZooKeeper.
/// @return what `computer::ask` returns
std::string carry_out(server&, std::string const& who, command const&);

using maker = std::unique_ptr<server>(world&, std::size_t index, double rate);

maker plain_redis;         ///< after a crash it is back at once, with or without its keys
maker redis_back_late;     ///< if it has lost its keys, it is back after the longest ttl: "delayed restarts"
maker redis_with_replica;  ///< after a crash, its replica takes its place, and lacks the latest writes
maker sql_database;        ///< loses nothing that it has confirmed
maker zookeeper;           ///< loses nothing confirmed; a new leader begins sessions anew; no wall clock

}  // namespace redlock::sim::gallery
