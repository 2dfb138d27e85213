#pragma once

#include "cli/reply.hpp"

#include <redlock/config.hpp>

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
    std::chrono::milliseconds connect;  ///< to be connected to, and to answer the greeting
    std::chrono::milliseconds answer;   ///< to answer questions that go on one trip
};

/** One Redis or Valkey server, for the questions of its operators. Locks use the library instead.

    The first question connects. If the connection has ended, the next question connects again. One thread uses it.
*/
class server {
public:
    /// @param url  one of `config::nodes` that leads to a server: see @ref is_server
    /// @throws std::invalid_argument naming the file that cannot be used
    server(asio::any_io_executor, std::string const& url, redlock::config const&, ask_limits);
    ~server();
    server(server const&) = delete;
    server& operator=(server const&) = delete;

    /// Its address, without user and password.
    std::string const& name() const noexcept;

    /// One question at a time.
    asio::awaitable<reply> ask(std::vector<std::string> words);

    /// Several questions on one trip. @return as many answers
    asio::awaitable<std::vector<reply>> ask_all(std::vector<std::vector<std::string>> questions);

    /// Why the last question had no answer, if the server could not be connected to or did not answer in time. Empty:
    /// it had one, or its connection has ended, and the next question opens another one.
    std::string const& trouble() const noexcept;

    /// How many of our commands the server has carried out. Commands without an answer count, refused ones do not.
    std::int64_t commands() const noexcept;

private:
    struct connection;
    std::shared_ptr<connection> const connection_;
};

/// Whether an entry of `config::nodes` leads to one Redis or Valkey server, and not to Sentinels, a cluster, or another
/// store.
bool is_server(std::string const& url);

/// The address for people.
std::string name_of(std::string const& url);

}  // namespace redlock::cli
