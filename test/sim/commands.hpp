#pragma once

#include "sim/client.hpp"
#include "stores/redis/reply.hpp"

#include <redlock/clock.hpp>

#include <memory>

namespace redlock::sim {

class server;

/// What a Redis server does with the commands that the library sends, and what it answers.
/// @param sent when, in true time
stores::redis::reply carry_out(server&, std::shared_ptr<client> const& from, command const&, clock::time_point sent);

}  // namespace redlock::sim
