#pragma once

#include "stores/mysql/transport.hpp"

#include <redlock/node.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

// Errors that change what a session does next.
inline constexpr unsigned no_such_thread = 1094, no_right = 1142, no_table = 1146, deadlock = 1213, no_procedure = 1305;

/// @p keys as an argument of a procedure: each behind its length in four digits, sorted by their bytes.
std::string joined(std::vector<std::string_view> keys);

/// The statement for @p command. @p tombstone: the release leaves a tombstone.
std::string put(node_command const& command, bool tombstone, std::string_view table);

/// The statement that reads all about a key from the tables, which needs the right SELECT. The procedure for the same
/// command needs no rights to tables, but knows only the holder.
std::string put_inspection(node_command const& command, std::string_view table);

/// The statement that lists some keys, which needs the right SELECT.
std::string put_scan(node_command const& command, std::string_view table);

/// The statement with which a client meets the server @p name, and the server signs the record of its memory. The first
/// row of the answer is that of the meeting, the second one that of the record.
/// @param life @p name, a space, and the time of the server's start
/// @param holds for how long the signature holds
/// @param verdict on a fresh record: see core::server_memory::verdict; or empty
std::string put_signature(std::string_view name, std::string_view life, bool durable, std::chrono::milliseconds holds,
                          std::string_view verdict, std::string_view table);

/// The reply that an answer to @ref put contains. Errors: see @ref refusal.
node_reply interpret(node_command const&, answer const&);

/// The reply that an answer to @ref put_inspection contains.
node_reply interpret_inspection(answer const&);

/// The reply that an answer to @ref put_scan contains.
node_reply interpret_scan(node_command const&, answer const&);

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
