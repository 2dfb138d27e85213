#include "tools/serve/readiness.hpp"

#include <algorithm>
#include <string_view>

namespace redlock::serve {

namespace {

using std::chrono::milliseconds;

std::string_view in_words(quarantine_reason why)
{
    switch (why) {
    case quarantine_reason::fresh:
        return "are new to the prefix, or have lost all their keys";
    case quarantine_reason::restarted:
        return "have restarted, or have lost keys";
    case quarantine_reason::promoted:
        return "were promoted";
    case quarantine_reason::log_off:
        return "have a log that was switched off";
    }
    return "";
}

}  // namespace

readiness::readiness(std::vector<node_stats> const& all) : nodes_(all.size())
{
    std::vector<milliseconds> waits;
    for (auto const& n : all) {
        if (!n.connected)
            continue;
        ++connected_;
        waits.push_back(n.quarantine);
        if (n.quarantine.count() == 0)
            ++voting_;
        else
            ++waiting_[n.reason];
    }
    std::ranges::sort(waits);
    if (waits.size() >= quorum())
        wait_ = waits[quorum() - 1];
}

std::string readiness::why_not() const
{
    auto const of_all = " of " + std::to_string(nodes_) + " nodes ";
    std::string text = "no lock can be granted yet: " + std::to_string(voting_) + of_all + "vote";
    if (nodes_ > connected_)
        text += "; " + std::to_string(nodes_ - connected_) + " do not answer";
    for (auto const& [why, count] : waiting_)
        text.append("; ").append(std::to_string(count)).append(" ").append(in_words(why));
    if (wait_.count() > 0)
        text += "; a majority votes in " + std::to_string(std::chrono::ceil<std::chrono::seconds>(wait_).count())
                + " s";
    bool const all_may_be_new = voting_ == 0 && waiting_.size() == 1 && waiting_.contains(quarantine_reason::fresh);
    return all_may_be_new ? text + "; if all servers are newly installed: redlock nodes init" : text;
}

}  // namespace redlock::serve
