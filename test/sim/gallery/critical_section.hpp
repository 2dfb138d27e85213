#pragma once

#include <redlock/clock.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace redlock::sim::gallery {

/// The work of one holder of the lock.
struct visit {
    std::string who;
    std::string process;
    std::uint64_t token = 0;  ///< zero: none
    bool touched = false;     ///< has touched what the lock protects
    bool paused = false;      ///< was paused between its check of the lock and a touch
};

/** The resource that the lock protects. It checks, in true time, whether two visits happen at once. A visit lasts from
    its first touch to its last, and no other visit may touch in between.
*/
class critical_section {
public:
    /// @p broken is called with the visit that is still there, and the one that came between.
    explicit critical_section(std::function<void(visit const&, visit const&)> broken) : broken_(std::move(broken)) {}

    /// @return whether it was let in: its fencing token must not be lower than an earlier one
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
