// Detaches a lock: another process resumes it with the ticket.

#include "locks/tickets/tickets.hpp"

#include "locks/held_lock.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::inline v1::locks {

std::shared_ptr<quorum::grant> grant_of(lock_ticket const& ticket, manager_state const& state)
{
    quorum::key_list keys;
    for (auto const& resource : ticket.resources)
        keys.push_back(state.settings.prefix + resource);
    auto g =
        detail::make_recycled<quorum::grant>(std::move(keys), ticket.token, state.quorum.nodes.size(), ticket.mode);
    g->taken_over();
    g->fence = ticket.fencing_token;
    g->hands_over = true;  // the process that acquired the lock may have announced its own waiters
    return g;
}

std::string const& lack(lock_ticket const& ticket, quorum::node_set const& nodes)
{
    auto const& of_all = nodes.tickets_lack();
    return of_all.empty() ? nodes.lack(ticket.resources, ticket.mode) : of_all;
}

std::string const& lack(lock_ticket const& ticket, acquire_options const& options, quorum::node_set const& nodes)
{
    auto const& why = lack(ticket, nodes);
    return why.empty() && !options.new_token.empty() ? nodes.replace_lack() : why;
}

namespace {

error_code check_detachment(handle_state const& s)
{
    auto const& held = s.lock;
    if (s.given_back() || held.state->abandoned())
        return errc::not_held;
    if (!s.parts().empty() || held.held_as.is_upgradeable() || held.held_as.current() != held_lock::form::as_acquired)
        return errc::invalid_argument;
    if (!held.state->quorum.nodes.tickets_lack().empty())
        return errc::unsupported;
    if (!held.held())
        return errc::lost;
    // A node may carry out an unanswered trim late, and the next holder would not know on which nodes.
    return held.grant()->has_trims_unanswered() ? make_error_code(errc::contended) : error_code();
}

}  // namespace

lock_ticket detach(std::shared_ptr<handle_state> const& s, error_code& ec)
{
    ec = s ? check_detachment(*s) : make_error_code(errc::not_held);
    if (ec)
        return {};
    auto& held = s->lock;
    auto const& grant = *held.grant();
    lock_ticket ticket{
        .resources = held.resources, .token = grant.value, .mode = grant.mode, .fencing_token = grant.fence};
    if (!s->end_alone()) {
        ec = errc::contended;
        return {};
    }
    if (!held.validity.detach()) {  // it was lost at this moment
        held.validity.give_up(held_lock::condition::released);
        ec = errc::lost;
        ticket = {};
    }
    try {
        asio::post(held.state->strand(), [s] { s->lock.state->held_locks.give_away(s->lock); });
    } catch (...) {  // out of memory: the alarm does that when the validity is over
    }
    return ticket;
}

}  // namespace redlock::locks
