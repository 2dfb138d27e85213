#include "quorum/grant.hpp"

#include <utility>

namespace redlock::detail {

grant::grant(std::string k, std::string v, std::size_t nodes) : key(std::move(k)), value(std::move(v)), traces_(nodes) {}

void grant::ask_to_heal(std::size_t node)
{
    if (on(node).vote == vote::granted)  // it was the acquisition that set the key there
        return;
    heals_.resize(nodes());
    heals_[node].asked = true;
}

std::uint32_t grant::unanswered_on(std::size_t node) const noexcept
{
    return heals_.empty() ? 0 : heals_[node].unanswered_on;
}

void grant::heal_unanswered(std::size_t node, std::uint32_t connection)
{
    heals_.resize(nodes());
    if (heals_[node].unanswered_on == 0)
        heals_[node].unanswered_on = connection;
}

}  // namespace redlock::detail
