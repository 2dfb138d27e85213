#pragma once

#include "cli/exit_status.hpp"
#include "cli/settings.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/verb.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::net {
class tls_settings;
}

namespace redlock::cli {

namespace asio = boost::asio;

/// A request to a service.
struct service_request {
    boost::beast::http::verb method = boost::beast::http::verb::get;
    std::string target{};
    boost::json::object body{};               ///< empty: none
    std::string if_match{};                   ///< empty: none
    std::chrono::milliseconds limit{10'000};  ///< for the answer, and for connecting
};

/// The answer of a service.
struct service_answer {
    std::string from{};  ///< the name of the instance
    unsigned status = 0;
    std::string type{};  ///< of a problem: "urn:redlock:busy"
    boost::json::object body{};
    std::string etag{};
    clock::time_point sent{};  ///< when the request was sent, at the latest
    std::string trouble{};     ///< why there is no answer; empty: there is one
    bool is_reached = false;   ///< whether an instance has accepted the connection, as far as is known

    bool is_good() const noexcept { return trouble.empty() && status < 300; }
    bool is(std::string_view problem) const { return trouble.empty() && type == problem; }

    /// Whether another instance may give another answer: there is none, or the instance ends.
    bool is_of_no_use() const { return !trouble.empty() || is("urn:redlock:stopping"); }

    /// The trouble or the problem, for people: "http://127.0.0.1:8642: the token … (403)".
    std::string words() const;
};

/// The exit status for an answer that is not good.
exit_status status_of(service_answer const&);

/** Asks a service, which has one or more instances.

    Each request has its own connection. If the caller is cancelled, the connection is closed, and the service ends the
    request.
*/
class service_client {
public:
    /// @throws early_exit if a file for TLS cannot be used
    service_client(asio::any_io_executor, settings const&, std::string_view command);
    ~service_client();
    service_client(service_client const&) = delete;
    service_client& operator=(service_client const&) = delete;

    asio::any_io_executor const& executor() const noexcept { return executor_; }
    std::size_t size() const noexcept { return urls_.size(); }

    /// Asks the instance that has answered last.
    asio::awaitable<service_answer> ask_one(service_request const&);

    /// The next call of @ref ask_one asks another instance, if there is one.
    void turn_to_next() noexcept { current_ = (current_ + 1) % urls_.size(); }

    /// Asks one instance after the other, until one answers. @return the answer, or the troubles of all
    asio::awaitable<service_answer> ask(service_request const&);

private:
    asio::any_io_executor const executor_;
    std::vector<service_url> const urls_;
    std::vector<net::tls_settings> tls_;
    std::chrono::milliseconds const connect_timeout_;
    std::size_t current_ = 0;
};

}  // namespace redlock::cli
