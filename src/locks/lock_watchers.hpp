#pragma once

#include <redlock/resource_set.hpp>

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace redlock::inline v0::locks {

/// Waits for another holder of a lock.
class lock_watcher {
public:
    /// The lock may have changed on some node.
    virtual void changed() = 0;

protected:
    ~lock_watcher() = default;
};

/// Those that wait for another holder of a lock, by its resource. On the strand.
class lock_watchers {
    using members = std::multimap<std::string, lock_watcher*, std::less<>>;

public:
    /// An entry; the destructor removes it.
    class place {
    public:
        place(lock_watchers& all, std::string resource, lock_watcher& w)
            : all_(all.members_), at_(all_.emplace(std::move(resource), &w))
        {
        }
        ~place() { all_.erase(at_); }
        place(place const&) = delete;
        place& operator=(place const&) = delete;

    private:
        members& all_;
        members::iterator const at_;
    };

    void changed(std::string_view resource)
    {
        for (auto [w, end] = members_.equal_range(resource); w != end; ++w)
            w->second->changed();
    }

    /// Call it with resources that this manager has acquired or changed. A node may not notify of changes by its own
    /// client.
    void changed(resource_set const& resources)
    {
        for (auto const& resource : resources)
            changed(std::string_view(resource));
    }

    void all_changed()
    {
        for (auto const& [resource, w] : members_)
            w->changed();
    }

private:
    members members_;
};

}  // namespace redlock::locks
