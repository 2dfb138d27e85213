#pragma once

#include <redlock/node.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::mysql {

/// @p keys as an argument of a procedure: each behind its length in four digits, sorted by their bytes.
std::string joined(std::vector<std::string_view> keys);

/// The statement for @p command. @p tombstone: the release leaves a tombstone.
std::string encode(node_command const& command, bool tombstone, std::string_view table);

/// The statement that reads all about a key from the tables, which needs the right SELECT. The procedure for the same
/// command needs no rights to tables, but knows only the holder.
std::string encode_inspection(node_command const& command, std::string_view table);

/// The statement that lists some keys, which needs the right SELECT.
std::string encode_scan(node_command const& command, std::string_view table);

/// The statement with which a client meets the server @p name, and the server signs the record of its memory. The first
/// row of the answer is that of the meeting, the second one that of the record.
/// @param life @p name, a space, and the time of the server's start
/// @param holds for how long the signature holds
/// @param verdict on a fresh record: see core::server_memory::verdict; or empty
std::string encode_signature(std::string_view name, std::string_view life, bool durable,
                             std::chrono::milliseconds holds, std::string_view verdict, std::string_view table);

}  // namespace redlock::stores::mysql
