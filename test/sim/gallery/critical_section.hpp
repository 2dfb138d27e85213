#pragma once

#include <redlock/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace redlock::sim::gallery {

/// What one holder of the lock does while it has it.
struct visit {
    std::string who;
    std::string process;
    std::uint64_t token = 0;  ///< zero: none
    bool touched = false;     ///< what the lock protects
    bool paused = false;      ///< between its look at the lock and a touch that followed
};

/** What the lock protects, and the judge of who was there at once, by the time of the world.

    A visit lasts from its first touch to its last: if another one's comes between two of them, both were there.
*/
class critical_section {
public:
    /// @p broken: called with who is there still, and who came between
    explicit critical_section(std::function<void(visit const&, visit const&)> broken) : broken_(std::move(broken)) {}

    /// @return whether it was let in: not with a lower fencing token than another had
    bool touch(std::shared_ptr<visit> const& v)
    {
        if (v->token > 0 && v->token < highest_token_)
            return false;
        highest_token_ = std::max(highest_token_, v->token);
        if (v->touched && last_ != v)
            broken_(*v, *last_);
        v->touched = true;
        last_ = v;
        return true;
    }

private:
    std::function<void(visit const&, visit const&)> const broken_;
    std::shared_ptr<visit> last_;
    std::uint64_t highest_token_ = 0;
};

}  // namespace redlock::sim::gallery
