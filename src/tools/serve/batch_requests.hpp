#pragma once

#include "tools/serve/answer.hpp"
#include "tools/serve/instance.hpp"
#include "tools/serve/lock_requests.hpp"

#include <boost/asio/awaitable.hpp>

#include <vector>

namespace redlock::serve {

/// Requests with several operations, which run side by side. Each operation is like a request of its own. It has the
/// rights and the limits of its client, and gets the answer that it would have had alone.
class batch_requests {
public:
    batch_requests(instance& i, lock_requests& l) : all_(i), locks_(l) {}

    asio::awaitable<answer> run(call const&);

private:
    struct operation;

    static std::vector<operation> operations_in(call const&);
    asio::awaitable<answer> run_one(operation const&, call const& batch);

    instance& all_;
    lock_requests& locks_;
};

}  // namespace redlock::serve
