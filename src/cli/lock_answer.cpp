#include "cli/lock_answer.hpp"

namespace redlock::cli {

lock_answer answer_of(lock_info const& info)
{
    lock_answer answer{.lock = view_of(info)};
    for (auto const& r : info.readers)
        answer.readers.push_back({.owner = r.owner, .value = r.value, .votes = r.nodes, .ttl = r.remaining});
    if (!info.knows_waiters)
        return answer;
    answer.waiting.emplace();
    for (auto const& w : info.waiters)
        answer.waiting->push_back({.owner = w.owner, .note = w.note, .shares = w.shares});
    return answer;
}

}  // namespace redlock::cli
