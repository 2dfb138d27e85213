#pragma once

#include "serve/access.hpp"
#include "serve/answers.hpp"
#include "serve/repeats.hpp"
#include "serve/target.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::serve {

namespace asio = boost::asio;

/// The answer to a request.
struct answer {
    serve::response response{};
    std::optional<lock_ticket> acquired{};  ///< what nobody knows of if the answer cannot be sent
    clock::time_point valid_until{};        ///< of @ref acquired
};

/// The limits of a service.
struct limits {
    std::chrono::milliseconds wait{std::chrono::minutes(10)};  ///< of one request
    std::size_t waiting = 1000;                                ///< requests of one client at a time
};

/** The requests of the service, over any connection. docs/serve.md describes them.

    A lock is acquired, and detached at once. Its id is its ticket, so the service keeps no lock, and a restart loses
    none.
*/
class api {
public:
    api(lock_manager&, access, limits);

    asio::awaitable<answer> handle(request const&);

    /// Releases a lock whose id was not delivered.
    asio::awaitable<void> give_back(lock_ticket);

    /// The service is not ready for new clients any more.
    void stop() noexcept { stopping_ = true; }

private:
    asio::awaitable<answer> route(request const&, target const&);
    asio::awaitable<answer> acquire(request const&);
    asio::awaitable<answer> acquire_new(request const&, std::string const& client);
    asio::awaitable<response> extend(request const&, std::string_view id);
    asio::awaitable<response> release(request const&, std::string_view id);
    asio::awaitable<response> inspect(request const&, std::string name);
    asio::awaitable<response> list(request const&, target const&);
    asio::awaitable<response> take_away(request const&, std::string name);
    std::optional<response> refusal_of(request const&, std::optional<lock_ticket> const&) const;
    response health(request const&, bool wants_ready) const;

    lock_manager& locks_;
    access const access_;
    limits const limits_;
    repeats repeats_;
    std::map<std::string, std::size_t> waiting_;  ///< by client: its requests that acquire
    bool stopping_ = false;
};

}  // namespace redlock::serve
