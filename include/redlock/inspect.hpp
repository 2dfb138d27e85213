#pragma once

#include <redlock/error.hpp>
#include <redlock/mode.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace redlock::inline v1 {

/// The knowledge of one node about a resource: a part of @ref lock_info.
struct node_lock_info {
    std::string name{};                      ///< The node's address, without user and password.
    error_code error{};                      ///< Why the node did not answer. None: it did.
    bool locked = false;                     ///< Whether the node has the key.
    redlock::mode mode = mode::exclusive;    ///< Exclusive or shared: see @ref lock_info::mode.
    std::string owner{};                     ///< The holder's label: see @ref lock_info::owner.
    std::chrono::milliseconds remaining{0};  ///< Time to live of the key. Negative: the key never expires.
    std::string note{};                      ///< The purpose of the hold: see @ref lock_info::note.
    /// The value of the key. Everybody who knows it can release the lock, so do not show it to everybody. A shared lock
    /// has the value `:=shared`.
    std::string value{};
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// A client that shares a lock: a part of @ref lock_info.
struct reader_info {
    std::string owner{};                     ///< The client's label: see @ref lock_info::owner.
    std::string note{};                      ///< The purpose of the hold: see @ref lock_info::note.
    std::chrono::milliseconds remaining{0};  ///< How long it still shares the lock, unless it extends that time.
    std::size_t nodes = 0;                   ///< How many nodes list it.
    /// The start of the hold, by the client's own wall clock. None: unknown.
    std::optional<std::chrono::system_clock::time_point> since{};
    std::string value{};  ///< Its value: see `node_lock_info::value`.
};

/// A client that waits for a lock, or has lately stopped to: a part of @ref lock_info.
struct waiting_info {
    std::string owner{};  ///< The client's label, cut to 238 bytes. Empty: the client leaves none.
    std::string note{};   ///< The client's `acquire_options::note`. Empty: none, or no node has kept it.
    bool shares = false;  ///< Whether it wants to share the lock.
    std::string id{};     ///< Identifies the client: two managers never have the same.
};

/// The holder of a resource, from `lock_manager::async_inspect`. A snapshot, which may be outdated at once.
struct lock_info {
    std::string resource{};  ///< The name that was asked for.
    /// Whether a majority of the nodes names the same holder, or says that the lock is shared.
    bool locked = false;
    /// Exclusive or shared. @ref readers lists those that share the lock.
    redlock::mode mode = mode::exclusive;
    /// The label of the holder, its `manager_options::owner`. Empty: the client that wrote the key leaves no label.
    std::string owner{};
    std::chrono::milliseconds remaining{0};  ///< How long a majority will continue to name the holder.
    std::vector<node_lock_info> nodes{};     ///< The answer of each node, in the order of `manager_options::nodes`.
    /// The purpose of the hold: the holder's `acquire_options::note`. Empty: the holder leaves none.
    std::string note{};
    /// The start of the hold, by the holder's own wall clock, which may be wrong: for people only. None: unknown.
    std::optional<std::chrono::system_clock::time_point> since{};
    /// The clients that share the lock, at most 64. Empty also if no node lists them: see @ref knows_readers.
    std::vector<reader_info> readers{};
    /// The clients that some node has lately denied the lock, at most 64. A client that stopped to wait may be listed
    /// for a while. Empty also if no node lists them: see @ref knows_waiters.
    std::vector<waiting_info> waiters{};
    bool knows_readers = false;  ///< Whether some node lists the readers.
    bool knows_waiters = false;  ///< Whether some node lists waiting clients.
};

/// The result of `lock_manager::async_break` on one node: a part of @ref break_info.
struct node_break_info {
    std::string name{};    ///< The node's address, without user and password.
    bool deleted = false;  ///< Whether the node had a value that was seen, and has deleted it.
    /// Why the node did not answer. The manager asks it again in the background. None: it did.
    error_code error{};
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// The result of `lock_manager::async_break`.
struct break_info {
    std::string resource{};                ///< The name of the lock.
    std::size_t deleted = 0;               ///< How many nodes have deleted a value.
    std::vector<node_break_info> nodes{};  ///< The result on each node, in the order of `manager_options::nodes`.
};

/// The progress of a listing on one node: a part of @ref lock_page.
struct node_list_info {
    std::string name{};     ///< The node's address, without user and password.
    bool complete = true;   ///< Whether the node has listed its locks so far. If not, the listing goes on without it.
    error_code error{};     ///< Why it did not, if that happened on this page.
    std::string message{};  ///< The server's own words for @ref error, without secrets; may be empty.
};

/// Some of the locks, from `lock_manager::async_list`.
struct lock_page {
    std::vector<lock_info> locks{};  ///< In no order. It may be empty although more pages follow.
    /// The place where the next page begins, for `list_options::from`: printable text. Empty: this is the last page.
    std::string next{};
    std::vector<node_list_info> nodes{};  ///< The progress on each node, in the order of `manager_options::nodes`.
};

}  // namespace redlock
