#pragma once

#include "tools/redlock/locks/lock_source.hpp"

#include <redlock/inspect.hpp>

#include <redlock/mode.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// A document of a service that lacks a field, or whose field has another type or an impossible value. Or the document
/// is about another lock than the one that was asked for.
struct wrong_document : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// All functions throw wrong_document.

std::string text_of(boost::json::object const&, std::string_view name);     ///< empty: the field is null
std::int64_t number_of(boost::json::object const&, std::string_view name);  ///< from 0 on
std::vector<std::string> texts_of(boost::json::object const&, std::string_view name);

/// Locks that a service has acquired or extended.
struct service_grant {
    std::string id{};  ///< printable ASCII
    std::vector<std::string> resources{};
    std::uint64_t fencing_token = 0;
    std::chrono::milliseconds valid_for{0};  ///< at most the ttl
    std::chrono::milliseconds waited{0};     ///< the service may claim any time
};

/// @param names, mode, ttl  what was asked for
service_grant grant_in(boost::json::object const&, std::span<std::string const> names, redlock::mode mode,
                       std::chrono::milliseconds ttl);

/// The state of the lock @p name. The service does not tell the values of the nodes, so nodes with the same holder get
/// the same made-up value.
lock_info lock_in(boost::json::object const&, std::string_view name);

/// @param from  where the page begins; the next page begins elsewhere
lock_page page_in(boost::json::object const&, std::string_view from);

/// The result of a break of the lock @p name on each node.
std::vector<node_break_info> breaks_in(boost::json::object const&, std::string_view name);

}  // namespace redlock::cli
