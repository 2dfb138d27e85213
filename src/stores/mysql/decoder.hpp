#pragma once

#include "stores/mysql/transport.hpp"

#include <redlock/node.hpp>

#include <string>
#include <string_view>

namespace redlock::stores::mysql {

// Errors that change what a session does next.
inline constexpr unsigned no_such_thread = 1094, no_right = 1142, no_table = 1146, deadlock = 1213, no_procedure = 1305;

/// The reply that an answer to @ref encode contains. Errors: see @ref refusal.
node_reply decode(node_command const&, answer const&);

/// The reply that an answer to @ref encode_inspection contains.
node_reply decode_inspection(answer const&);

/// The reply that an answer to @ref encode_scan contains.
node_reply decode_scan(node_command const&, answer const&);

/// The reply to a statement that failed.
node_reply refusal(answer const&);

/// Whether this error ends the connection.
bool ends_connection(unsigned error) noexcept;

inline constexpr std::string_view rights_to_lock = "EXECUTE", rights_to_list = "SELECT";

/// The statement with which an administrator grants @p rights to @p account, such as app@%. Empty: unknown account.
std::string way_out(std::string_view rights, std::string_view database, std::string_view account);

/// The reply if the connection failed or cannot be used.
node_reply why_not(answer const&);

}  // namespace redlock::stores::mysql
