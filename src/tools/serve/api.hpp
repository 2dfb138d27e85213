#pragma once

#include "tools/serve/answer.hpp"
#include "tools/serve/batch_requests.hpp"
#include "tools/serve/instance.hpp"
#include "tools/serve/lock_requests.hpp"
#include "tools/serve/session_requests.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <optional>

namespace redlock::serve {

namespace asio = boost::asio;

/// The requests of the service, over any connection: finds who answers a request. Everything runs on the executor of
/// the instance.
class api {
public:
    explicit api(instance& i) : all_(i), locks_(i), batches_(i, locks_), sessions_(i) {}

    /// @param connection  its number in @ref instance::connections
    asio::awaitable<answer> handle(request const&, std::size_t connection);

    /// Whether to read the body of a request, which is still to come. Nothing: yes. Otherwise the answer is known
    /// already.
    /// @param body  its size in bytes, at most
    asio::awaitable<std::optional<response>> check(request const& header, std::size_t connection, std::size_t body);

    /// Counts an answer. May be called from any thread.
    void count(response const& r) noexcept { all_.metrics.count(r.result_int()); }

    /// Releases a lock whose id was not delivered.
    asio::awaitable<void> give_back(lock_ticket t) { return locks_.give_back(std::move(t)); }

    struct changed_access {
        bool is_same = false;
        std::size_t ended_sessions = 0;
    };

    /// Uses other tokens from now on. Sessions end that hold locks which their tokens no longer permit, or whose tokens
    /// are gone. Their locks stay until their time to live is over, because their clients may still be at work.
    changed_access use(access);

    /// The service is not ready for new clients any more. Clients with sessions are told.
    void stop();

private:
    struct route;
    static route const routes[];

    /// The function that answers the request. Null: @p refusal answers it.
    route const* find_route(call const&, answer& refusal) const;

    /// The same if the client has not reached a limit.
    route const* admit(call&, std::size_t connection, std::size_t body, answer& refusal);
    std::optional<response> over_limit(call const&, std::size_t connection, route const&, std::size_t body);
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
    asio::awaitable<answer> run_batch(call const& c) { return batches_.run(c); }
    asio::awaitable<answer> open_session(call const& c) { return sessions_.open(c); }
    asio::awaitable<answer> show_session(call const& c) { return sessions_.show(c); }
    asio::awaitable<answer> end_session(call const& c) { return sessions_.end(c); }

    instance& all_;
    lock_requests locks_;
    batch_requests batches_;
    session_requests sessions_;
};

}  // namespace redlock::serve
