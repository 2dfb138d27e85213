#pragma once

#include "sql/session.hpp"

#include <redlock/config.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

namespace redlock::sql {

/// What a database node is made of.
struct database {
    std::string name;         ///< for people: without user and password
    std::string kind;         ///< such as "postgresql": what servers of this kind say of themselves is theirs alone
    std::size_t connections;
    std::chrono::milliseconds timeout;
    /// Makes session @p i; the first one is to be notified of changes.
    std::function<std::shared_ptr<session>(asio::any_io_executor, std::size_t i, session::owner&)> make_session;
};

std::shared_ptr<node> make_database_node(database, config const&, store_context);

}  // namespace redlock::sql
