#pragma once

#include "tools/redlock/server/reply.hpp"

#include <redlock/manager_options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace redlock::cli {

namespace asio = boost::asio;

/// How long a server may take.
struct ask_limits {
    std::chrono::milliseconds connect;  ///< to connect, and to answer the greeting
    std::chrono::milliseconds answer;   ///< to answer the questions of one round trip
};

/** A connection to one Redis or Valkey server, for the questions of operators. Locks use the library instead.

    The first question connects. If the connection has ended, the next question connects again. Only one thread may use
    an object of this class.
*/
class server {
public:
    /// @param url  an entry of `manager_options::nodes` for which @ref is_server is true
    /// @throws std::invalid_argument if a file for TLS cannot be used; the message names the file
    server(asio::any_io_executor, std::string const& url, redlock::manager_options const&, ask_limits);
    ~server();
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    /// The address, without user and password.
    std::string const& name() const noexcept;

    /// Asks one question. Await the answer before the next call.
    asio::awaitable<reply> ask(std::vector<std::string> words);

    /// Asks several questions in one round trip. @return as many answers
    asio::awaitable<std::vector<reply>> ask_all(std::vector<std::vector<std::string>> questions);

    /// Why the last question failed, if connecting failed or the answer timed out. Empty: the question was answered, or
    /// the connection has ended; then the next question connects again.
    std::string const& trouble() const noexcept;

    /// How many commands of this object the server has executed. Commands without an answer count; refused commands do
    /// not.
    std::int64_t commands() const noexcept;

private:
    struct connection;
    std::shared_ptr<connection> const connection_;
};

/// Whether an entry of `manager_options::nodes` is one Redis or Valkey server. Sentinels, a cluster and other stores
/// are not.
bool is_server(std::string const& url);

/// Whether an entry of `manager_options::nodes` is a Redis Cluster.
bool is_cluster(std::string const& url);

/// The address for messages, without user and password.
std::string name_of(std::string const& url);

}  // namespace redlock::cli
