#include "quorum/choice.hpp"

#include <boost/container/small_vector.hpp>

#include <cstdint>
#include <utility>

namespace redlock::inline v1::quorum {

namespace {

core::most_frequent most_chosen(ballot_set const& asked)
{
    boost::container::small_vector<std::uint32_t, 9> chosen;
    for (auto const& b : asked.ballots) {
        if (b.has_granted())
            chosen.push_back(b.reply.chosen);
    }
    return core::most_frequent_of(chosen);
}

}  // namespace

void count(ballot_set& asked, vote v)
{
    auto& votes = asked.votes;
    switch (v) {
    case vote::granted:
        return asked.command.wants_any() ? votes.grant(most_chosen(asked).times) : votes.grant();
    case vote::denied:
        return votes.deny();
    case vote::unknown:
        return votes.miss();
    }
}

void choice::settle(ballot_set& asked, surplus_listener& surplus)
{
    if (asked.votes.verdict() == core::verdict::won) {
        auto const& all = *asked.grant();
        auto one = detail::make_recycled<grant>(key_list{asked.command.keys[most_chosen(asked).number]}, all.value,
                                                all.nodes());
        one->hands_over = all.hands_over;
        for (std::size_t i = 0; i < all.nodes(); ++i)
            one->on(i) = all.on(i);
        asked_for_ = asked.replace_grant(std::move(one));
    }
    surplus_ = &surplus;
    for (auto& b : asked.ballots) {
        if (b.answered)
            answered(asked, b);
    }
}

// If it is unknown which key the node has chosen, a lost round's release names all keys, so nothing is reported here.
void choice::answered(ballot_set const& asked, ballot& b)
{
    if (!surplus_)
        return;
    auto& trace = asked.grant()->on(b.node);
    bool const won = asked_for_ != nullptr;
    bool const in_vain = b.reply.vote == vote::granted
                         && !(won && asked.command.keys[b.reply.chosen] == asked.grant()->keys.front());
    if (in_vain || (won && trace.is_unknown()))
        surplus_->chose_in_vain(b);
    if (in_vain)
        trace.vote = vote::denied;
    if (in_vain && won)
        b.reply.vote = vote::denied;
}

}  // namespace redlock::quorum
