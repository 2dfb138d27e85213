#include "quorum/cleaner.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::inline v1::quorum {

namespace {

using namespace std::chrono_literals;

clock::duration retry_pause(std::uint32_t retries)
{
    return std::min<clock::duration>(20ms * (1 << std::min<std::uint32_t>(retries, 5)), 500ms);
}

// Whether the answer of a node ends its release. @p ttl_was_over: one ttl after the first attempt was over when this
// attempt was sent. The time of its answer does not matter, because the answer may have taken any time.
bool is_settled(ballot const& b, node const& n, bool ttl_was_over)
{
    auto const& grant = *b.round->grant();
    auto const acquired = grant.on(b.node);
    // A renewal that may set the keys is still under way: the node refused it once, and sends it again.
    if (acquired.repeats != 0)
        return false;
    if (!grant.may_hold(b.node))  // the acquisition's answer has arrived: the node never had the key
        return true;
    // The answer of the acquisition is unknown, and it was sent on another connection. The server may still execute it
    // after this release, so the cleaner asks again until the ttl is over.
    bool const may_come = acquired.is_unknown() && acquired.sent_on != b.sent_on()
                          && n.may_still_execute(acquired.sent_on) && !ttl_was_over;
    switch (b.reply.vote) {
    case vote::granted:
        return !may_come || !grant.repeated(b.node);  // otherwise it may have deleted the key of a later request
    case vote::denied:
        return !may_come;
    case vote::unknown:
        return false;
    }
    return false;
}

}  // namespace

cleaner::cleaner(quorum_state& q, events::event_log& log, std::function<void()> settled,
                 std::function<void(std::size_t, std::string const&)> deleted)
    : quorum_(q), log_(log), settled_(std::move(settled)), deleted_(std::move(deleted)), alarm_([this] { ring(); })
{
}

std::shared_ptr<round> cleaner::make_release(std::shared_ptr<grant> taken, std::chrono::milliseconds ttl)
{
    auto asked = to_release(taken, ttl);
    auto const count = taken->nodes() - asked.skipped.size();
    auto release = make_round(quorum_, std::move(asked));
    taken->withdraw();
    events::bump<std::size_t>(pending_, count);
    release->listener = this;
    return release;
}

void cleaner::trim(std::shared_ptr<grant> taken, std::span<std::size_t const> ours, std::size_t kept,
                   std::chrono::milliseconds ttl)
{
    make_round(quorum_, to_trim(std::move(taken), ours, kept, ttl))->send();
}

// Releases the key that the node chose. If that is unknown, releases all keys but the one that was won.
void cleaner::chose_in_vain(ballot const& b)
{
    auto const& c = b.command();
    auto const& won = *b.round->grant();
    bool const is_known = b.reply.vote == vote::granted;
    try {
        key_list keys;
        for (std::size_t i = 0; i < c.keys.size(); ++i) {
            if (is_known ? i == b.reply.chosen : c.keys[i] != won.keys.front())
                keys.push_back(c.keys[i]);
        }
        auto const surplus = detail::make_recycled<grant>(std::move(keys), won.value, won.nodes());
        surplus->hands_over = won.hands_over;
        surplus->on(b.node) = {.sent_on = b.sent_on(), .answered = true, .vote = b.reply.vote};
        if (!quorum_.closed)
            make_release(surplus, c.ttl)->send();
    } catch (...) {  // out of memory: the keys expire
    }
}

void cleaner::clean_up(std::shared_ptr<grant> taken, std::chrono::milliseconds ttl)
{
    auto const until = taken->stays_until;
    if (!until || *until <= quorum_.runtime.now())
        return make_release(std::move(taken), ttl)->send();
    call_at(*until, [this, taken, ttl] { make_release(taken, ttl)->send(); });
}

void cleaner::answered(ballot& b)
{
    auto const now = quorum_.runtime.now();
    b.took(now - b.asked);
    auto const ttl_over = b.round->started + quorum_.key_lifetime(b.command().ttl);
    if (b.reply.vote == vote::granted || b.reply.ours > 0) {
        try {
            for (auto const& key : b.command().keys)
                deleted_(b.node, key);
        } catch (...) {  // out of memory: the waiters ask again later
        }
    }
    bool const settled = is_settled(b, quorum_.nodes[b.node], b.asked >= ttl_over);
    // An unanswered renewal may still set a key that had expired. Then the release goes on until the node has its
    // tombstone, for as long as a lock may live.
    if (b.unanswered_on() != 0 || b.round->grant()->on(b.node).repeats != 0)
        b.not_after = std::max<clock::time_point>(b.not_after, b.round->started + quorum_.settings.max_ttl);
    // The ttl ended while this attempt was unanswered, for example because the process was paused. Meanwhile the server
    // may have executed a late request, whose key lives for one more ttl.
    if (b.asked < ttl_over && now >= ttl_over)
        b.not_after = std::max<clock::time_point>(b.not_after, now + (ttl_over - b.round->started));
    auto const last_try = b.not_after - quorum_.nodes.timeout(b.node);
    if (settled || quorum_.closed || now >= last_try) {
        events::bump<std::size_t>(pending_, -1);
        if (settled)
            events::bump(quorum_.count[&stats::cleaned]);
        else if (log_.observed() && !quorum_.closed)
            log_.tell(&observer::keys_left, {.when = now, .keys = 1}, {});
        return settled_();
    }
    // At the end of the ttl, the release is sent again: it deletes the key of a request that the server executed late.
    auto const at = std::min(now + retry_pause(b.retries), now < ttl_over ? ttl_over : last_try);
    try_later(b, now, at);
}

void cleaner::try_later(ballot& b, clock::time_point now, clock::time_point at)
{
    if (log_.observed()) {
        auto const& node = quorum_.nodes.shared(b.node);
        log_.tell(&observer::clean_up_behind,
                  {.when = now, .node = node->name(), .error = b.reply.error, .pending = pending()}, node);
    }
    b.retries = static_cast<std::uint8_t>(std::min(b.retries + 1, 255));
    ++tries_ahead_;
    call_at(at, [this, round = b.round->shared_from_this(), &b] {
        --tries_ahead_;
        b.ask_again();
    });
}

void cleaner::call_at(clock::time_point at, std::function<void()> call)
{
    calls_.emplace(at, std::move(call));
    quorum_.runtime.set(alarm_, calls_.begin()->first);
}

void cleaner::ring()
{
    while (!calls_.empty()) {
        auto const first = calls_.begin()->first;
        quorum_.runtime.set(alarm_, first);  // before the call, because the call may throw if memory is short
        if (first > quorum_.runtime.now())
            return;
        calls_.extract(calls_.begin()).mapped()();
    }
    alarm_.clear();
}

void cleaner::stop()
{
    alarm_.clear();
    events::bump<std::size_t>(pending_, 0 - std::exchange(tries_ahead_, 0));
    calls_.clear();
}

}  // namespace redlock::quorum
