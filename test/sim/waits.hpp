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

/// Somebody holds it for seconds, and whoever wants it must wait.
inline constexpr char const* kept_for_long = "A";

/// Some owners read this name for nearly a second each. An upgrade of it waits for one of them at most.
inline constexpr char const* read_for_long = "y";

/// A name that an owner holds.
struct claim {
    void const* who;  ///< what one owner holds does not exclude what else it holds
    std::string const& name;
    std::span<std::string const> resources;
    bool shares;
};

/// A call that may wait for ever.
struct wait {
    owner const* who;
    std::string const& name;
    process const* in;
    std::vector<std::string> resources;
    redlock::mode mode;  ///< in which it waits for them
    clock::time_point since;
    bool upgrades = false;    ///< it shares the resource already
    clock::duration calm{0};  ///< of that, while nothing was wrong anywhere

    bool may_take_long() const
    {
        return resources.front() == kept_for_long || (resources.front() == read_for_long && !upgrades);
    }
};

/// If somebody among @p waits has waited for longer than @p patience: for whom, and for whom those wait, as far as it
/// can be seen from outside. Empty: nobody has.
std::string who_waits_for_ever(std::list<wait const*> const& waits, std::span<claim const> claims,
                               clock::duration patience);

}  // namespace redlock::sim
