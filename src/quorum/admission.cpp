#include "quorum/admission.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace redlock::inline v1::quorum {

namespace {

constexpr std::size_t limit_at_first = 32, limit_min = 8;
constexpr clock::duration pause_max = std::chrono::seconds(1);
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
    if (may_enter(g, e.aim()) && g.is_empty_up_to(e.aim())) {
        ++g.under_way;
        e.has_place_ = true;
        return true;
    }
    e.owner_ = e.owner();
    g.lines[static_cast<std::size_t>(e.aim())].push_back(e);
    ++waiting_;
    plan();
    return false;
}

bool admission::takes_acquisitions() const noexcept
{
    bool const must_pause = acquisitions_from_ != clock::time_point::min() && runtime_.now() < acquisitions_from_;
    return is_open_ || (extensions_.is_empty() && !must_pause);
}

void admission::note_extensions() noexcept
{
    bool const wait = !extensions_.is_empty();
    if (wait == extensions_wait_since_.has_value())
        return;
    auto const now = runtime_.now();
    if (!wait)
        acquisitions_from_ = now + std::min<clock::duration>(now - *extensions_wait_since_, pause_max);
    extensions_wait_since_ = wait ? std::optional(now) : std::nullopt;
}

void admission::leave(entrant& e)
{
    if (e.waits_for_place()) {
        auto const owner = take(e);
        return plan();
    }
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
        note_extensions();
        for (line* l; turn > 0 && (l = next_line(*g));) {
            --turn;
            ++g->under_way;
            auto& e = l->front();
            auto const owner = take(e);
            e.has_place_ = true;
            e.admitted();
        }
    }
    admits_ = false;
    plan();
}

// Call it when a round begins to wait, or waits no longer. The event loop gets its turn before more are admitted. A
// round may also have ended at once, because no node can be reached.
void admission::plan() noexcept
{
    if (admits_)
        return;
    note_extensions();
    if (next_line(extensions_) || next_line(others_))
        go_on_at(runtime_.now());
    else if (has_room(others_) && !others_.is_empty() && extensions_.is_empty())
        go_on_at(acquisitions_from_);
}

// The line whose first round can be admitted now. Null: none.
admission::line* admission::next_line(gate& g) const noexcept
{
    for (std::size_t i = 0; i < g.lines.size(); ++i) {
        if (!g.lines[i].empty() && may_enter(g, static_cast<entrant::purpose>(i)))
            return &g.lines[i];
    }
    return nullptr;
}

void admission::go_on_at(clock::time_point when) noexcept
try {
    if (next_turn_.is_set() && next_turn_at_ <= when)
        return;
    next_turn_at_ = when;
    runtime_.set(next_turn_, when);
} catch (...) {  // out of memory: the next round that comes or goes does it
}

std::shared_ptr<void> admission::take(entrant& e) noexcept
{
    e.unlink();
    --waiting_;
    return std::exchange(e.owner_, nullptr);
}

void admission::open()
{
    limit_ = std::numeric_limits<std::size_t>::max();
    is_open_ = true;
    while (waiting_ > 0 && !admits_)
        admit();
}

void admission::abandon() noexcept
{
    for (auto* const g : {&extensions_, &others_}) {
        for (auto& l : g->lines) {
            while (!l.empty())
                auto const owner = take(l.front());
        }
    }
}

}  // namespace redlock::quorum
