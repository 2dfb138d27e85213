#pragma once

#include <redlock/log.hpp>
#include <redlock/observer.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::inline v1::events {

/// A log line about an event, for all formats. It refers to the event.
struct event_line {
    using value = std::variant<std::string_view, std::string, std::uint64_t, bool, std::chrono::nanoseconds,
                               resource_set const*, std::span<node_report const>>;
    struct field {
        std::string_view name;  ///< a duration has no unit in its name
        redlock::events::event_line::value value;
    };

    log_level level;
    std::string_view event;  ///< the event's name
    std::string sentence;    ///< for users
    std::vector<field> fields;
};

event_line describe(events::acquisition_begun const&);
event_line describe(events::round_decided const&);
event_line describe(events::acquired const&);
event_line describe(events::not_acquired const&);
event_line describe(events::extended const&);
event_line describe(events::extension_failed const&);
event_line describe(events::renewals_failing const&);
event_line describe(events::renewals_well const&);
event_line describe(events::lost const&);
event_line describe(events::released const&);
event_line describe(events::detached const&);
event_line describe(events::handed_over const&);
event_line describe(events::node_up const&);
event_line describe(events::node_down const&);
event_line describe(events::node_refused const&);
event_line describe(events::node_quarantined const&);
event_line describe(events::node_trusted const&);
event_line describe(events::clean_up_behind const&);
event_line describe(events::keys_left const&);
event_line describe(events::log_line const&);

/// @param time the time of the system clock at which the line is written
std::string as_logfmt(event_line const&, std::chrono::system_clock::time_point time);
std::string as_json(event_line const&, std::chrono::system_clock::time_point time);

}  // namespace redlock::events
