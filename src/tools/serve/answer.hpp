#pragma once

#include "tools/serve/answers.hpp"
#include "tools/serve/client_loads.hpp"
#include "tools/serve/event_stream.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/container/small_vector.hpp>

#include <memory>
#include <utility>

namespace redlock::serve {

/// The answer to a request.
struct answer {
    answer() = default;
    answer(serve::response r) : response(std::move(r)) {}

    serve::response response{};
    boost::container::small_vector<lock_ticket, 1> acquired{};  ///< what nobody knows of if the answer cannot be sent
    clock::time_point valid_until{};                            ///< of the only one in @ref acquired
    std::shared_ptr<event_stream> events{};         ///< follows the header of the response; null: nothing does
    std::shared_ptr<client_loads::place> unread{};  ///< counts a long answer until its client has read it
};

}  // namespace redlock::serve
