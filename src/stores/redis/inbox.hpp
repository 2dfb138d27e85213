#pragma once

#include "stores/redis/batch.hpp"
#include "stores/redis/resp.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

namespace redlock::stores::redis {

/** What a server sends on one connection: the replies to batches, in the order in which these were sent, and pushes
    between them.

    A push tells that keys have changed (`>2 invalidate [key …]`, or a null in place of the keys when all have). Other
    pushes are left out.
*/
class inbox {
public:
    enum class event : std::uint8_t {
        none,       ///< more bytes are needed
        answered,   ///< the replies to all commands of a batch have come
        changed,    ///< a key has changed
        malformed,  ///< this is not RESP3, or more than is accepted
        unasked,    ///< a reply that no batch waits for: nobody knows what the next ones answer
    };

    explicit inbox(resp::limits l = {}) : parser_(l) {}

    /// The replies to @p b come next. It has one command at least.
    void expect(std::shared_ptr<batch> b) { waiting_.push_back(std::move(b)); }

    /// Reads from the front of @p bytes up to the next event; what is left must be given again. After @ref
    /// event::malformed or
    /// @ref event::unasked nothing more can be read.
    event next(std::string_view& bytes);

    /// After @ref event::answered: the batch.
    std::shared_ptr<batch> take_answered() { return std::move(answered_); }

    /// After @ref event::changed: the key; empty: any key may have changed. Valid until the bytes change.
    std::string_view key() const noexcept { return key_; }

    /// Those that are not answered, or not in full.
    std::deque<std::shared_ptr<batch>> take_waiting() { return std::exchange(waiting_, {}); }

    /// The longest rest that @ref next may want to have again.
    std::size_t rest_max() const noexcept { return parser_.rest_max(); }

private:
    bool read_push(resp::element const&);

    resp::parser parser_;
    std::deque<std::shared_ptr<batch>> waiting_;
    std::shared_ptr<batch> answered_;
    std::string_view key_;
    bool is_push_ = false;      ///< what is being read
    bool invalidates_ = false;  ///< the push that is being read
};

}  // namespace redlock::stores::redis
