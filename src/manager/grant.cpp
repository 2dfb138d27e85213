#include "manager/grant.hpp"

#include "manager/round.hpp"

#include <utility>

namespace redlock::detail {

grant::grant(std::string k, std::string v, std::size_t nodes) : key(std::move(k)), value(std::move(v)), traces_(nodes) {}

grant::trace grant::on(std::size_t node) const noexcept
{
    return asked_ ? asked_->ballots[node].trace() : traces_[node];
}

void grant::withdraw(std::size_t node) noexcept
{
    if (asked_)
        asked_->ballots[node].withdraw();
}

}  // namespace redlock::detail
