#pragma once

#include "tools/serve/client_connection.hpp"
#include "tools/serve/client_loads.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace redlock::serve {

/** The open connections of the service, and to which client each of them belongs. It decides which connection is closed
    for another one:

    - A connection belongs to no client until a request comes whose bearer token is known. Connections of no client have
      a small share. They are the first to be closed when a further client comes.
    - A client has a share, too. For a further connection of the same client, its own oldest idle one is closed.
    - If few connections belong to no client, the client with the most of them loses one.

    A connection whose request is under way is never closed, and a new connection has a second to send its request. So
    sessions and requests that wait are limited when they begin: @ref limits::long_requests.

    All functions run on the executor of the api.
*/
class connection_shares {
public:
    using clock = std::chrono::steady_clock;

    connection_shares(std::size_t most, std::size_t most_of_client) : most_(most), most_of_client_(most_of_client) {}

    /// @param number  must be greater than those of all earlier connections
    /// @param peer  for the log: see @ref peer_of
    void add(std::size_t number, std::shared_ptr<client_connection>, std::string peer = {});
    void remove(std::size_t number);

    std::string peer(std::size_t number) const;

    std::size_t size() const noexcept { return all_.size(); }
    bool is_empty() const noexcept { return all_.empty(); }
    bool is_full() const noexcept { return all_.size() >= most_; }

    /// Closes this connection, if it is still open.
    void drop(std::size_t number);

    /// Closes a connection for a further one, if it finds one that may be closed.
    void make_room();

    /// The connection belongs to this client from now on.
    /// @return false: the client has its share already, and a request is under way on each of its connections
    bool assign(std::size_t number, std::string const& client);

    /// Counts the body of a request from its header on, until the request has come or the connection has ended.
    void expect_body(std::size_t number, client_loads&, std::string const& client, std::size_t bytes);
    void body_has_come(std::size_t number);

    template <class Function>
    void for_each(Function f) const
    {
        for (auto const& [number, one] : all_)
            f(*one.connection);
    }

private:
    struct entry {
        std::shared_ptr<client_connection> connection{};
        std::string peer{};
        clock::time_point opened = clock::now();
        std::optional<std::string> client{};
        std::optional<clock::time_point> closed{};  ///< when it was told to end. It is not counted any more
        std::optional<client_loads::place> body{};
    };

    void count(entry&, std::optional<std::string> client);
    void discount(entry const&);
    std::size_t share_of_nobody() const;
    std::size_t count_of(std::optional<std::string> const& client) const;
    static bool may_be_closed(entry const&, clock::time_point now);
    template <class Is>
    bool close_one(Is is_candidate);

    std::size_t const most_, most_of_client_;
    std::map<std::size_t, entry> all_;  ///< by number
    std::map<std::optional<std::string>, std::size_t> counts_;
};

}  // namespace redlock::serve
