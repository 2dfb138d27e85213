#pragma once

#include <boost/asio/awaitable.hpp>

#include <optional>
#include <string>

namespace redlock::serve {

/// Text that follows the header of a response piece by piece.
class event_stream {
public:
    virtual ~event_stream() = default;

    /// Waits for the next piece. @return empty: nothing to send yet. None: the end.
    virtual boost::asio::awaitable<std::optional<std::string>> next() = 0;
};

}  // namespace redlock::serve
