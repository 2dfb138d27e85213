#pragma once

#include "net/url.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/config.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

// What Sentinels are asked, and what their answers mean.

/// The Sentinels that @p u names, with who we are to them.
std::vector<net::url> sentinels_of(net::url const& u);

/// Who is the master of that name?
redis::request ask_for_master(std::string_view service);

/// @return with an error: why the answer does not help; otherwise @p master is where it listens
node_reply read_master(reply const& answer, std::string_view service, net::place& master);

/// Whether the server refuses because it is not the master any more: another one should be asked for.
bool is_deposed(reply const&) noexcept;

/** The way to whichever server the Sentinels call the master.

    They are asked before each connection, and once a second: as soon as one of them names another server, the
    connection is ended, and so it is when the server says that it is a replica now.
*/
std::shared_ptr<link> make_sentinel_link(net::url const&, config const&, link_factory);

}  // namespace redlock::stores::redis
