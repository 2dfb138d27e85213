#pragma once

#include "net/url.hpp"

#include <redlock/node.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace redlock::stores::redis {

/// A part of a scan of a cluster: the scan of one master.
struct member_scan {
    net::place where;
    std::shared_ptr<node_operation> operation;
};

/// The next part of scan @p o. The masters are scanned one after the other, in the order of their addresses. A place is
/// an address and the place on that master, such as "10.0.0.1:6379 1792", so that another process can continue. If that
/// master has no slots any more, the scan goes on with the next one. Nothing: all masters were scanned.
std::optional<member_scan> next_scan(std::shared_ptr<node_operation> o, std::vector<net::place> const& masters);

}  // namespace redlock::stores::redis
