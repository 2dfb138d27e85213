#pragma once

#include "stores/kit/steps.hpp"

#include <redlock/node.hpp>

#include <libpq-fe.h>

#include <memory>

namespace redlock::stores::postgresql {

using result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

/// The rows of an answer, as text.
kit::rows rows_of(PGresult const&);

/// The reply that an answer to @ref encode contains. Errors: see @ref refusal.
node_reply decode(node_command const&, PGresult const&, bool is_standby);

/// The reply to a statement that failed.
node_reply refusal(PGresult const&);

}  // namespace redlock::stores::postgresql
