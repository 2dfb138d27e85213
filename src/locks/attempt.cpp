#include "locks/attempt.hpp"

#include "core/validity.hpp"
#include "locks/held_lock.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>

#include <utility>
#include <vector>

namespace redlock::inline v1::locks {

void attempt::begins() noexcept
{
    count_ = &state_.count.of(options_.group);
    events::bump((*count_)[&lock_stats::begun]);
    number_ = state_.count.next_number();
    asked = decided = called;
}

// Reads the clock only for a cancelled acquisition. In all other cases, the time of the outcome is known.
void attempt::ends(error_code ec) noexcept
{
    if (number_ == 0)
        return;
    count_->outcome(ec);
    if (ec == asio::error::operation_aborted)
        decided = state_.now();
    if (ec)
        return (*count_)[&lock_stats::time_to_fail].add(decided - called);
    (*count_)[&lock_stats::time_to_acquire].add(decided - called);
    (*count_)[&lock_stats::time_waited].add(asked - called);
}

attempt_report attempt::report(error_code ec, quorum::round const* asked_last, std::size_t rounds) const
{
    attempt_report r{.outcome = ec, .rounds = rounds};
    if (asked_last)
        r.nodes = quorum::report(*asked_last);
    if (ec == errc::quarantined)
        r.quarantine = core::time_left(state_.quorum.nodes.quarantine_over(), state_.now());
    r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_.now() - called);
    return r;
}

void attempt::tell_begin(bool any, bool resumes, std::size_t ahead, std::shared_ptr<void const> alive) noexcept
{
    ahead_ = ahead;
    state_.log.tell(&observer::acquisition_begun,
                    {.when = called,
                     .acquisition = number_,
                     .resources = resources_,
                     .any = any,
                     .resumes = resumes,
                     .mode = options_.mode,
                     .ttl = options_.ttl,
                     .wait = options_.wait,
                     .ahead = ahead_,
                     .context = options_.context ? *options_.context : nullptr,
                     .owner = state_.owner},
                    std::move(alive));
}

void attempt::tell_round(quorum::round const& r, std::size_t number_of_round, error_code outcome,
                         std::shared_ptr<void const> alive) const noexcept
try {
    struct kept {
        std::vector<node_report> nodes;
        std::shared_ptr<void const> names;
    };
    auto const k = std::make_shared<kept const>(kept{quorum::report(r), std::move(alive)});
    state_.log.tell(&observer::round_decided,
                    {.when = decided,
                     .acquisition = number_,
                     .resources = resources_,
                     .round = number_of_round,
                     .draws_token = r.command.which() == node_command::kind::raise,
                     .outcome = outcome,
                     .took = decided - r.started,
                     .nodes = k->nodes},
                    k);
} catch (...) {  // out of memory: drop the event
}

void attempt::tell_win(std::shared_ptr<held_lock const> won, std::size_t rounds) const noexcept
{
    state_.log.tell(&observer::acquired,
                    {.when = decided,
                     .acquisition = number_,
                     .lock = won->number,
                     .joined = won->number != number_,
                     .resources = won->resources,
                     .mode = won->mode(),
                     .waited = asked - called,
                     .took = decided - called,
                     .rounds = rounds,
                     .ahead = ahead_,
                     .validity = won->valid_until() - decided,
                     .owner = state_.owner},
                    won);
}

void attempt::tell_end(error_code ec, lock_handle const& won, std::size_t rounds,
                       std::shared_ptr<void const> alive) const noexcept
{
    if (number_ == 0)
        return;
    if (!ec)
        return tell_win(detail::access::handle_of(won)->lock.shared_from_this(), rounds);
    state_.log.tell(&observer::not_acquired,
                    {.when = decided,
                     .acquisition = number_,
                     .resources = resources_,
                     .reason = ec,
                     .took = decided - called,
                     .rounds = rounds,
                     .ahead = ahead_,
                     .owner = state_.owner},
                    std::move(alive));
}

}  // namespace redlock::locks
