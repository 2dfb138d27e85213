#pragma once

#include "stores/redis/batch.hpp"
#include "stores/redis/resp.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>

namespace redlock::stores::redis {

/** Reads what a server sends on one connection: the replies to batches, in the order of the batches, and pushes between
    them.

    A push says which keys have changed: `>2 invalidate [key …]`. A null in place of the keys means all keys. The inbox
    ignores other pushes.
*/
class inbox {
public:
    enum class event : std::uint8_t {
        none,       ///< more bytes are needed
        answered,   ///< the replies to a batch are complete
        changed,    ///< a key has changed
        malformed,  ///< the bytes are not RESP3, or exceed the limits
        unasked,    ///< a reply without a request, so later replies cannot be matched
    };

    explicit inbox(resp::limits l = {}) : parser_(l) {}

    /// Expects the replies to @p b next. The batch has at least one command.
    void expect(std::shared_ptr<batch> b) { waiting_.push_back(std::move(b)); }

    /// Reads from the front of @p bytes up to the next event. The next call must begin with the bytes that are left.
    /// After @ref event::malformed or @ref event::unasked the inbox cannot be used any more.
    event next(std::string_view& bytes);

    /// The batch of the last @ref event::answered.
    std::shared_ptr<batch> take_answered() { return std::move(answered_); }

    /// The key of the last @ref event::changed. Empty: any key may have changed. Valid until the bytes change.
    std::string_view key() const noexcept { return key_; }

    /// The batches whose replies are not complete.
    std::deque<std::shared_ptr<batch>> take_waiting() { return std::exchange(waiting_, {}); }

    /// The most bytes that @ref next can leave over.
    std::size_t rest_max() const noexcept { return parser_.rest_max(); }

private:
    bool read_push(resp::element const&);

    resp::parser parser_;
    std::deque<std::shared_ptr<batch>> waiting_;
    std::shared_ptr<batch> answered_;
    std::string_view key_;
    bool is_push_ = false;      ///< the current element belongs to a push
    bool invalidates_ = false;  ///< the current push is `invalidate`
};

}  // namespace redlock::stores::redis
