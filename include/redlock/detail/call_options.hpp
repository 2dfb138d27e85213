#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/options.hpp>

#include <memory>

namespace redlock::inline v1::detail {

/** The options of one call, with copies of the texts and of the context that they name. The public functions make it
    before they return, so that the caller's objects may be destroyed from then on.

    Without texts and without a context it allocates nothing. It is no aggregate, because g++ 12 destroys temporary
    aggregates twice within a co_await.
*/
struct call_options : acquire_options {
    call_options() = default;

    /// @throws std::bad_alloc if memory is short
    call_options(acquire_options const& given) : acquire_options(given)
    {
        if (!group.empty() || !note.empty() || !owner.empty() || !new_token.empty() || context)
            copy();
    }

private:
    REDLOCK_API void copy();

    std::shared_ptr<void const> kept_;  ///< the copies; null: the options name nothing
};

}  // namespace redlock::inline v1::detail
