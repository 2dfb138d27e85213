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

/** The addresses of a name, which a thread of its own asks the system for.

    The system's resolver cannot be interrupted, and Asio has one thread for all the names of a context: where one name
    hung, the nodes behind all others would, too. Whoever does not want to wait any longer lets go, and the thread ends
    when it can.
*/
class name_lookup {
public:
    /// @throws std::system_error if there can be no thread
    static std::shared_ptr<name_lookup> start(std::string host, std::string port);

    bool done() const;

private:
    friend class address_search;

    void listen(address_search&);  ///< it is told, soon
    void forget();                 ///< whoever listens
    void finish(error_code, std::vector<asio::ip::tcp::endpoint>);

    mutable std::mutex mutex_;
    address_search* listener_ = nullptr;
    bool done_ = false;
    error_code failure_;
    std::vector<asio::ip::tcp::endpoint> found_;
};

/// What became of the addresses of a name.
struct known_addresses {
    std::string good;              ///< the server behind it could vote; it is tried first
    std::vector<std::string> bad;  ///< it took connections, and what was behind it could not vote: tried only when all
                                   ///< others fail

    void note(std::string address, bool is_good);
};

struct address_attempt {
    asio::ip::tcp::endpoint to;
    bool last_resort = false;  ///< only when the others have failed
    error_code failure{};
};

/// In which order the addresses of a name are tried: what was good, then families in turn (RFC 8305, section 4), then
/// what was bad, unless everything is.
std::vector<address_attempt> order_of_attempts(std::vector<asio::ip::tcp::endpoint> const& resolved,
                                               known_addresses const&);

/// What was found out of a name.
struct reached {
    std::string address{};  ///< of a server that takes connections; of one that may, if the name has no other. Empty:
                            ///< there is none.
    std::string failure{};  ///< then: why
};

/** Looks for an address of a host that takes connections, so that one black hole among them does not hide the others.

    The next attempt begins when one has failed, or a quarter of a second after it began (RFC 8305, section 5); the
    first that comes about decides, and all are closed again. A single address is not tried: who connects to it will
    see.

    On one strand. It lives until its operation has completed.
*/
class address_search : public std::enable_shared_from_this<address_search> {
public:
    /// @p limit: for the resolution of the name, and for each attempt.
    address_search(runtime::strand const&, std::chrono::milliseconds limit);
    ~address_search();

    /// Once. @p token: `void(reached)`.
    template <class Token>
    auto async_find(std::shared_ptr<name_lookup> name, known_addresses const& known, Token&& token)
    {
        return asio::async_initiate<Token, void(reached)>(
            [](auto handler, std::shared_ptr<address_search> self, std::shared_ptr<name_lookup> lookup,
               known_addresses before) {
                // Not assigned: in Boost 1.81, the assignment of such a handler calls itself without end.
                asio::any_completion_handler<void(reached)>(std::move(handler)).swap(self->done_);
                self->begin(std::move(lookup), std::move(before));
            },
            token, shared_from_this(), std::move(name), known);
    }

    /// It completes soon, with nothing.
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
    std::shared_ptr<name_lookup> name_;  ///< as long as it is waited for
    known_addresses known_;
    timer due_;                                         ///< the end of the resolution; then the next attempt
    asio::any_completion_handler<void(reached)> done_;  ///< empty: it has completed
    std::vector<address_attempt> attempts_;
    std::size_t begun_ = 0;
    std::size_t failed_ = 0;
    std::list<trial> trials_;  ///< a list, because handlers keep references
};

}  // namespace redlock::net
