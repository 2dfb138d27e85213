#pragma once

#include "net/url.hpp"
#include "stores/redis/inquiry.hpp"
#include "stores/redis/link.hpp"

#include <redlock/config.hpp>

#include <memory>

namespace redlock::redis {

/** The way to whichever server the Sentinels call the master.

    They are asked before each connection, and once a second: as soon as one of them names another server, the connection is ended, and so
    it is when the server says that it is a replica now.
*/
std::shared_ptr<link> make_sentinel_link(url const&, config const&, link_factory);

}  // namespace redlock::redis
