// How an acquisition waits after a lost round.

#include "core/backoff.hpp"
#include "core/growth.hpp"
#include "core/wait_plan.hpp"
#include "locks/acquisition.hpp"

#include <algorithm>
#include <chrono>

namespace redlock::inline v1::locks {

// Waits until the next round may win, judging by the nodes' answers.
runtime::task<void> acquisition::wait_until_free(std::shared_ptr<acquisition> self, error_code lost)
{
    auto& a = *self;
    auto& state = *a.state_;
    if (lost == errc::validity_exhausted)
        a.step_back();
    auto const decided = state.now();
    auto const random = state.runtime.random()[0];
    auto again = decided + core::pause_after(a.builder_.rounds(), random);
    a.turn_.denied(*a.round_, decided);
    if (lost == errc::contended) {
        a.builder_.lost_to_others();
        again = decided;  // without a watch: the next round asks the nodes to notify
        if (a.watch_.active())
            again = co_await wait_for_change(self, decided, random);
    }
    a.watch_.end();
    if (!a.stopped())
        co_await a.sleep(std::min(again, a.give_up_at_));
    if (lost == errc::quarantined && state.now() >= again)
        co_await sleep_in_quarantine(self);
}

// The ttl may always be too short for this quorum. The waiters behind may ask for a longer one, so they come first.
void acquisition::step_back()
{
    if (!turn_.place())
        return;
    if (leftovers_.growing())
        leftovers_.clean_up(*round_);
    turn_.place()->step_back();
}

// Others have the lock. Waits until it may be free, until this acquisition may ask for another resource, or until it
// asks anyway. Returns when to ask.
runtime::task<clock::time_point> acquisition::wait_for_change(std::shared_ptr<acquisition> self,
                                                              clock::time_point decided, std::uint64_t random)
{
    using action = core::wait_plan<clock::time_point>::action;
    auto& a = *self;
    auto& state = *a.state_;
    bool const grows = a.leftovers_.growing() != nullptr;
    auto ask_anyway = std::min(a.watch_.denied(decided, random, a.builder_.rounds()), a.give_up_at_);
    if (grows)
        ask_anyway = std::min(ask_anyway, core::growth_due(a.round_->started, a.request_.options.ttl));
    core::wait_plan<clock::time_point> plan(a.round_->started, decided, state.quorum.nodes.longest_timeout(),
                                            ask_anyway);
    while (!a.stopped() && (grows || !a.turn_.is_overtaken(*a.round_))) {
        a.turn_.let_others_pass(a.watch_, grows);
        auto const now = state.now();
        auto const step = plan.next(now, a.watch_.free_at());
        auto const another_choice = a.turn_.another_choice_at(*a.round_, now);
        if (step.what == action::ask || another_choice <= now)
            break;
        if (step.what == action::sleep) {
            co_await a.sleep(std::min(step.until, another_choice));
            continue;
        }
        a.watch_.read_votes(step.until);
        if (grows)
            a.leftovers_.keep_what_is_ours(*a.round_);
    }
    // Other managers were notified, too, so this one holds back. If the wait ended because another resource may be
    // asked for now, nobody else was told of that, and no delay is needed.
    auto const now = state.now();
    if (a.turn_.another_choice_at(*a.round_, now) <= now)
        co_return now;
    co_return std::max(now + a.watch_.delay(decided, state.runtime.random()[0]),
                       std::min(a.watch_.not_before(), ask_anyway));
}

// Another client may found the nodes meanwhile, which ends the quarantine. If somebody wakes this client, it asks.
runtime::task<void> acquisition::sleep_in_quarantine(std::shared_ptr<acquisition> self)
{
    constexpr std::chrono::milliseconds quarantine_look{1000};
    auto& a = *self;
    auto& state = *a.state_;
    for (auto until = state.now(); !a.stopped() && state.now() >= until;) {
        auto const end = std::min(state.quorum.nodes.quarantine_over(), a.give_up_at_);
        if (state.now() >= end)
            co_return;
        until = std::min(end, state.now() + quarantine_look);
        co_await a.sleep(until);
        if (state.quorum.nodes.may_found()) {
            a.preparation_.may_found_again();
            co_return;
        }
    }
}

}  // namespace redlock::locks
