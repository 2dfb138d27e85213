#pragma once

#include <redlock/observer.hpp>

namespace redlock::inline v1::events {

/// An observer with one function for all events: `on` of @p Derived gets the member function of the observer, and the
/// event.
template <class Derived>
class every_event : public observer {
public:
    void acquisition_begun(events::acquisition_begun const& e) override { self().on(&observer::acquisition_begun, e); }
    void round_decided(events::round_decided const& e) override { self().on(&observer::round_decided, e); }
    void acquired(events::acquired const& e) override { self().on(&observer::acquired, e); }
    void not_acquired(events::not_acquired const& e) override { self().on(&observer::not_acquired, e); }
    void extended(events::extended const& e) override { self().on(&observer::extended, e); }
    void extension_failed(events::extension_failed const& e) override { self().on(&observer::extension_failed, e); }
    void renewals_failing(events::renewals_failing const& e) override { self().on(&observer::renewals_failing, e); }
    void renewals_well(events::renewals_well const& e) override { self().on(&observer::renewals_well, e); }
    void lost(events::lost const& e) override { self().on(&observer::lost, e); }
    void released(events::released const& e) override { self().on(&observer::released, e); }
    void detached(events::detached const& e) override { self().on(&observer::detached, e); }
    void handed_over(events::handed_over const& e) override { self().on(&observer::handed_over, e); }
    void node_up(events::node_up const& e) override { self().on(&observer::node_up, e); }
    void node_down(events::node_down const& e) override { self().on(&observer::node_down, e); }
    void node_refused(events::node_refused const& e) override { self().on(&observer::node_refused, e); }
    void node_quarantined(events::node_quarantined const& e) override { self().on(&observer::node_quarantined, e); }
    void node_trusted(events::node_trusted const& e) override { self().on(&observer::node_trusted, e); }
    void clean_up_behind(events::clean_up_behind const& e) override { self().on(&observer::clean_up_behind, e); }
    void keys_left(events::keys_left const& e) override { self().on(&observer::keys_left, e); }
    void log_line(events::log_line const& e) override { self().on(&observer::log_line, e); }

private:
    Derived& self() noexcept { return static_cast<Derived&>(*this); }
};

}  // namespace redlock::events
