#pragma once

#include "stores/redis/reply.hpp"

#include <redlock/node.hpp>

#include <initializer_list>
#include <span>
#include <string_view>

namespace redlock::stores::redis {

/// Decodes the @p replies to @p c: one for each of its @ref commands_for. The text of an error contains neither
/// @p password nor the value of @p c.
/// @param checks_type the command was encoded so: see manner
node_reply decode(node_command const& c, std::span<reply const> replies, std::string_view password = {},
                  bool checks_type = false);

/// The code of an error reply, and whether it is certain that the server changed nothing.
node_reply decode_error(std::string_view text, std::initializer_list<std::string_view> secrets = {});

}  // namespace redlock::stores::redis
