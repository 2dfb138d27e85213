#pragma once

#include "tools/serve/answers.hpp"

#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/options.hpp>

#include <cstddef>
#include <functional>
#include <string_view>

namespace redlock::serve {

/// The bearer token does not permit to @p what the lock @p name.
response forbidden(request const&, std::string_view what, std::string_view name);

/// The bearer token does not permit to @p what.
response may_not(request const&, std::string_view what);

response unknown_lock(request const&);  ///< the lock is not held
response bad_id(request const&);        ///< the text is not the id of a lock
response not_matching(request const&);  ///< the condition If-Match is not met
/// The acquisition has failed. @param how its options @param l the empty lock
response not_acquired(request const&, error_code, acquire_options const& how, lock const& l);

/// Too few nodes have confirmed the release.
response unfinished_release(request const&, error_code);

response bad_request(request const&, std::string_view why);

response unauthorized(request const&);     ///< there is no such bearer token
response unknown_session(request const&);  ///< there is no such session here
response unknown_path(request const&);
response from_a_page(request const&);  ///< a page in a browser has sent the request, and no token is needed
response stopping(request const&);     ///< the service ends, and opens no sessions

/// The path has other methods. @param allowed their names, with commas between
response wrong_method(request const&, std::string_view allowed);

/// The client has reached a limit of this instance. @param name "too-many-locks" @param what "locks"
response limit_reached(request const&, std::string_view name, std::string_view what, std::size_t limit,
                       std::string_view option);

/// The turn of the client to make a list has not come in time.
response no_turn(request const&);

/// The condition If-Match of the request, which may have several lines. Empty: there is none.
std::string condition_of(request const&);

/// Whether the condition If-Match of the request is met. Without a condition, it is.
/// @param is_tag  whether a text is the entity tag
/// @throws wrong_field if the condition is neither `*` nor a list of entity tags
bool matches(request const&, std::function<bool(std::string_view)> const& is_tag);

}  // namespace redlock::serve
