#pragma once

#include "cli/server.hpp"
#include "cli/settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::cli {

/// What is asked on one trip: commands, each with its words.
using questions = std::vector<std::vector<std::string>>;

/// As many replies as there were questions.
struct answers {
    std::vector<reply> replies{};
    std::chrono::microseconds took{0};  ///< the trip, and the connection if there was none
};

/// All Redis and Valkey servers of the settings, which are asked at the same time.
class servers {
public:
    /// @param command  "list": for the message
    /// @throws early_exit  one of the nodes is no such server, or a file for TLS cannot be used
    servers(asio::any_io_executor, settings const&, std::string_view command);

    std::size_t size() const noexcept { return all_.size(); }
    std::string const& name(std::size_t i) const { return all_[i]->name(); }

    /// How many of our commands a server has carried out: see @ref server::commands.
    std::int64_t commands(std::size_t i) const { return all_[i]->commands(); }

    /** Asks each server its own questions, all at the same time.

        Connecting to a server takes at most `config::connect_timeout`, and its answer `config::node_timeout`, at least
        a second. A server that takes longer is left out: later questions to it have silence as answer at once.

        @return the answers, when each server has answered or has failed to
    */
    asio::awaitable<std::vector<answers>> ask(std::vector<questions> each);

    /// Asks all servers the same questions.
    asio::awaitable<std::vector<answers>> ask_all(questions);

    /// Asks servers again that were left out.
    void include_all() { left_out_.assign(all_.size(), std::string()); }

private:
    asio::awaitable<answers> ask_one(std::size_t i, questions what);

    std::vector<std::unique_ptr<server>> all_;
    std::vector<std::string> left_out_;  // why; empty: it is asked
};

/// Whether all nodes are Redis or Valkey servers.
bool are_servers(settings const&);

/// Runs @p body with the servers. @return what it returns @throws early_exit, as the constructor; whatever @p body
/// throws
int with_servers(settings const&, std::string_view command, std::function<asio::awaitable<int>(servers&)> const& body);

}  // namespace redlock::cli
