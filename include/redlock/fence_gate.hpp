#pragma once

#include <cstdint>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

/** Guards a resource within this process by fencing tokens: it refuses the holder of an older lock.

    A holder calls @ref enter with `lock::fencing_token()` **before** it reads, and does the rest of its work with
    @ref run. From then on, smaller tokens are refused. Enter before you read. If the gate sees the token only when the
    holder writes, an older holder can write in between. That write is then lost.

    @code
    if (!gate.enter(held.fencing_token()))
        return superseded();
    int const left = read();
    if (!gate.run(held.fencing_token(), [&] { write(left - 1); }))
        return superseded();
    @endcode

    Use one gate for one resource, and locks of one name for all its holders: tokens of different locks cannot be
    compared. A gate forgets its state when the process ends. If the resource stays (a file), store @ref highest with
    it, and pass it to the next gate. For a database, the condition belongs in the statements: docs/fencing.md.

    @par Zero
    Zero is not a token: `manager_options::fencing` is off, or the lock is empty. The gate throws instead of refusing
   it. A refusal says that another holder has come, and a caller that then acquires again would do so forever.

    @par Thread safety
    Safe on distinct and on shared objects. A call waits while another thread's work runs in @ref run. A gate cannot be
    copied or moved.
*/
class fence_gate {
public:
    /// Makes a gate.
    /// @param highest The token of the last holder, if the resource is older than the gate. Zero: nobody has entered.
    explicit fence_gate(std::uint64_t highest = 0) noexcept : highest_(highest) {}

    /** Registers @p token. Call it before you read the resource; more than one call does no harm.

        @return true: smaller tokens are refused from now on. False: a greater token has entered; stop the work.

        @param token `lock::fencing_token()`; not zero.

        @throws std::invalid_argument if @p token is 0
    */
    [[nodiscard]] bool enter(std::uint64_t token)
    {
        check(token);
        std::scoped_lock const guard(mutex_);
        if (token < highest_)
            return false;
        highest_ = token;  // an equal token is accepted: a holder works more than once
        return true;
    }

    /** Calls @p work, unless a greater token has entered. Meanwhile nobody can enter, and no other work runs.

        @p work takes no arguments and returns nothing. Therefore it cannot be a coroutine, which would continue when
        the gate does not guard it any more. It should be short, must not wait, and must not call this gate. Its
        exceptions are passed on.

        @return true: @p work was called. False: a greater token has entered, and @p work was not called; stop the work.

        @param token A token that has entered.
        @param work The work to do; see the text.

        @throws std::invalid_argument if @p token is 0
        @throws std::logic_error if @p token never entered: the data that its holder read may be outdated
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

    /// The token of the last holder that entered. Zero: nobody has. It may be outdated when you use it. Do not call it
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
            throw std::invalid_argument(
                "fence_gate: the token is 0: manager_options::fencing is off, or the lock is empty");
    }

    mutable std::mutex mutex_;
    std::uint64_t highest_;
};

}  // namespace redlock
