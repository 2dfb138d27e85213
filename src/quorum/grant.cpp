#include "quorum/grant.hpp"

namespace redlock::inline v1::quorum {

void grant::sent(request const& r, std::uint32_t connection) noexcept
{
    auto& t = on(r.node);
    bool const is_first = r.sent_on == 0;
    if (is_first && r.command.may_set_again())
        ++t.repeats;
    if (is_first && r.command.prolongs())
        ++t.extensions;
    if (r.command.grows())
        repeats_[r.node].asked = true;
    if (r.trims)
        trim_sent(r.node, connection);
    if (r.command.which() == node_command::kind::acquire) {
        t.sent_on = connection;
        t.answered = false;
    }
}

void grant::answered(request const& r, node_reply const& reply)
{
    using kind = node_command::kind;
    auto& t = on(r.node);
    auto const what = r.command.which();
    bool const is_unknown = reply.vote == redlock::vote::unknown;
    bool const is_lost = is_unknown && !reply.untouched;  // the node may have executed the request, or may do so later
    if (what == kind::acquire) {
        t.answered = true;
        t.untouched = reply.untouched;
        t.vote = reply.vote;
    }
    if (r.sent_on == 0)
        return;
    if ((what == kind::extend || what == kind::replace) && !is_unknown)
        t.lacks_keys = reply.vote == redlock::vote::denied;
    if (r.command.prolongs() && !is_lost)
        --t.extensions;
    if (r.trims && !is_lost)
        trim_answered(r.node);
    if (r.command.may_set_again()) {
        --t.repeats;
        if (is_lost)
            repeat_unanswered(r.node, r.sent_on);
    }
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

}  // namespace redlock::quorum
