#pragma once

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock {

/** Guards a resource within this process by fencing tokens: the holder of an older lock comes too late.

    A holder enters with `lock::fencing_token()` **before** it reads, and does the rest of its work by @ref run. From
    then on everybody with a smaller token is refused. Entering before reading is what matters: a gate that sees the token
    only when the holder writes lets an older holder write in between, and that write is then lost.

    @code
    if (!gate.enter(held.fencing_token()))
        return superseded();
    int const left = read();
    if (!gate.run(held.fencing_token(), [&] { write(left - 1); }))
        return superseded();
    @endcode

    One gate guards one resource, and all its holders hold locks of one name: the tokens of different locks say nothing
    about each other. A gate forgets with its process. If the resource stays (a file), keep @ref highest with it, and
    give it to the next gate. For a database the condition belongs into the statements: docs/fencing.md.

    @par Zero
    is not a token: `config::fencing` is off, or the lock is empty. It is not refused but an exception: a refusal says
    that somebody else has come, and whoever then acquires again would do so for ever.

    @par Thread safety
    Safe on distinct and on shared objects. It cannot be copied or moved.
*/
class fence_gate {
public:
    /// @param highest the token of the last holder, if the resource is older than the gate. 0: nobody has entered.
    explicit fence_gate(std::uint64_t highest = 0) noexcept : highest_(highest) {}

    /** Registers @p token. Call it before the first look at the resource; more than once does no harm.

        @return true: smaller tokens are refused from now on. False: a greater token has entered; stop the work.

        @throws std::invalid_argument @p token is 0.
    */
    [[nodiscard]] bool enter(std::uint64_t token)
    {
        check(token);
        std::scoped_lock const guard(mutex_);
        if (token < highest_)
            return false;
        highest_ = token;  // equal is welcome: a holder works more than once
        return true;
    }

    /** Calls @p work, unless the holder of @p token is superseded. Nobody enters, and no other work runs, meanwhile.

        @p work takes no arguments and returns nothing, so it is no coroutine: that would go on when the gate no longer
        watches. It should be short, must not wait, and must not call this gate. What it throws is passed on.

        @return true: @p work was called. False: a greater token has entered and nothing was done; stop the work.

        @throws std::invalid_argument @p token is 0.
        @throws std::logic_error @p token never entered, so what its holder read may be old.
    */
    template <class Work>
        requires std::is_void_v<std::invoke_result_t<Work>>
    [[nodiscard]] bool run(std::uint64_t token, Work&& work)
    {
        check(token);
        std::scoped_lock const guard(mutex_);
        if (token > highest_)
            throw std::logic_error("fence_gate: this token has not entered; enter before reading");
        if (token < highest_)
            return false;
        std::forward<Work>(work)();
        return true;
    }

    /// The token of the last holder that entered; 0: nobody has. It may be old by the time it is used. Not to be called
    /// within @ref run, where it is the token given.
    [[nodiscard]] std::uint64_t highest() const
    {
        std::scoped_lock const guard(mutex_);
        return highest_;
    }

private:
    static void check(std::uint64_t token)
    {
        if (token == 0)
            throw std::invalid_argument("fence_gate: the token is 0: config::fencing is off, or the lock is empty");
    }

    mutable std::mutex mutex_;
    std::uint64_t highest_;
};

}  // namespace redlock
