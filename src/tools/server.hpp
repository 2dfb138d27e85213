#pragma once

#include "tools/reply.hpp"

#include <redlock/config.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace redlock::tools {

namespace asio = boost::asio;

/** One Redis or Valkey server, for the questions of its operators: what locks do with it is the library's.

    It connects with the first question, and again with the next one when the connection has ended. On one thread.
*/
class server {
public:
    /// @param url  one of `config::nodes` that leads to a server: see @ref is_server
    /// @throws std::invalid_argument naming the file that cannot be used
    server(asio::any_io_executor, std::string const& url, redlock::config const&);
    ~server();
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    /// Its address, without user and password.
    std::string const& name() const noexcept;

    /// One question at a time. It takes at most three times `config::connect_timeout` and @p limit; twice that if it connects.
    asio::awaitable<reply> ask(std::vector<std::string> words, std::chrono::milliseconds limit = std::chrono::seconds(5));

    /// Several at once, on one trip: as many answers.
    asio::awaitable<std::vector<reply>> ask_all(std::vector<std::vector<std::string>> questions, std::chrono::milliseconds limit = std::chrono::seconds(5));

private:
    struct connection;
    std::shared_ptr<connection> const connection_;
};

/// Whether an entry of `config::nodes` leads to one Redis or Valkey server, and not to Sentinels, a cluster, or another store.
bool is_server(std::string const& url);

/// The address for people.
std::string name_of(std::string const& url);

}  // namespace redlock::tools
