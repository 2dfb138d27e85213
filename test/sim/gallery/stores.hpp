#pragma once

#include "sim/client.hpp"
#include "sim/server.hpp"

#include <memory>
#include <string>

namespace redlock::sim::gallery {

/// What a server does with what the algorithms of the gallery send: a little of Redis, of a database, and of ZooKeeper.
/// @return what `computer::ask` returns
std::string carry_out(server&, std::string const& who, command const&);

using maker = std::unique_ptr<server>(world&, std::size_t index, double rate);

maker plain_redis;         ///< after a crash it is back at once: with its keys, or without them
maker redis_back_late;     ///< one that has lost its keys is back after the longest lock is over: "delayed restarts"
maker redis_with_replica;  ///< after a crash its replica is in its place, which has heard of everything a little later
maker sql_database;        ///< loses nothing that it has confirmed
maker zookeeper;           ///< likewise; sessions begin anew with a new leader, and follow no time of day

}  // namespace redlock::sim::gallery
