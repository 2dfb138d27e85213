#pragma once

#include "locks/held_locks.hpp"
#include "locks/preferences.hpp"
#include "locks/renewal_log.hpp"
#include "locks/shutdown.hpp"
#include "locks/counters.hpp"
#include "locks/look/lock_watchers.hpp"
#include "locks/waiters.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/proposals.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/context_guard.hpp"
#include "events/event_log.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

#include <redlock/lock_manager.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v1::locks {

/** The state that a manager, its locks and its operations share. It has a data member for each part, and only
    connects them. Everything lives on the runtime's strand, unless the part says otherwise.
*/
class manager_state final : public runtime::context_user, public std::enable_shared_from_this<manager_state> {
public:
    /// Makes a state that the execution context notifies of its end.
    /// @param log the event log, if the nodes use it already
    static std::shared_ptr<manager_state> make(asio::any_io_executor user_executor, std::shared_ptr<runtime::runtime>,
                                               manager_options, std::vector<std::shared_ptr<node>>,
                                               std::shared_ptr<events::event_log> log = {});

    /// Only for @ref make.
    manager_state(asio::any_io_executor user_executor, std::shared_ptr<runtime::runtime>, manager_options,
                  std::vector<std::shared_ptr<node>>, std::shared_ptr<events::event_log>);
    ~manager_state();

    // Any thread.
    asio::any_io_executor const& user_executor() const noexcept { return user_executor_; }
    runtime::strand const& strand() const noexcept { return runtime.strand(); }
    clock::time_point now() const noexcept { return runtime.now(); }
    bool abandoned() const noexcept { return runtime.abandoned(); }
    redlock::stats stats() const;

    /// A value that no other acquisition of any client uses.
    std::string make_token(acquire_options const&);

    /// Begins the shutdown, or joins it. A lock stays held until its holder gives it back, or until its validity is
    /// over.
    /// @param done gets the number of keys that could not be released; may be empty
    void shut_down(std::function<void(std::size_t keys_left)> done);
    /// Begins the shutdown without a handler and without allocating memory. Any thread; call it once.
    void shut_down_in_background() noexcept;
    void abandon() override;

private:
    void changed(std::size_t node, std::string_view key);

    std::shared_ptr<runtime::runtime> const runtime_;
    std::shared_ptr<events::event_log> const log_;
    asio::any_io_executor user_executor_;

public:
    runtime::runtime& runtime;
    manager_options const settings;
    std::string const owner;
    events::event_log& log;
    counters count;
    quorum::proposals proposals;
    quorum::quorum_state quorum;
    quorum::cleaner cleaner;
    locks::waiters waiters;
    locks::lock_watchers watchers;
    locks::preferences preferences;
    locks::held_locks held_locks;
    runtime::operations operations;
    locks::renewal_log renewals;
    locks::shutdown shutdown;

private:
    struct deferred_shutdown;
    std::shared_ptr<manager_state> kept_until_shutdown_;  // set from the manager's end until the shutdown begins
    runtime::strand::prepared deferred_shutdown_;
    std::shared_ptr<void> alive_;  // this, during the shutdown: the manager may be destroyed
};

}  // namespace redlock::locks
