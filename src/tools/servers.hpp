#pragma once

#include "tools/server.hpp"
#include "tools/settings.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::tools {

/// What is asked on one trip: commands, each with its words.
using questions = std::vector<std::vector<std::string>>;

/// To as many questions. Who was asked nothing has answered nothing.
struct answers {
    std::vector<reply> replies{};
    std::chrono::microseconds took{0};  ///< the trip, and the connection if there was none
};

/// All Redis and Valkey servers of the settings, which are asked at the same time.
class servers {
public:
    /// @param command  "list": for the message
    /// @throws testbed::early_exit  one of the nodes is no such server, or a file for TLS cannot be used
    servers(asio::any_io_executor, settings const&, std::string_view command);

    std::size_t size() const noexcept { return all_.size(); }
    std::string const& name(std::size_t i) const { return all_[i]->name(); }

    /// Asks each server its own. @return what each has answered, when all have, or have failed to
    asio::awaitable<std::vector<answers>> ask(std::vector<questions> each, std::chrono::milliseconds limit = std::chrono::seconds(5));

    /// Asks all the same.
    asio::awaitable<std::vector<answers>> ask_all(questions, std::chrono::milliseconds limit = std::chrono::seconds(5));

private:
    std::vector<std::unique_ptr<server>> all_;
};

/// Whether all nodes are Redis or Valkey servers.
bool are_servers(settings const&);

/// Runs @p body with the servers. @return what it returns @throws testbed::early_exit, as the constructor; whatever @p body throws
int with_servers(settings const&, std::string_view command, std::function<asio::awaitable<int>(servers&)> const& body);

}  // namespace redlock::tools
