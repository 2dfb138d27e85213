#pragma once

#include "events/event_log.hpp"
#include "runtime/runtime.hpp"

#include <redlock/clock.hpp>
#include <redlock/resource_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace redlock::inline v1::locks {

/** Reports when renewals begin to fail, and when they succeed again: two lines and two events, however many locks there
    are.

    Each lock keeps a note: whether its latest renewal has failed. On the strand.
*/
class renewal_log {
public:
    renewal_log(runtime::runtime& r, events::event_log& log) noexcept : runtime_(r), log_(log) {}

    void failed(bool& note, std::uint64_t lock, resource_set const&, std::string_view why) noexcept;
    void succeeded(bool& note) noexcept;
    void ended(bool& note, bool lost) noexcept;  ///< the lock is no longer renewed

private:
    void begin_to_fail(std::uint64_t lock, resource_set const&, std::string_view why) noexcept;
    void are_well() noexcept;

    runtime::runtime& runtime_;
    events::event_log& log_;
    std::size_t failing_ = 0;  ///< locks whose latest renewal failed
    bool told_ = false;        ///< the failure was reported
    clock::time_point since_;
    std::uint64_t failures_ = 0;
    std::uint64_t lost_ = 0;
};

}  // namespace redlock::locks
