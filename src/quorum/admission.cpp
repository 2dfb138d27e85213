#include "quorum/admission.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace redlock::inline v0::quorum {

namespace {

constexpr std::size_t limit_at_first = 32, limit_min = 8;
constexpr std::size_t at_once = 64;  // rounds that one turn of the event loop admits

}  // namespace

admission::admission(runtime::runtime& r) : runtime_(r), limit_(limit_at_first), next_turn_([this] { admit(); }) {}

admission::gate& admission::gate_of(entrant const& e) noexcept
{
    return e.aim() == entrant::purpose::extension ? extensions_ : others_;
}

bool admission::enter(entrant& e)
{
    auto& g = gate_of(e);
    if (has_room(g) && g.is_empty()) {
        ++g.under_way;
        e.has_place_ = true;
        return true;
    }
    if (has_room(g))
        go_on_soon();
    e.owner_ = e.owner();
    g.lines[e.aim() == entrant::purpose::other ? 1 : 0].push_back(e);
    ++waiting_;
    return false;
}

void admission::leave(entrant& e)
{
    if (e.waits_for_place())
        return forget(e);
    if (!std::exchange(e.has_place_, false))
        return;
    auto& g = gate_of(e);
    bool const was_full = !has_room(g);
    --g.under_way;
    if (was_full)
        adapt(e.fate());
    if (waiting_ > 0)
        admit();
}

void admission::adapt(entrant::outcome const& o)
{
    using kind = entrant::outcome::kind;
    if (o.how == kind::without_nodes)
        return;
    auto const now = runtime_.now();
    auto const took = o.how == kind::answered ? std::min(now - o.started, o.timeout) : o.timeout;
    if (o.how == kind::answered) {
        ++answered_;
        quickest_ = std::min(quickest_, took);
    }
    if (o.started < shrunk_at_)  // it shows the earlier limit
        return;
    auto const spare = o.timeout - std::min(quickest_, o.timeout);
    if (took > quickest_ + spare / 2) {
        if (limit_ == limit_min)
            quickest_ = took;  // so few rounds are not the cause
        limit_ = std::max(limit_min, o.how == kind::answered ? limit_ - limit_ / 4 : limit_ / 2);
        shrunk_at_ = now;
    } else if (took < quickest_ + spare / 4) {
        ++limit_;
    }
}

void admission::admit()
{
    if (std::exchange(admits_, true))
        return;
    std::size_t turn = at_once;
    for (auto* const g : {&extensions_, &others_}) {
        for (auto& l : g->lines) {
            while (turn > 0 && has_room(*g) && !l.empty()) {
                --turn;
                ++g->under_way;
                auto& e = l.front();
                l.pop_front();
                --waiting_;
                e.has_place_ = true;
                auto const owner = std::exchange(e.owner_, nullptr);
                e.admitted();
            }
        }
    }
    admits_ = false;
    // The event loop gets its turn. A round may also have ended at once, because no node can be reached.
    auto const goes_on = [this](gate const& g) { return has_room(g) && !g.is_empty(); };
    if (goes_on(extensions_) || goes_on(others_))
        go_on_soon();
}

void admission::go_on_soon() noexcept
try {
    if (!next_turn_.is_set())
        runtime_.set(next_turn_, runtime_.now());
} catch (...) {  // out of memory: the next round that comes or goes does it
}

void admission::forget(entrant& e) noexcept
{
    e.unlink();
    --waiting_;
    std::exchange(e.owner_, nullptr);  // the last step, because it may destroy the entrant
}

void admission::open()
{
    limit_ = std::numeric_limits<std::size_t>::max();
    while (waiting_ > 0 && !admits_)
        admit();
}

void admission::abandon() noexcept
{
    for (auto* const g : {&extensions_, &others_}) {
        for (auto& l : g->lines) {
            while (!l.empty())
                forget(l.front());
        }
    }
}

}  // namespace redlock::quorum
