#pragma once

#include "cli/lock_question.hpp"
#include "cli/settings.hpp"

#include <boost/json/object.hpp>

#include <string>

namespace redlock::cli {

/// "lock:jobs is held by web-3:4121 on 3 of 3 nodes, ttl 7.5 s": what is known of a lock, in a sentence.
std::string sentence_of(lock_view const&, std::string const& prefix);

/// The sentence, who waits and who shares, and a table of the nodes. @param tokens  whether it is to hold the values
std::string text_of(lock_answer const&, settings const&, bool tokens);

/// The fields of the lock, and nodes, waiting, readers.
boost::json::object json_of(lock_answer const&, bool tokens);

/// Whether who has not answered refuses the password or a command: then the configuration is to be mended.
bool is_refused(std::string_view error);
bool is_refused(lock_view const&);

}  // namespace redlock::cli
