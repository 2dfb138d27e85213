#pragma once

#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/service_url.hpp"

#include "net/tls_settings.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::cli {

namespace asio = boost::asio;

class service_connection;

/// An instance of a service.
struct service_instance {
    service_url url{};
    net::tls_settings tls{};
    std::shared_ptr<service_connection> idle{};  ///< on which the instance has answered last; null: there is none
};

/// A request to a service.
struct service_request {
    boost::beast::http::verb method = boost::beast::http::verb::get;
    std::string target{};
    boost::json::object body{};  ///< empty: none
    std::string if_match{};      ///< empty: none
    /// A repeated acquisition with this key gets the same lock. Empty: none
    std::string idempotency_key{};
    std::chrono::milliseconds limit{10'000};     ///< for one instance: to connect, and to answer
    std::uint64_t answer_max = 4 * 1024 * 1024;  ///< bytes of the body of the answer
};

/// The answer of a service.
struct service_answer {
    std::string from{};   ///< the name of the instance
    unsigned status = 0;  ///< 0: no answer has arrived
    std::string type{};   ///< of a problem: "urn:redlock:busy"
    boost::json::object body{};
    std::string etag{};
    clock::time_point sent{};    ///< when the request was sent, at the latest; zero: nothing was sent
    std::string trouble{};       ///< why there is no answer that can be used; empty: there is one
    bool is_reached = false;     ///< whether an instance has accepted the connection, as far as is known
    bool is_late = false;        ///< whether the instance has had all its time, or has stopped to answer
    bool may_be_second = false;  ///< whether an instance whose answer was lost may have done the work before

    bool is_good() const noexcept { return trouble.empty() && status < 300; }
    bool is(std::string_view problem) const { return trouble.empty() && type == problem; }

    /// Whether another instance may give another answer: there is none, the instance ends, or it has another key for
    /// ids.
    bool is_of_no_use() const
    {
        return !trouble.empty() || is("urn:redlock:stopping") || is("urn:redlock:unknown-lock");
    }

    /// Whether the instance may have done what was asked, without telling it.
    bool is_lost() const { return !trouble.empty() && sent != clock::time_point(); }

    /// The trouble or the problem, for people: "http://127.0.0.1:8642: the token … (403)". Safe for a terminal.
    std::string words() const;
};

/// The exit status for an answer that is not good.
exit_status status_of(service_answer const&);

/** Sends a request to an instance, and reads the answer. It uses the idle connection, because the instance may accept
    no further one. A POST has a connection of its own. On one that the instance is closing, it would have to be sent
    twice.

    @param connect_limit  for each of the steps of connecting
    @param a              what is known of the answer, also if the call is cancelled
*/
asio::awaitable<void> exchange(asio::any_io_executor, service_instance&, service_request const&,
                               std::chrono::milliseconds connect_limit, service_answer& a);

}  // namespace redlock::cli
