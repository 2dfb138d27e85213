#pragma once

#include "postgresql/parameters.hpp"

#include <redlock/node.hpp>

#include <libpq-fe.h>

#include <memory>
#include <utility>
#include <vector>

namespace redlock::pg {

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// What is asked for, by name; the same for each connection.
struct statement {
    char const* name;
    char const* text;  ///< with the default name of the table
};

/// All of them, to be prepared.
std::vector<statement> const& all_statements();

/// How @p command is put. @p tombstone: of a release: leave one.
std::pair<statement const*, parameters> put(node_command const& command, bool tombstone);

/// What the answer to it says. Errors: see @ref refusal.
node_reply interpret(node_command const&, PGresult const&);

/// Why a statement was not carried out.
node_reply refusal(PGresult const&);

}  // namespace redlock::pg
