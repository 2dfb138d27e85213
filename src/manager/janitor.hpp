#pragma once

#include "core/schedule.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>

namespace redlock::detail {

class ballot;
class engine;
class grant;
class round;

/** Sees every release through, also those that nobody waits for: until the node confirms that the key is
    gone, or it must have expired by itself.

    Releases that cannot be sent wait in their node; those that failed wait here for their next try.
*/
class janitor {
public:
    explicit janitor(engine&);

    /// Prepares to release, on every node that may have it, the key of a grant.
    /// @p ttl is the longest time to live that the key was ever given. The caller must send or gather the round.
    std::shared_ptr<round> make_release(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// The same, sent at once and without waiting.
    void clean_up(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

    /// Called with each answer to a release.
    void settle(ballot&);

    /// Releases that are not confirmed yet.
    std::size_t pending() const noexcept { return pending_; }

    /// Gives up.
    void stop();

private:
    void try_again();

    engine& engine_;
    std::size_t pending_ = 0;
    std::multimap<clock::time_point, std::pair<std::shared_ptr<round>, std::size_t>> later_;
    core::alarm<clock::time_point> alarm_;
};

}  // namespace redlock::detail
