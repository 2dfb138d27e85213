#pragma once

#include "locks/held_lock.hpp"

#include <redlock/lock_scope.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v1::locks {

/// The locks that a scope's owner holds, which the scope does not keep, and the acquisitions in the scope. One of them
/// asks at a time: an owner that waits for two locks at once takes them in no order, and could deadlock. On the
/// manager's strand.
class scope_state : public std::enable_shared_from_this<scope_state> {
public:
    explicit scope_state(std::shared_ptr<manager_state> m) noexcept : manager(std::move(m)) {}

    std::shared_ptr<manager_state> const manager;

    /// Call this when a lock was acquired in this scope, before anybody gets the handle.
    void add(lock_handle const&);

    /// The part of some names that the scope holds.
    struct possession {
        std::vector<lock_handle> handles;  ///< one more handle on each held lock that has one of the names
        std::vector<std::string> rest;     ///< names that are not held
    };
    possession possession_of(resource_set const& names);

    /// The last held name, in the order of names; empty if nothing is held.
    std::string holds_up_to();

    /// The place of an acquisition in the scope's queue; the destructor removes it.
    class turn {
    public:
        /// @param names must outlive the turn
        /// @param wake is called when the turn has come, or when one of @p names is held. It must not change the scope.
        turn(scope_state& all, resource_set const& names, std::function<void()> wake);
        ~turn();
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        bool has_come() const noexcept { return all_.turns_.front() == this; }

    private:
        friend class scope_state;

        void leave() noexcept;

        scope_state& all_;
        std::function<void()> const wake_;
        std::list<turn*>::iterator const at_;
        std::vector<std::multimap<std::string_view, turn*>::iterator> entries_;
    };

    /// While it lives, calls a function when the scope gets a name that comes after a given one.
    class observation {
    public:
        /// @param tell must not change the scope
        observation(scope_state& of, std::string name, std::function<void()> tell)
            : of_(of), at_(of.observers_.emplace(std::move(name), std::move(tell)))
        {
        }
        ~observation() { of_.observers_.erase(at_); }
        observation(observation const&) = delete;
        observation& operator=(observation const&) = delete;

    private:
        scope_state& of_;
        std::multimap<std::string, std::function<void()>>::iterator const at_;
    };

private:
    struct known_lock {
        std::weak_ptr<held_lock> lock;
        std::weak_ptr<scope_share> handles;

        std::shared_ptr<held_lock> if_held() const;
    };

    void forget_others();

    std::map<std::string, known_lock, std::less<>> known_;  // by each name; some are no longer held
    std::size_t forget_at_ = 64;                            // at this size, locks that are no longer held are dropped
    std::list<turn*> turns_;
    std::multimap<std::string_view, turn*> wanted_;  // by each wanted name
    std::multimap<std::string, std::function<void()>> observers_;
};

}  // namespace redlock::locks
