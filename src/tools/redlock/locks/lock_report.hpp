#pragma once

#include "tools/redlock/locks/lock_view.hpp"
#include "tools/redlock/args/settings.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace redlock::cli {

/// The state of a lock in a sentence: "lock:jobs is held by web-3:4121 on 3 of 3 nodes, ttl 7.5 s".
std::string sentence_of(lock_view const&, std::string const& prefix);

/// The sentence, and tables of the nodes, the readers and the waiting processes. @param tokens  also print the values
std::string text_of(lock_view const&, settings const&, bool tokens);

/// The fields of the lock, and the fields nodes, readers, waiting and waiters.
boost::json::object json_of(lock_view const&, bool tokens);

}  // namespace redlock::cli
