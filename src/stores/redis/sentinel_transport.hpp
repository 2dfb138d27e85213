#pragma once

#include "net/url.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/manager_options.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

// The questions to Sentinels, and the meaning of the answers.

/// The Sentinels in @p u, with their user and password.
std::vector<net::url> sentinels_of(net::url const& u);

/// Asks for the address of the master that is named @p service.
redis::request ask_for_master(std::string_view service);

/// Reads the address of the master. @return with an error: why the answer is of no use
node_reply read_master(reply const& answer, std::string_view service, net::place& master);

/// Whether the server refused because it is not the master any more. Then the client must ask for the new master.
bool is_deposed(reply const&) noexcept;

/** A transport to the server that the Sentinels name as the master.

    It asks the Sentinels before each connection, and once a second. The transport ends the connection if a Sentinel
   names another server, or if the server says that it is a replica now (failover).
*/
std::shared_ptr<transport> make_sentinel_transport(net::url const&, manager_options const&, transport_factory);

}  // namespace redlock::stores::redis
