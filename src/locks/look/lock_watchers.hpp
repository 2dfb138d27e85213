#pragma once

#include <redlock/resource_set.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v1::locks {

class watched_lock;

/// The locks for whose next holder somebody waits, by their resources. On the strand.
class lock_watchers {
public:
    /// The lock may have changed on some node.
    void changed(std::string_view resource);

    /// Call it with resources that this manager has acquired or changed. A node may not notify of changes by its own
    /// client.
    void changed(resource_set const& resources)
    {
        for (auto const& resource : resources)
            changed(std::string_view(resource));
    }

    void all_changed();

    /// The execution context ends. The watched locks refer to the manager.
    void abandon() noexcept { auto const gone = std::exchange(all_, {}); }

private:
    friend class watched_lock;

    std::map<std::string, std::shared_ptr<watched_lock>, std::less<>> all_;
};

}  // namespace redlock::locks
