#pragma once

#include "tools/redlock/locks/held_locks.hpp"
#include "tools/redlock/locks/lock_view.hpp"

#include <redlock/inspect.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::cli {

struct how_to_acquire;

/// The result of an acquisition.
struct acquired {
    std::shared_ptr<held_locks> held{};  ///< null: the acquisition failed
    int status = 0;
    std::string message{};       ///< for people, if the acquisition failed: one line that begins with "redlock"
    bool is_unanswered = false;  ///< it failed because too few nodes answer, and that may change
    std::chrono::milliseconds waited{0};
};

/// The result of a deletion.
struct deletion {
    error_code error{};
    std::vector<node_break_info> nodes{};  ///< empty: no node was asked
};

/// Where commands acquire locks and look at them: the nodes, or a service that asks the nodes.
class lock_source {
public:
    virtual ~lock_source() = default;

    /// Acquires all locks, or none.
    virtual asio::awaitable<acquired> ask(how_to_acquire const&) = 0;

    /// Asks about one lock.
    /// @throws early_exit if the name is refused
    virtual asio::awaitable<lock_view> look_at(std::string key) = 0;

    /// Lists all locks whose names match @p glob, and passes them on while pages arrive, until @p each returns false.
    /// The memory does not depend on the number of locks.
    /// @return all nodes, with the error of those that have not listed all their locks
    /// @throws early_exit if the pattern is refused
    virtual asio::awaitable<std::vector<node_list_info>> list_all(std::string glob,
                                                                  std::function<bool(std::vector<lock_view>)> each) = 0;

    /// Deletes a lock as it was seen. @param meant  the part of @p seen that is to be deleted
    virtual asio::awaitable<deletion> take_away(lock_view const& seen, lock_info meant) = 0;
};

}  // namespace redlock::cli
