#include "stores/redis/server_history.hpp"

#include "stores/redis/reply.hpp"

#include <algorithm>
#include <utility>

namespace redlock::stores::redis {

log_state read_log_state(std::string_view persistence, std::span<std::string const> policy)
{
    auto const says = [&](std::string_view label, std::string_view value) {
        return value_after(persistence, label) == value;
    };
    return {
        .complete = says("aof_enabled:", "1") && says("aof_rewrite_in_progress:", "0")
                    && says("aof_rewrite_scheduled:", "0"),
        .synced = value_of(policy, "appendfsync") == "always" && value_of(policy, "no-appendfsync-on-rewrite") == "no"
                  && says("aof_last_write_status:", "ok"),
        .from_start = says("aof_last_rewrite_time_sec:", "-1"),
    };
}

void server_history::greeted(std::string_view run_id, std::chrono::milliseconds uptime, log_state log,
                             clock::time_point now, std::optional<life_mark> const& mark)
{
    core::key_state keys{.forgot = std::exchange(was_replica_, false)};
    if (mark && mark_.empty()) {
        if (!mark->continues_process())
            keys.age = mark->age;
    } else if (mark && mark->text != mark_) {
        bool const is_next = mark->continues_process() && mark->before == marked_run_id_;
        keys.forgot = keys.forgot || !is_next;
    }
    if (mark) {
        mark_ = mark->text;
        marked_run_id_ = mark->run_id;
    }
    core::server_history::greeted(run_id, uptime, log, now, keys);
}

void server_history::greeted(std::string_view run_id, tenure const& t, clock::time_point now)
{
    same_server_ = is_of(run_id);
    life_ = run_id;
    if (!t.id.empty() && t.id == tenure_)
        return;
    tenure_ = t.id;
    identity_ = {.durable = false,
                 .restarted = true,
                 .began = now - std::clamp<clock::duration>(t.age, {}, age_max) + follow_time};
}

}  // namespace redlock::stores::redis
