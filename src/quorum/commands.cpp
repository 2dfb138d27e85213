#include "quorum/commands.hpp"

#include "core/key.hpp"

namespace redlock::inline v1::quorum {

round_command::round_command(commands::variant what, std::shared_ptr<grant> of, std::chrono::milliseconds ttl)
    : about(std::move(of)),
      command{.what = what, .mode = about->mode, .keys = about->keys, .value = about->value, .ttl = ttl}
{
}

round_command::round_command(quorum_state const& q, commands::variant what, key_list keys, std::string value,
                             std::chrono::milliseconds ttl, mode m)
    : round_command(what, detail::make_recycled<grant>(std::move(keys), std::move(value), q.nodes.size(), m), ttl)
{
}

void round_command::name_contender(contender_name name)
{
    viewed = std::move(name);
    auto const note = core::holder_in(command.value).note;
    switch (command.which()) {
    case node_command::kind::acquire:
        command.as<commands::acquire>().contender = *viewed;
        command.as<commands::acquire>().note = note;
        break;
    case node_command::kind::upgrade:
        command.as<commands::upgrade>().contender = *viewed;
        command.as<commands::upgrade>().note = note;
        break;
    default:
        command.as<commands::withdraw>().contender = *viewed;
    }
}

void round_command::contend(contender_name name, bool more_follow)
{
    name_contender(std::move(name));
    if (command.is_shared())
        return;  // shared locks are not handed over
    about->hands_over = more_follow;
    command.as<commands::acquire>().handed_on = more_follow ? commands::handovers::follow : commands::handovers::end;
}

void round_command::grow()
{
    about->grow();
    command.as<commands::acquire>().grows = true;
}

round_command to_holders(commands::variant what, std::shared_ptr<grant> about, std::chrono::milliseconds ttl)
{
    round_command c(what, std::move(about), ttl);
    c.ask_only([&](std::size_t i) { return c.about->may_hold(i); });
    return c;
}

round_command to_connect(quorum_state const& q)
{
    return {q, commands::connect{}, key_list(1), std::string(), std::chrono::milliseconds(0)};
}

round_command to_ask_if_new(quorum_state const& q)
{
    round_command c(q, commands::found{.only_asks = true}, key_list(1), std::string(), std::chrono::milliseconds(0));
    c.waits_for_all = true;
    return c;
}

round_command to_release(std::shared_ptr<grant> taken, std::chrono::milliseconds ttl)
{
    auto const handed_on = taken->hands_over ? commands::handovers::end : commands::handovers::unsaid;
    return to_holders(commands::release{.handed_on = handed_on}, std::move(taken), ttl);
}

round_command to_trim(std::shared_ptr<grant> taken, std::span<std::size_t const> ours, std::size_t kept,
                      std::chrono::milliseconds ttl)
{
    round_command c(commands::release{}, std::move(taken), ttl);
    c.command.keys = key_view(c.command.keys.subspan(kept));
    c.trims = true;
    c.ask_only([&](std::size_t i) { return ours[i] > kept; });
    return c;
}

round_command to_replace(std::string former, std::shared_ptr<grant> by, std::chrono::milliseconds ttl)
{
    round_command c(commands::replace{}, std::move(by), ttl);
    c.viewed = std::make_shared<std::string const>(std::move(former));
    c.command.as<commands::replace>().former = *c.viewed;
    return c;
}

round_command to_withdraw(quorum_state const& q, key_list keys, std::chrono::milliseconds ttl)
{
    round_command c(q, commands::withdraw{}, std::move(keys), std::string(), ttl);
    c.name_contender(q.contender);
    return c;
}

entrant::purpose purpose_of(node_command const& c) noexcept
{
    using kind = node_command::kind;
    using purpose = entrant::purpose;
    switch (c.which()) {
    case kind::extend:
    case kind::replace:
    case kind::downgrade:
        return purpose::extension;
    case kind::release:
    case kind::raise:
    case kind::withdraw:
        return purpose::ending;
    case kind::acquire:
        return purpose::acquisition;
    default:
        return purpose::other;
    }
}

}  // namespace redlock::quorum
