#include "events/stat_members.hpp"

namespace redlock::inline v1 {

lock_stats& lock_stats::operator+=(lock_stats const& other)
{
    using members = events::stat_members<lock_stats>;
    for (auto const member : members::counters)
        this->*member += other.*member;
    for (auto const member : members::histograms)
        this->*member += other.*member;
    return *this;
}

}  // namespace redlock
