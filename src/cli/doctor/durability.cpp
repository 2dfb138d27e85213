#include "cli/doctor/durability.hpp"

namespace redlock::cli::doctor {

namespace {

durability_state::lack lack_of(node_facts const& f)
{
    using enum durability_state::lack;
    if (f.info.field("aof_enabled") != "1")
        return log;
    if (f.info.field("aof_last_write_status") != "ok")
        return written;
    if (f.settings.field("appendfsync") != "always")
        return synced;
    if (f.settings.field("no-appendfsync-on-rewrite") != "no")
        return synced_on_rewrite;
    bool const is_rewritten = f.info.field("aof_rewrite_in_progress") != "0" || f.info.field("aof_rewrite_scheduled") != "0";
    return is_rewritten ? complete : nothing;
}

}  // namespace

durability_state durability_of(node_facts const& f)
{
    return {.lacks = lack_of(f), .from_start = f.info.field("aof_last_rewrite_time_sec") == "-1"};
}

}  // namespace redlock::cli::doctor
