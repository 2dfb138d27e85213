#include "stores/kit/pending_queue.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

namespace redlock::stores::kit {

namespace {

using kind = node_command::kind;

bool is_late(node_operation const& o, clock::time_point now) { return o.withdrawn() || now > o.not_after; }

node_reply too_late() { return {.untouched = true, .error = errc::node_unreachable}; }

}  // namespace

void complete(finished all)
{
    for (auto& [o, reply] : all)
        o->complete(std::move(reply));
}

std::optional<node_reply> answer_at_once(node_operation const& o, key_limit const& limit, clock::time_point now)
{
    auto const& c = o.command();
    if (is_late(o, now))
        return too_late();
    if (c.which() == kind::connect)
        return node_reply{.vote = vote::granted};
    if (c.keys.size() > limit.keys_max)
        return node_reply{.untouched = true,
                          .error = errc::unsupported,
                          .text = fmt::format("{} locks at most {} resources at once", limit.store, limit.keys_max)};
    return std::nullopt;
}

std::optional<node_reply> refuse_to_wait(node_operation const& o, node_reply const& trouble, clock::time_point now)
{
    if (is_late(o, now))
        return too_late();
    bool const deletes = o.command().which() == kind::release || o.command().which() == kind::withdraw;
    return trouble.error && !deletes ? std::optional(trouble) : std::nullopt;
}

}  // namespace redlock::stores::kit
