#include "manager/janitor.hpp"

#include "manager/engine.hpp"
#include "manager/round.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::detail {

namespace {

using namespace std::chrono_literals;

clock::duration retry_pause(std::uint32_t retries)
{
    return std::min<clock::duration>(20ms * (1 << std::min<std::uint32_t>(retries, 5)), 500ms);
}

// Whether a node's answer to a release settles it.
bool is_settled(ballot const& b)
{
    auto const& acquired = b.round->grant()->ballots[b.node];
    if (!acquired.may_hold())  // its answer has come meanwhile: it never had the key
        return true;
    switch (b.reply.vote) {
    case vote::granted:
        return true;
    case vote::denied:
        // "Not there" proves nothing if the acquisition's answer is unknown and it travelled on another connection: the
        // server may still have its bytes, and carry them out after the release.
        return acquired.answered_with_a_vote() || acquired.sent_on() == b.sent_on();
    case vote::unknown:
        return false;
    }
    return false;
}

}  // namespace

janitor::janitor(engine& e) : engine_(e), alarm_([this] { try_again(); }) {}

std::shared_ptr<round> janitor::make_release(std::shared_ptr<round> grant, std::chrono::milliseconds ttl)
{
    auto release = std::make_shared<round>(node_operation::kind::release, grant, ttl);
    for (std::size_t i = 0; i < grant->ballots.size(); ++i) {
        auto& acquired = grant->ballots[i];
        if (!acquired.may_hold()) {
            acquired.withdraw();
            release->skip(i, vote::denied);
            continue;
        }
        ++pending_;
    }
    engine_.count.cleaning.store(pending_, std::memory_order_relaxed);
    return release;
}

void janitor::clean_up(std::shared_ptr<round> grant, std::chrono::milliseconds ttl)
{
    make_release(std::move(grant), ttl)->send();
}

void janitor::settle(ballot& b)
{
    bool const settled = is_settled(b);
    auto const now = engine_.now();
    // The last try comes when the ttl is over: what the server carried out before, however late, is then deleted, too.
    auto const last_try = b.not_after - engine_.settings().node_timeout;
    if (settled || engine_.closed() || now >= last_try) {
        --pending_;
        engine_.cleaned(settled);
        return;
    }
    auto const at = std::min(now + retry_pause(b.retries), last_try);
    b.retries = static_cast<std::uint8_t>(std::min(b.retries + 1, 255));
    later_.emplace(at, std::pair(b.round->shared_from_this(), b.node));
    engine_.set(alarm_, later_.begin()->first);
}

void janitor::try_again()
{
    while (!later_.empty() && later_.begin()->first <= engine_.now()) {
        auto [round, node] = std::move(later_.begin()->second);
        later_.erase(later_.begin());
        round->resend(node);
    }
    if (!later_.empty())
        engine_.set(alarm_, later_.begin()->first);
}

void janitor::stop()
{
    alarm_.clear();
    pending_ -= later_.size();
    later_.clear();
}

}  // namespace redlock::detail
