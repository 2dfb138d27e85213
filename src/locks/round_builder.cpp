#include "locks/round_builder.hpp"

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

std::shared_ptr<quorum::round> round_builder::next(std::shared_ptr<quorum::grant> growing)
{
    auto& manager = request_.manager;
    bool const grows = growing != nullptr;
    auto asked = plain(std::move(growing));
    auto& acquire = asked.command.as<commands::acquire>();
    acquire.any = request_.wants_any() && asked.command.has_several_keys();
    auto history = turn_.history();
    history.rounds = rounds_;
    auto const question = core::question_for(history);
    if (question.contends)
        asked.contend(manager.quorum.contender, question.more_follow && !request_.wants_several());
    // An acquisition that queues for any of several is likely to be denied: the waiters before it found the others
    // taken.
    acquire.watch = question.watches || (question.contends && acquire.any);
    if (grows)
        asked.grow();
    acquire.passes = turn_.passes_writers();
    if (manager.settings.fencing)
        acquire.fence = request_.shares() ? 1 : draw_.propose();
    auto r = quorum::make_round(manager.quorum, std::move(asked));
    r->timed = request_.options.explain || manager.log.observed();
    ++rounds_;
    events::bump(manager.count[&stats::rounds]);
    return r;
}

// Each round has a fresh value: the round never meets keys of an earlier one, and a clean-up never deletes keys of a
// later one. A set that grows keeps its value, and adds to the keys that earlier rounds kept.
quorum::round_command round_builder::plain(std::shared_ptr<quorum::grant> growing) const
{
    auto& manager = request_.manager;
    constexpr commands::acquire acquire;
    if (growing)
        return {acquire, std::move(growing), request_.options.ttl};
    auto value = manager.make_token(request_.options);
    auto keys = request_.wants_any() ? choices(manager.now()) : request_.keys();
    return {manager.quorum, acquire, std::move(keys), std::move(value), request_.options.ttl, request_.mode_on_nodes()};
}

// Preferred resources come first. If none may be asked for now, it asks for all: it does not wait, or its wait is over.
quorum::key_list round_builder::choices(clock::time_point now) const
{
    quorum::key_list all, keys;
    for (auto const i : request_.manager.preferences.among(request_.names()).order()) {
        all.push_back(request_.key_of(request_.names()[i]));
        if (!turn_.kept_from(i, now))
            keys.push_back(all.back());
    }
    return keys.empty() ? all : keys;
}

void round_builder::prefer_others(quorum::round const& lost) const
{
    auto const& keys = lost.command.keys;
    auto first = keys.size();
    for (auto const& b : lost.ballots) {
        if (b.has_granted())
            first = std::min<std::size_t>(first, b.reply.chosen);
    }
    if (first < keys.size())
        request_.manager.preferences.chosen_in_vain(request_.names(), request_.name_of(keys[first]));
}

}  // namespace redlock::locks
