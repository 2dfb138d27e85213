#include "quorum/admission.hpp"

#include "quorum/round.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace redlock::inline v0::quorum {

namespace {

using kind = node_command::kind;

constexpr std::size_t limit_at_first = 256, limit_min = 16;
constexpr std::size_t at_once = 64;  // rounds that one turn of the event loop admits

bool is_extension(kind what) { return what == kind::extend || what == kind::downgrade; }

// A round that ends a call, or that makes room.
bool goes_first(kind what) { return what == kind::release || what == kind::raise || what == kind::withdraw; }

}  // namespace

admission::admission(runtime::runtime& r) : runtime_(r), limit_(limit_at_first), next_turn_([this] { admit(); }) {}

admission::gate& admission::gate_of(round const& r) noexcept
{
    return is_extension(r.command.what) ? extensions_ : others_;
}

bool admission::enter(round& r)
{
    auto& g = gate_of(r);
    if (has_room(g) && g.is_empty()) {
        ++g.under_way;
        r.place.is_inside_ = true;
        return true;
    }
    if (has_room(g) && !next_turn_.is_set())
        runtime_.set(next_turn_, runtime_.now());
    auto const what = r.command.what;
    r.place.waiting_ = r.shared_from_this();
    g.lines[is_extension(what) || goes_first(what) ? 0 : 1].push_back(r.place);
    ++waiting_;
    return false;
}

void admission::leave(round& r)
{
    if (r.place.waits())
        return forget(r.place);
    if (!std::exchange(r.place.is_inside_, false))
        return;
    auto& g = gate_of(r);
    bool const was_full = !has_room(g);
    --g.under_way;
    if (was_full)
        adapt(r);
    if (waiting_ > 0)
        admit();
}

void admission::adapt(round const& r)
{
    auto const timeout = r.reply_timeout();
    auto const now = runtime_.now();
    auto const took = r.is_out_of_time() ? timeout : std::min(now - r.started, timeout);
    if (!r.is_out_of_time()) {
        if (!r.is_answered())  // the nodes cannot be reached
            return;
        ++answered_;
        quickest_ = std::min(quickest_, took);
    }
    if (r.started < shrunk_at_)  // it shows the earlier limit
        return;
    auto const spare = timeout - std::min(quickest_, timeout);
    if (took > quickest_ + spare / 2) {
        if (limit_ == limit_min)
            quickest_ = took;  // so few rounds are not the cause
        limit_ = std::max(limit_min, limit_ / 4 * 3);
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
                auto& place = l.front();
                place.is_inside_ = true;
                l.pop_front();
                --waiting_;
                auto const r = std::exchange(place.waiting_, nullptr);
                r->admitted();
            }
        }
    }
    admits_ = false;
    // The event loop gets its turn. A round may also have ended at once, because no node can be reached.
    auto const goes_on = [this](gate const& g) { return has_room(g) && !g.is_empty(); };
    if (goes_on(extensions_) || goes_on(others_))
        runtime_.set(next_turn_, runtime_.now());
}

void admission::forget(admission_place& p) noexcept
{
    p.unlink();
    --waiting_;
    std::exchange(p.waiting_, nullptr);  // the last step, because it may destroy the place
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
