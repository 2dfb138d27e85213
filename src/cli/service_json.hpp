#pragma once

#include "cli/lock_source.hpp"

#include <redlock/report.hpp>

#include <boost/json/object.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// A document of a service that lacks a field, or whose field has another type.
struct wrong_document : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// All functions throw wrong_document.

std::string text_of(boost::json::object const&, std::string_view name);  ///< empty: the field is null
std::int64_t number_of(boost::json::object const&, std::string_view name);
std::vector<std::string> texts_of(boost::json::object const&, std::string_view name);

/// The state of a lock. The service does not tell the values of the nodes, so nodes with the same holder get the same
/// made-up value.
lock_info lock_in(boost::json::object const&);

lock_page page_in(boost::json::object const&);

/// The result of a break on each node.
std::vector<node_break_info> breaks_in(boost::json::object const&);

}  // namespace redlock::cli
