#pragma once

#include "stores/mysql/client.hpp"

#include <redlock/node.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

// Numbers of errors that somebody decides by.
inline constexpr unsigned no_such_thread = 1094, no_table = 1146, deadlock = 1213, no_procedure = 1305;

/// As procedures take keys: each behind its length, in four digits, in the order of their bytes.
std::string joined(std::vector<std::string_view> keys);

/// How @p command is put. @p tombstone: of a release: leave one.
std::string put(node_command const& command, bool tombstone, std::string_view table);

/// How the server @p name is met.
std::string put_meeting(std::string_view name, std::string_view table);

/// What the answer to it says. Errors: see @ref refusal.
node_reply interpret(node_command const&, answer const&);

/// Why a statement was not carried out.
node_reply refusal(answer const&);

/// Whether the connection is over with this error.
bool ends_connection(unsigned error) noexcept;

inline constexpr std::string_view rights_to_lock = "EXECUTE";

/// How an administrator gives @p rights to @p account, such as app@%. Empty: it is not known.
std::string way_out(std::string_view rights, std::string_view database, std::string_view account);

/// Why no connection could be made, or none of use.
node_reply why_not(answer const&);

}  // namespace redlock::stores::mysql
