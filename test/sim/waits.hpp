#pragma once

#include <redlock/clock.hpp>
#include <redlock/mode.hpp>

#include <list>
#include <span>
#include <string>
#include <vector>

namespace redlock::sim {

class owner;
class process;

/// Some owners hold this name for seconds, and all others wait for them.
inline constexpr char const* kept_for_long = "A";

/// Some owners read this name for nearly a second each. An upgrade of it waits for at most one of them.
inline constexpr char const* read_for_long = "y";

/// A name that an owner holds.
struct claim {
    void const* who;  ///< claims of one owner do not exclude each other
    std::string const& name;
    std::span<std::string const> resources;
    bool shares;
};

/// A call that waits without a limit.
struct wait {
    owner const* who;
    std::string const& name;
    process const* in;
    std::vector<std::string> resources;
    redlock::mode mode;  ///< the mode that it wants
    clock::time_point since;
    bool upgrades = false;    ///< it shares the resource already
    clock::duration calm{0};  ///< how long it has waited while nothing was wrong

    bool may_take_long() const
    {
        return resources.front() == kept_for_long || (resources.front() == read_for_long && !upgrades);
    }
};

/// Describes a deadlock, or a call that starves, as far as that can be seen from outside. Only calls count that have
/// waited for longer than @p limit. Empty: there is none.
std::string find_deadlock(std::list<wait const*> const& waits, std::span<claim const> claims, clock::duration limit);

}  // namespace redlock::sim
