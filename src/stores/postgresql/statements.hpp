#pragma once

#include "stores/postgresql/parameters.hpp"

#include <redlock/node.hpp>

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::pg {

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// One statement that a session prepares, or sends as text.
struct statement {
    char const* name;
    char const* text;  ///< with the default name of the table
};

/// The name that @p s is prepared by. Behind a pooler, clients with other tables or of other versions may find it on the
/// same connection.
std::string prepared_name(statement const& s, std::string_view table);

/// All of them, to be prepared.
std::vector<statement> const& all_statements();

/// How @p command is put. @p tombstone: of a release: leave one.
std::pair<statement const*, parameters> put(node_command const& command, bool tombstone);

/// What the answer to it says. Errors: see @ref refusal.
node_reply interpret(node_command const&, PGresult const&);

/// Why a statement was not carried out.
node_reply refusal(PGresult const&);

}  // namespace redlock::pg
