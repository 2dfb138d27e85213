#include "quorum/grant.hpp"

#include <utility>

namespace redlock::inline v0::detail {

grant::grant(key_list k, std::string v, std::size_t nodes, redlock::mode m) : keys(std::move(k)), value(std::move(v)), mode(m), traces_(nodes) {}

void grant::taken_over() noexcept
{
    taken_over_ = true;
    for (auto& t : traces_)
        t = {.sent_on = 1, .answered = true, .vote = vote::granted};
}

void grant::withdraw() noexcept
{
    for (auto& t : traces_)
        t.withdrawn = true;
}

void grant::ask_again(std::size_t node)
{
    if (on(node).vote == vote::granted)  // it was the acquisition that set the keys there
        return;
    repeats_.resize(nodes());
    repeats_[node].asked = true;
}

std::uint32_t grant::unanswered_on(std::size_t node) const noexcept
{
    return repeats_.empty() ? 0 : repeats_[node].unanswered_on;
}

void grant::repeat_unanswered(std::size_t node, std::uint32_t connection)
{
    repeats_.resize(nodes());
    if (repeats_[node].unanswered_on == 0)
        repeats_[node].unanswered_on = connection;
}

void grant::trim_sent(std::size_t node, std::uint32_t connection) noexcept
{
    ++trims_;
    if (repeats_[node].trims++ == 0)
        repeats_[node].trimmed_on = connection;
}

void grant::trim_answered(std::size_t node) noexcept
{
    --trims_;
    if (--repeats_[node].trims == 0)
        repeats_[node].trimmed_on = 0;
}

}  // namespace redlock::detail
