#pragma once

#include "tools/serve/answer.hpp"
#include "tools/serve/instance.hpp"

#include <boost/asio/awaitable.hpp>

namespace redlock::serve {

/// The requests about sessions. docs/serve.md describes them.
class session_requests {
public:
    explicit session_requests(instance& i) : all_(i) {}

    /// Opens a session, or continues one: the answer has the stream of its events.
    asio::awaitable<answer> open(call const&);

    asio::awaitable<answer> show(call const&);
    asio::awaitable<answer> end(call const&);

private:
    instance& all_;
};

}  // namespace redlock::serve
