#pragma once

#include "serve/answer.hpp"
#include "serve/instance.hpp"
#include "serve/lock_requests.hpp"
#include "serve/session_requests.hpp"

#include <boost/asio/awaitable.hpp>

namespace redlock::serve {

namespace asio = boost::asio;

/// The requests of the service, over any connection: finds who answers a request. Everything runs on the executor of
/// the instance.
class api {
public:
    explicit api(instance& i) : all_(i), locks_(i), sessions_(i) {}

    asio::awaitable<answer> handle(request const&);

    /// Releases a lock whose id was not delivered.
    asio::awaitable<void> give_back(lock_ticket t) { return locks_.give_back(std::move(t)); }

    /// The service is not ready for new clients any more. Clients with sessions are told.
    void stop();

private:
    struct route;
    static route const routes[];

    /// The function that answers the request. Null: @p refusal answers it.
    route const* find_route(call const&, answer& refusal) const;
    static response wrong_path_or_method(call const&);
    asio::awaitable<answer> health(call const&);
    asio::awaitable<answer> openapi(call const&);
    asio::awaitable<answer> metrics(call const&);
    asio::awaitable<answer> acquire(call const& c) { return locks_.acquire(c); }
    asio::awaitable<answer> extend(call const& c) { return locks_.extend(c); }
    asio::awaitable<answer> release(call const& c) { return locks_.release(c); }
    asio::awaitable<answer> inspect(call const& c) { return locks_.inspect(c); }
    asio::awaitable<answer> show(call const& c) { return locks_.show(c); }
    asio::awaitable<answer> look(call const& c) { return locks_.look(c); }
    asio::awaitable<answer> take_away(call const& c) { return locks_.take_away(c); }
    asio::awaitable<answer> open_session(call const& c) { return sessions_.open(c); }
    asio::awaitable<answer> show_session(call const& c) { return sessions_.show(c); }
    asio::awaitable<answer> end_session(call const& c) { return sessions_.end(c); }

    instance& all_;
    lock_requests locks_;
    session_requests sessions_;
};

}  // namespace redlock::serve
