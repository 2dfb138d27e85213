#pragma once

#include "locks/held_lock.hpp"

#include <redlock/lock_scope.hpp>

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::detail {

/// What a scope knows of the locks that its owner holds, which it does not keep; and who asks for more in it: one at a time, because
/// who waits for two at once has no order in which it takes them. On the manager's strand.
class scope_state : public std::enable_shared_from_this<scope_state> {
public:
    explicit scope_state(std::shared_ptr<manager_state> m) noexcept : manager(std::move(m)) {}

    std::shared_ptr<manager_state> const manager;

    /// It was acquired in this scope, and nobody has it yet.
    void add(lock_handle const&);

    /// One more handle on each lock that is held and has one of @p names.
    std::vector<lock_handle> handles_on(resource_set const& names);

    /// The last, in the order of names, of all that is held; empty if that is nothing.
    std::string holds_up_to() const;

    /// A place among those who ask for more; it is left on every path.
    class turn {
    public:
        /// @param wake is called when somebody before it has left: its turn may have come, or what it wants may be held now
        turn(scope_state& all, std::function<void()> wake) : all_(all), at_(all.turns_.insert(all.turns_.end(), std::move(wake))) {}
        ~turn();
        turn(turn const&) = delete;
        turn& operator=(turn const&) = delete;
        bool has_come() const noexcept { return all_.turns_.begin() == at_; }

    private:
        scope_state& all_;
        std::list<std::function<void()>>::iterator const at_;
    };

    /// For as long as it lives, somebody is told when the scope holds more.
    class observation {
    public:
        observation(scope_state& of, std::function<void()> tell) : of_(of), at_(of.observers_.insert(of.observers_.end(), std::move(tell))) {}
        ~observation() { of_.observers_.erase(at_); }
        observation(observation const&) = delete;
        observation& operator=(observation const&) = delete;

    private:
        scope_state& of_;
        std::list<std::function<void()>>::iterator const at_;
    };

private:
    struct known_lock {
        std::weak_ptr<held_lock> lock;
        std::weak_ptr<scope_share> handles;

        std::shared_ptr<held_lock> if_held() const;
    };

    std::vector<known_lock> known_;
    std::list<std::function<void()>> turns_;
    std::list<std::function<void()>> observers_;
};

}  // namespace redlock::detail
