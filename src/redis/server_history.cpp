#include "redis/server_history.hpp"

#include "redis/reply.hpp"

#include <algorithm>

namespace redlock::redis {

namespace {

std::string_view setting(std::span<std::string const> names_and_values, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < names_and_values.size(); i += 2) {
        if (names_and_values[i] == name)
            return names_and_values[i + 1];
    }
    return {};
}

constexpr auto age_max = std::chrono::hours(10 * 365 * 24);

// Who has not heard yet that there is another master prolongs locks at the one before: a manager asks once a second, and Sentinels
// tell each other every other second.
constexpr std::chrono::seconds follow_time{3};

}  // namespace

log_state read_log_state(std::string_view persistence, std::span<std::string const> policy)
{
    auto const says = [&](std::string_view label, std::string_view value) { return value_after(persistence, label) == value; };
    return {
        .complete = says("aof_enabled:", "1") && says("aof_rewrite_in_progress:", "0") && says("aof_rewrite_scheduled:", "0"),
        .synced = setting(policy, "appendfsync") == "always" && setting(policy, "no-appendfsync-on-rewrite") == "no"
               && says("aof_last_write_status:", "ok"),
        .from_start = says("aof_last_rewrite_time_sec:", "-1"),
    };
}

void server_history::greeted(std::string_view run_id, std::chrono::seconds uptime, log_state log, clock::time_point now)
{
    same_server_ = !run_id.empty() && run_id == run_id_;
    if (same_server_) {
        identity_ = known_;
        return looked(log, now);
    }
    bool const first = run_id_.empty();
    // What the life before had forgotten itself is over a max_ttl after its beginning. Of one that we have not seen we know nothing.
    bool const remembered = first || (durable_now_ && (identity_.durable || now - identity_.began >= max_ttl_));
    bool const named = !run_id.empty();
    synced_since_ = named ? clock::time_point() : now;  // without a name it may be the life before
    looked(log, now);
    identity_.restarted = !first;
    identity_.durable = named && durable_now_ && log.from_start && remembered;
    // An uptime follows the wall clock, which may jump: of a server that we saw restart we know better. It counts the seconds
    // that have begun.
    auto const age = std::clamp<std::chrono::seconds>(uptime - std::chrono::seconds(1), {}, age_max);
    identity_.began = identity_.restarted ? now : now - age;
    if (named) {
        run_id_ = run_id;
        known_ = identity_;
    }
}

void server_history::greeted(std::string_view run_id, tenure const& t, clock::time_point now)
{
    same_server_ = !run_id.empty() && run_id == run_id_;
    run_id_ = run_id;
    if (!t.id.empty() && t.id == tenure_)
        return;
    tenure_ = t.id;
    identity_ = {.durable = false, .restarted = true, .began = now - std::clamp<clock::duration>(t.age, {}, age_max) + follow_time};
}

void server_history::looked(log_state log, clock::time_point now)
{
    if (!log.synced)
        synced_since_ = now;
    bool const others_are_over = synced_since_ == clock::time_point() || now - synced_since_ >= max_ttl_;
    durable_now_ = log.complete && log.synced && others_are_over;
}

}  // namespace redlock::redis
