#include "stores/kit/refusal.hpp"

#include <fmt/format.h>

namespace redlock::stores::kit {

std::string way_to_renew(std::string_view steps)
{
    return fmt::format("drop its tables and {} while nobody holds a lock; the library then creates them again", steps);
}

std::string other_version(std::string_view steps, std::string_view table, std::string_view version,
                          std::string_view needed, std::string_view way_out)
{
    return fmt::format("its {} for the table {} have version {}, but this library needs {}; {}", steps, table, version,
                       needed, way_out);
}

}  // namespace redlock::stores::kit
