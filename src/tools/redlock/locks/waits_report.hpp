#pragma once

#include "tools/redlock/args/settings.hpp"
#include "tools/redlock/locks/waits.hpp"

#include <string>

namespace redlock::cli {

/** The processes that wait, and the cycles among them.

    - Table: a line for each wait, and then a sentence for each cycle.
    - JSON: the fields waits, cycles and nodes.
    - JSON lines: a document for each wait, with the field process; one for each cycle, with the field cycle.
*/
std::string text_of(waits const&, settings const&);

}  // namespace redlock::cli
