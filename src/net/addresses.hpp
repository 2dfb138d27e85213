#pragma once

#include "runtime/strand.hpp"

#include <redlock/error.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace redlock::net {

class address_search;

/** The addresses of a host name. A separate thread asks the system for them.

    The system's resolver cannot be interrupted, and Asio has one resolver thread for all names of a context. There, one
    name without an answer would block the names of all other nodes. A caller that stops waiting just releases the
    object. The thread ends when the resolver returns.
*/
class name_lookup {
public:
    /// @throws std::system_error if no thread can be started
    static std::shared_ptr<name_lookup> start(std::string host, std::string port);

    bool done() const;

private:
    friend class address_search;

    void listen(address_search&);  ///< notifies the search soon after the result is known
    void forget();                 ///< removes the listener
    void finish(error_code, std::vector<asio::ip::tcp::endpoint>);

    mutable std::mutex mutex_;
    address_search* listener_ = nullptr;
    bool done_ = false;
    error_code failure_;
    std::vector<asio::ip::tcp::endpoint> found_;
};

/// The addresses of a name that have proved good or bad.
struct known_addresses {
    std::string good;  ///< its server could vote; the search tries it first
    /// They accepted a connection, but the server could not vote; the search tries them only if all others fail.
    std::vector<std::string> bad;

    void note(std::string address, bool is_good);
};

struct address_attempt {
    asio::ip::tcp::endpoint to;
    bool last_resort = false;  ///< the search tries it only if the others have failed
    error_code failure{};
};

/// Sorts the addresses of a name for the search. A good address comes first. Then the families alternate (RFC 8305,
/// section 4). Bad addresses come last, unless all are bad.
std::vector<address_attempt> order_of_attempts(std::vector<asio::ip::tcp::endpoint> const& resolved,
                                               known_addresses const&);

/// The result of a search.
struct reached {
    /// An address that accepts connections, or the only address of the name, untested. Empty: none.
    std::string address{};
    std::string failure{};  ///< the reason, if there is no address
    /// All addresses of the name.
    std::vector<std::string> all{};
};

/** Finds an address of a host that accepts connections, so that one that never answers does not hide the others.

    The next attempt begins when one has failed, or a quarter of a second after the latest began (RFC 8305, section 5).
    The first connection decides, and the search closes all connections. A single address is not tried: the caller
    connects to it anyway.

    It runs on one strand, and lives until its operation has completed.
*/
class address_search : public std::enable_shared_from_this<address_search> {
public:
    /// @param limit the timeout for the name resolution, and for each attempt
    address_search(runtime::strand const&, std::chrono::milliseconds limit);
    ~address_search();

    /// Call it once. @p token: `void(reached)`.
    template <class Token>
    auto async_find(std::shared_ptr<name_lookup> name, known_addresses const& known, Token&& token)
    {
        return asio::async_initiate<Token, void(reached)>(
            [](auto handler, std::shared_ptr<address_search> self, std::shared_ptr<name_lookup> lookup,
               known_addresses before) {
                // Not assigned: in Boost 1.81, the assignment of such a handler recurses without end.
                asio::any_completion_handler<void(reached)>(std::move(handler)).swap(self->done_);
                self->begin(std::move(lookup), std::move(before));
            },
            token, shared_from_this(), std::move(name), known);
    }

    /// Completes soon, without a result.
    void cancel();

private:
    friend class name_lookup;

    using socket = asio::basic_stream_socket<asio::ip::tcp, runtime::strand>;
    using timer = asio::basic_waitable_timer<std::chrono::steady_clock, asio::wait_traits<std::chrono::steady_clock>,
                                             runtime::strand>;

    struct trial {
        socket connection;
        timer limit;

        void end();
    };

    void begin(std::shared_ptr<name_lookup>, known_addresses);
    void resolved();
    void try_next();
    void tried(address_attempt&, error_code);
    std::string failure() const;
    void finish(reached);

    runtime::strand strand_;
    std::chrono::milliseconds const limit_;
    std::shared_ptr<name_lookup> name_;  ///< set while the search waits for the name
    known_addresses known_;
    timer due_;  ///< the timeout of the resolution, then the delay before the next attempt
    asio::any_completion_handler<void(reached)> done_;  ///< empty: the search has completed
    std::vector<address_attempt> attempts_;
    std::size_t begun_ = 0;
    std::size_t failed_ = 0;
    std::list<trial> trials_;  ///< a list, because handlers keep references to its elements
};

}  // namespace redlock::net
