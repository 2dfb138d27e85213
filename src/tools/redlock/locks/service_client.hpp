#pragma once

#include "tools/redlock/locks/service_exchange.hpp"
#include "tools/redlock/args/settings.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/** Asks a service, which has one or more instances.

    At first, all instances are asked side by side whether they are there, and the first one gets the request. The next
    requests go to the same instance, until it does not answer. While a request waits for its answer, the instance is
    asked on another connection now and then whether it is still there. If it is not, another instance gets the request.
    But an acquisition keeps its place in the queue until another instance answers.

    Renewals and releases use the connection of the request before. If the caller is cancelled, the connection is
   closed, and the service ends the request.

    If the answer to an acquisition is lost, the same instance is asked by the idempotency key for the lock. If it does
    not answer, or if nobody waits for the acquisition any more, the lock is released in the background.
*/
class service_client : public std::enable_shared_from_this<service_client> {
public:
    /// @throws early_exit if a file for TLS cannot be used
    service_client(asio::any_io_executor, settings const&, std::string_view command);
    ~service_client();
    service_client(service_client const&) = delete;
    service_client& operator=(service_client const&) = delete;

    asio::any_io_executor const& executor() const noexcept { return executor_; }
    std::size_t size() const noexcept { return instances_.size(); }

    /// @return the answer of one instance, or the troubles of all
    asio::awaitable<service_answer> ask(service_request);

    /// Releases in the background what an answer to an acquisition grants, if the caller does not use it.
    void give_back(service_answer const&);

private:
    using indices = std::vector<std::size_t>;  ///< of instances
    class open_acquisition;

    /// Whether an instance is there.
    struct presence {
        service_answer answer{};

        bool is_there() const { return answer.status != 0; }
        bool is_ready() const;
    };

    asio::awaitable<std::optional<std::size_t>> choose(indices const& from, std::chrono::milliseconds limit,
                                                       std::vector<service_answer>& answers);
    asio::awaitable<std::vector<presence>> look_at(indices const&, std::chrono::milliseconds limit);
    asio::awaitable<presence> look_at_one(std::size_t instance, std::chrono::milliseconds limit);
    asio::awaitable<service_answer> ask_instance(std::size_t instance, service_request const&);
    asio::awaitable<service_answer> ask_once(std::size_t instance, service_request const&);
    asio::awaitable<void> wait_for_silence(std::size_t instance, bool has_place);
    asio::awaitable<void> pause(std::chrono::milliseconds) const;
    /// @return the lock that the key of a lost request has, or another answer if it has none; nothing: it is unknown
    asio::awaitable<std::optional<service_answer>> find_acquired(std::size_t instance, service_request);
    static asio::awaitable<void> release(std::shared_ptr<service_client>, std::string id);
    static asio::awaitable<void> end(std::shared_ptr<service_client>, std::size_t instance, service_request);

    asio::any_io_executor const executor_;
    std::vector<service_instance> instances_;
    std::chrono::milliseconds const connect_timeout_;
    std::optional<std::size_t> current_{};  ///< the instance that has answered last
};

}  // namespace redlock::cli
