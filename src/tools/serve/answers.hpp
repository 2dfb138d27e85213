#pragma once

#include "tools/serve/answer_sizes.hpp"
#include "tools/serve/lock_ids.hpp"

#include <redlock/inspect.hpp>

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/status.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::serve {

using request = boost::beast::http::request<boost::beast::http::string_body>;
using response = boost::beast::http::response<boost::beast::http::string_body>;

/// A response with a JSON document, or without a body if the document is empty.
response document(request const& to, boost::beast::http::status, boost::json::object const& = {});

/// A response with a JSON document that is text already, or without a body if the text is empty.
response document_of(request const& to, boost::beast::http::status, std::string text);

/** The elements of a list in an answer. The answer must not have many more than @ref page_bytes, so the client gets the
    rest from the next page.
*/
class json_list {
public:
    void add(boost::json::object const& element)
    {
        text_.append(size_++ == 0 ? "" : ",").append(boost::json::serialize(element));
    }
    std::size_t size() const noexcept { return size_; }
    std::size_t bytes() const noexcept { return text_.size(); }
    bool is_full() const noexcept { return bytes() >= page_bytes; }

    /// An answer that begins with the list.
    /// @param name of the list @param rest of the fields; at least one
    response page(request const& to, std::string_view name, boost::json::object const& rest) const;

private:
    std::string text_;
    std::size_t size_ = 0;
};

/// A problem (RFC 9457) of the client. @param name the last part of its type, such as "unknown-lock"
response problem(request const& to, boost::beast::http::status, std::string_view name, std::string_view title,
                 std::string_view detail);

/// A client that waits for a lock.
boost::json::object json_of(waiting_info const&);

/// The state of a lock, without the values that would release it.
boost::json::object json_of(lock_info const&, lock_ids const&);

/// Which nodes have listed all their locks.
boost::json::array json_of(std::vector<node_list_info> const&);

/// The result of a break on each node.
boost::json::object json_of(break_info const&);

/// The entity tag of the holders of a lock: another one if somebody else holds it. It has quotation marks.
std::string etag_of(lock_info const&, lock_ids const&);

/// Whether this is the entity tag by one of the keys: another instance may have made it.
bool has_etag(lock_info const&, lock_ids const&, std::string_view tag);

}  // namespace redlock::serve
