#pragma once

#include "sim/client.hpp"
#include "stores/redis/reply.hpp"

#include <redlock/clock.hpp>

#include <memory>

namespace redlock::sim {

class server;

/// Carries out a command of the library as a Redis server does, and returns the reply.
/// @param sent when the command was sent, in true time
stores::redis::reply carry_out(server&, std::shared_ptr<client> const& from, command const&, clock::time_point sent);

}  // namespace redlock::sim
