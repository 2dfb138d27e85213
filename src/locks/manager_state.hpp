#pragma once

#include "locks/held_locks.hpp"
#include "locks/preferences.hpp"
#include "locks/renewal_log.hpp"
#include "locks/shutdown.hpp"
#include "locks/statistics.hpp"
#include "locks/waiters.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/proposals.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/context_guard.hpp"
#include "runtime/event_log.hpp"
#include "runtime/operations.hpp"
#include "runtime/runtime.hpp"

#include <redlock/config.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/node.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v0::locks {

/** What a manager, its locks and its operations share: the rooms of the house, and no more than how they are connected.

    All of it lives on the runtime's strand, except where a room says otherwise. It has a data member for each room.
*/
class manager_state final : public runtime::guest_of_context, public std::enable_shared_from_this<manager_state> {
public:
    /// Makes one that the execution context tells of its end.
    /// @param log the function of the config, where the nodes use it, too
    static std::shared_ptr<manager_state> make(asio::any_io_executor user_executor, std::shared_ptr<runtime::runtime>,
                                               config, std::vector<std::shared_ptr<node>>,
                                               std::shared_ptr<runtime::event_log> log = {});

    /// Only for @ref make.
    manager_state(asio::any_io_executor user_executor, std::shared_ptr<runtime::runtime>, config,
                  std::vector<std::shared_ptr<node>>, std::shared_ptr<runtime::event_log>);
    ~manager_state();

    // Any thread.
    asio::any_io_executor const& user_executor() const noexcept { return user_executor_; }
    runtime::strand const& strand() const noexcept { return runtime.strand(); }
    clock::time_point now() const noexcept { return runtime.now(); }
    bool abandoned() const noexcept { return runtime.abandoned(); }
    redlock::stats stats() const;

    /// A value that no other acquisition sets, of any client.
    std::string make_token();

    /// Begins the end, or joins it. Locks are kept until their holders have let go of them, or until they run out.
    void shut_down(std::function<void(error_code)> done);
    /// The same, for nobody who waits, without a need of memory. Any thread; once.
    void shut_down_in_background() noexcept;
    void abandon() override;

private:
    void changed(std::size_t node, std::string_view key);

    std::shared_ptr<runtime::runtime> const runtime_;
    std::shared_ptr<runtime::event_log> const log_;
    asio::any_io_executor user_executor_;

public:
    runtime::runtime& runtime;
    config const settings;
    std::string const owner;
    runtime::event_log& log;
    counters count;
    quorum::proposals proposals;
    quorum::quorum_state quorum;
    quorum::cleaner cleaner;
    locks::waiters waiters;
    locks::preferences preferences;
    locks::held_locks held_locks;
    runtime::operations operations;
    locks::renewal_log renewals;
    locks::shutdown shutdown;

private:
    struct last_will;
    std::shared_ptr<manager_state> last_self_;  // from the end of the manager until the shutdown begins
    runtime::strand::prepared last_will_;
    std::shared_ptr<void> alive_;  // this, while it shuts down: the manager may be gone
};

}  // namespace redlock::locks
