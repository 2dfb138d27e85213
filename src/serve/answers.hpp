#pragma once

#include "serve/lock_ids.hpp"

#include <redlock/report.hpp>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json/object.hpp>

#include <string_view>

namespace redlock::serve {

using request = boost::beast::http::request<boost::beast::http::string_body>;
using response = boost::beast::http::response<boost::beast::http::string_body>;

/// A response with a JSON document, or without a body if the document is empty.
response document(request const& to, boost::beast::http::status, boost::json::object const& = {});

/// A problem (RFC 9457) of the client. @param name the last part of its type, such as "unknown-lock"
response problem(request const& to, boost::beast::http::status, std::string_view name, std::string_view title,
                 std::string_view detail);

/// A client that waits for a lock.
boost::json::object json_of(waiting_info const&);

/// The state of a lock, without the values that would release it.
boost::json::object json_of(lock_info const&, lock_ids const&);

/// A page of a list: its locks, the place of the next page, and which nodes have listed all their locks.
boost::json::object json_of(lock_page const&, lock_ids const&);

/// The result of a break on each node.
boost::json::object json_of(break_info const&);

/// The entity tag of the holders of a lock: another one if somebody else holds it. It has quotation marks.
std::string etag_of(lock_info const&, lock_ids const&);

/// Whether this is the entity tag by one of the keys: another instance may have made it.
bool has_etag(lock_info const&, lock_ids const&, std::string_view tag);

}  // namespace redlock::serve
