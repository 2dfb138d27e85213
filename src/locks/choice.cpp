// Of an acquisition that wants any of several resources: for which of them it asks, and in which order.

#include "locks/acquisition.hpp"

#include <algorithm>
#include <span>

namespace redlock::inline v0::detail {

// Until when it does not ask for resource number @p i: others of this manager come first, or have it; they wake us when they are done. Or
// this manager yields it. Nothing: it may ask.
std::optional<clock::time_point> acquisition::kept_from(std::size_t i, clock::time_point now) const
{
    if (place_ && !place_->first_for(i))
        return clock::time_point::max();
    auto const name = resources.names().subspan(i, 1);
    auto const held_until = state_->holdings.held_until(name, mode::exclusive);
    return held_until || !place_ ? held_until : state_->waiters.yields_until(name, now);
}

// Until when it asks for none of them; nothing if there is one.
std::optional<clock::time_point> acquisition::kept_from_all(clock::time_point now) const
{
    auto first = clock::time_point::max();
    for (std::size_t i = 0; i < resources.size(); ++i) {
        auto const until = kept_from(i, now);
        if (!until)
            return std::nullopt;
        first = std::min(first, *until);
    }
    return first;
}

// What it asks for, the preferred ones first. If it is kept from all of them it asks all the same: it does not wait, or not any more.
key_list acquisition::choices(clock::time_point now) const
{
    key_list all, keys;
    for (auto const i : state_->preferences.among(resources.names()).order()) {
        all.push_back(state_->settings.prefix + resources.names()[i]);
        if (!kept_from(i, now))
            keys.push_back(all.back());
    }
    return keys.empty() ? all : keys;
}

// After a lost round: nodes have chosen, but not the same, so they differ in what is free.
void acquisition::prefer_others()
{
    auto const& keys = round_->command.keys;
    auto first = keys.size();
    for (auto const& b : round_->ballots) {
        if (b.has_granted())
            first = std::min<std::size_t>(first, b.reply.chosen);
    }
    if (first < keys.size())
        state_->preferences.chosen_in_vain(resources.names(), name_of(keys[first]));
}

bool acquisition::asks_for(std::string_view resource) const
{
    auto const& keys = round_->command.keys;
    return std::any_of(keys.begin(), keys.end(), [&](auto& key) { return name_of(key) == resource; });
}

// While it waits for those for which it has asked: from when on there is another one.
clock::time_point acquisition::another_choice_at(clock::time_point now) const
{
    auto first = clock::time_point::max();
    bool const asks_for_all = !wants_any() || round_->command.keys.size() == resources.size();
    for (std::size_t i = 0; !asks_for_all && i < resources.size(); ++i) {
        if (!asks_for(resources.names()[i]))
            first = std::min(first, kept_from(i, now).value_or(now));
    }
    return first;
}

// Until when this manager itself has the first of them that it has.
clock::time_point acquisition::first_held_until() const
{
    auto first = clock::time_point::max();
    for (std::size_t i = 0; i < resources.size(); ++i)
        first = std::min(first, state_->holdings.held_until(resources.names().subspan(i, 1), mode::exclusive).value_or(first));
    return first;
}

}  // namespace redlock::detail
