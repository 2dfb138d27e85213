#pragma once

#include "tools/serve/answer.hpp"
#include "tools/serve/fields.hpp"
#include "tools/serve/instance.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::serve {

/** The requests about locks. docs/serve.md describes them.

    A lock without a session is acquired, and detached at once. Its id is its ticket, so the service keeps no lock, and
    a restart loses none.
*/
class lock_requests {
public:
    explicit lock_requests(instance& i) : all_(i) {}

    asio::awaitable<answer> acquire(call const&);
    asio::awaitable<answer> extend(call const&);
    asio::awaitable<answer> release(call const&);
    asio::awaitable<answer> show(call const&);     ///< a held lock, by its id
    asio::awaitable<answer> inspect(call const&);  ///< a lock, by its name in the path
    asio::awaitable<answer> look(call const&);     ///< a lock, by its name in the query; or a list
    asio::awaitable<answer> take_away(call const&);

    /// Releases a lock whose id was not delivered.
    asio::awaitable<void> give_back(lock_ticket);

private:
    asio::awaitable<answer> acquire_once(call const&);
    asio::awaitable<std::optional<answer>> answer_of_another(call const&);
    std::vector<std::uint64_t> requests_of(call const&) const;
    std::chrono::milliseconds ttl_in(fields const&) const;
    asio::awaitable<answer> acquire_new(call const&, std::uint64_t request);
    asio::awaitable<answer> inspect_name(call const&, std::string name);
    asio::awaitable<answer> list(call const&);
    /// Extends a lock, which the session gets, unless it is null. @param new_token see `acquire_options::new_token`
    asio::awaitable<answer> prolong(call const&, lock_ticket, std::chrono::milliseconds ttl, std::shared_ptr<session>,
                                    std::string new_token);
    std::optional<answer> keep(call const&, lock_ticket const&, lock, std::chrono::milliseconds ttl,
                               std::shared_ptr<session> const&);
    asio::awaitable<answer> extend_here(call const&, std::string token, std::chrono::milliseconds ttl);
    asio::awaitable<error_code> end_of(lock_ticket const&);
    response held(request const&, boost::beast::http::status, lock_ticket const&,
                  std::optional<clock::time_point> valid_until,
                  std::optional<std::chrono::milliseconds> waited = std::nullopt) const;
    std::optional<response> over_limit(call const&);
    std::size_t locks_of(call const&) const;
    std::optional<response> refusal_of(call const&, std::optional<lock_ticket> const&) const;

    /// The answer to a client that may not lock these names. Nothing: it may. The tokens may change while a request is
    /// under way.
    std::optional<response> not_permitted(call const&, std::span<std::string const> names) const;

    instance& all_;
};

}  // namespace redlock::serve
