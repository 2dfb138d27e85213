#pragma once

/** @file
    An observer that makes OpenTelemetry spans of acquisitions and held locks. Optional: `redlock.hpp` does not include
    it, and the library does not depend on opentelemetry-cpp. This header uses the API of opentelemetry-cpp, not its
    SDK. docs/metrics.md lists the spans, their events and their attributes.
*/

#include <redlock/observer.hpp>

#include <redlock/detail/spans.hpp>

#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/tracer.h>

#include <cstddef>
#include <memory>
#include <utility>

#ifndef __cpp_rtti
#error "redlock/opentelemetry.hpp needs run-time type information: compile without -fno-rtti"
#endif

namespace redlock::inline v1 {

/// Options of @ref open_telemetry .
struct open_telemetry_options {
    bool resources = true;        ///< Whether spans have the names of resources. Turn it off if they are private.
    std::size_t max_events = 64;  ///< The most events of a span, at least 1. If there are more, the latest are kept.
};

/** Makes an observer that makes OpenTelemetry spans, for `manager_options::observer`:

    - **lock acquire**: from the call to its outcome, with an event for each round
    - **lock hold**: from there until the lock is released, detached or lost, with an event for each extension. It is
      linked to the span of its acquisition.

    An acquisition that joins a shared lock has no `lock hold` of its own: its `lock acquire` is linked to that of the
    shared lock. An upgradeable lock has two of each, as it counts as two (`acquire_options::mode`).

    Both are children of the span in `acquire_options::context`: see @ref current_span. Contexts of other types are
    ignored. Without a parent, `lock acquire` begins a trace, and `lock hold` is its child.

    The status is an error if a lock is lost, and if an acquisition fails for another reason than a holder
    (@ref errc::contended) or a cancellation.

    @return the observer; never null

    @param tracer Starts the spans, on the manager's strand. It must not be null.
    @param options See @ref open_telemetry_options .

    @par One manager
    Use one observer for each manager, because managers number their locks independently.

    @par Thread safety
    May be called from any thread. The manager calls the observer on its strand; the tracer must not block.

    @par Memory
    An acquisition under way and a held lock each have at most `max_events` events. If the observer is destroyed before
    a lock has ended, the span of the lock ends then, with the outcome `unknown`. An acquisition that never ends has no
    span.

    @par Exceptions
    The API of OpenTelemetry does not throw: if memory is short inside of it, the process ends.
*/
inline std::shared_ptr<observer> open_telemetry(opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer,
                                                open_telemetry_options options = {})
{
    return std::make_shared<detail::span_maker>(std::move(tracer), options.resources, options.max_events);
}

/// The context that makes the spans of the acquisition and of the lock children of @p span. `acquire_options::context`
/// points to it. The span may end before them. Null if the span is not valid. May be called from any thread.
inline std::shared_ptr<void const> parent_span(opentelemetry::trace::SpanContext const& span)
{
    static constexpr char any = 0;
    return span.IsValid() ? std::shared_ptr<void const>(&any, detail::parent_of_spans{span}) : nullptr;
}

/** The context for the span that is active in this thread, as @ref parent_span makes it:
    @code
    auto const parent = redlock::current_span();
    redlock::lock held = co_await locks.async_acquire("order:7", {.ttl = 5s, .context = &parent});
    @endcode
    After a `co_await`, the active span may be that of other work. Then use @ref parent_span. */
inline std::shared_ptr<void const> current_span()
{
    return parent_span(opentelemetry::trace::Tracer::GetCurrentSpan()->GetContext());
}

}  // namespace redlock
