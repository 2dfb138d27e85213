#pragma once

#include "tools/redlock/server/server.hpp"
#include "tools/redlock/args/settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The commands that are sent to a server in one round trip. Each command is a list of words.
using questions = std::vector<std::vector<std::string>>;

/// As many replies as there were questions.
struct answers {
    std::vector<reply> replies{};
    std::chrono::microseconds took{0};  ///< the round trip, with the time to connect if there was no connection
};

/// All Redis and Valkey servers of the settings. Questions go to all of them at the same time.
class servers {
public:
    /// @param command  for messages, such as "list"
    /// @throws early_exit if a node is not a Redis or Valkey server, or a file for TLS cannot be used
    servers(asio::any_io_executor, settings const&, std::string_view command);

    std::size_t size() const noexcept { return all_.size(); }
    std::string const& name(std::size_t i) const { return all_[i]->name(); }

    /// See @ref server::commands.
    std::int64_t commands(std::size_t i) const { return all_[i]->commands(); }

    /** Asks each server its own questions, all at the same time.

        The timeout for connecting is `manager_options::connect_timeout`. The timeout for an answer is
       `manager_options::node_timeout`, but at least one second. If a server exceeds a timeout, it is left out: all
       later questions to it are answered with `reply::kind::silence` immediately.

        @return the answers, after each server has answered or failed
    */
    asio::awaitable<std::vector<answers>> ask(std::vector<questions> each);

    /// Asks all servers the same questions.
    asio::awaitable<std::vector<answers>> ask_all(questions);

    /// Later questions go to all servers again.
    void include_all() { left_out_.assign(all_.size(), std::string()); }

private:
    asio::awaitable<answers> ask_one(std::size_t i, questions what);

    std::vector<std::unique_ptr<server>> all_;
    std::vector<std::string> left_out_;  // the reason; empty: the server is not left out
};

/// Whether a server refuses the password or a command. If so, the user must correct the configuration.
bool is_refused(reply const&);

/// Runs @p body with the servers. @return its result
/// @throws early_exit like the constructor of @ref servers
/// @throws any exception of @p body
int with_servers(settings const&, std::string_view command, std::function<asio::awaitable<int>(servers&)> const& body);

}  // namespace redlock::cli
