// Checks the round trips and the clock of a server.

#include "tools/redlock/doctor/checks.hpp"

#include "tools/redlock/args/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace redlock::cli::doctor {

namespace {

using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr auto offset_max = 1s;

std::string in_ms(microseconds t) { return fmt::format("{:.3g} ms", static_cast<double>(t.count()) / 1000); }

findings round_trip(node_facts const& f, demands const& d)
{
    if (f.round_trips.empty())
        return {{.level = level::unknown,
                 .why = "it stopped answering while round trips were measured",
                 .fix = f.place.client() + " --latency"}};
    auto const p50 = f.round_trip(50), p99 = f.round_trip(99);
    finding found{.values = {{"p50_ms", std::chrono::ceil<milliseconds>(p50).count()},
                             {"p99_ms", std::chrono::ceil<milliseconds>(p99).count()}}};
    auto const measured = fmt::format("p50 {}, p99 {} of {} round trips", in_ms(p50), in_ms(p99), f.round_trips.size());
    if (p99 > d.node_timeout) {
        found.level = p50 > d.node_timeout ? level::critical : level::warning;
        found.why = fmt::format("{}: {} votes come after node_timeout ({}), and do not count", measured,
                                p50 > d.node_timeout ? "most" : "some", in_words(d.node_timeout));
        found.fix =
            d.call.with("--node-timeout", fmt::format("{}ms", std::chrono::ceil<milliseconds>(4 * p99).count())).line()
            + "  # and manager_options::node_timeout in your programs";
    } else if (p99 > d.ttl / 10) {
        found.level = level::warning;
        found.why = fmt::format("{}: more than a tenth of the ttl ({}) goes by before a lock is held", measured,
                                in_words(d.ttl));
        found.fix = d.call.with("--ttl", fmt::format("{}ms", std::chrono::ceil<milliseconds>(20 * p99).count())).line()
                    + "  # and acquire_options::ttl in your programs";
    } else {
        found.why = fmt::format("{}, well within node_timeout ({}) and ttl ({})", measured, in_words(d.node_timeout),
                                in_words(d.ttl));
    }
    return {std::move(found)};
}

// How much faster the server's clock runs than the clock of this machine, between two readings; 0.01 is 1 %. The second
// value is the possible error.
std::pair<double, double> rate_of(clock_reading const& a, clock_reading const& b)
{
    auto const passed = static_cast<double>((b.running - a.running).count());
    return {static_cast<double>((b.theirs - a.theirs).count()) / passed - 1,
            static_cast<double>((a.error + b.error).count()) / passed};
}

findings clock(node_facts const& f, demands const& d)
{
    auto const ask_again = d.call.with("--watch", "1min").line() + "  # a longer look is more exact; Ctrl-C ends it";
    if (!f.first_time || !f.last_time || f.last_time->running <= f.first_time->running)
        return {{.level = level::unknown, .why = "its clock was not read twice", .fix = ask_again}};
    auto const [rate, uncertain] = rate_of(*f.first_time, *f.last_time);
    auto const offset = f.last_time->theirs - f.last_time->ours;
    auto const offset_ms = std::chrono::duration_cast<milliseconds>(offset);
    auto const shown = in_words(milliseconds(std::abs(offset_ms.count())));
    finding found{.values = {{"offset_ms", offset_ms.count()},
                             {"rate_ppm", std::llround(rate * 1e6)},
                             {"rate_error_ppm", std::llround(uncertain * 1e6)}}};
    found.fix = fmt::format("timedatectl set-ntp true  # on {} and on this host",
                            f.place.host.empty() ? "this host" : f.place.host);
    if (std::abs(rate) - uncertain > d.drift_factor) {
        bool const gains = rate > 0;
        found.level = gains ? level::critical : level::warning;
        found.why = fmt::format(
            "against ours its clock {} {:.2f} % within {}, more than drift_factor ({:g} %): {}",
            gains ? "gains" : "loses", std::abs(rate) * 100,
            in_words(std::chrono::duration_cast<milliseconds>(f.last_time->running - f.first_time->running)),
            d.drift_factor * 100, gains ? "two may hold a lock" : "it keeps locks for too long");
    } else if (uncertain > d.drift_factor) {
        found.level = level::unknown;
        found.why = fmt::format("its answers are too slow to compare the rate of its clock with drift_factor ({:g} %) "
                                "in so short a time",
                                d.drift_factor * 100);
        found.fix = ask_again;
    } else if (std::chrono::abs(offset) > offset_max + f.last_time->error) {
        found.level = level::warning;
        found.why =
            fmt::format("its clock is {} {} ours: locks do not depend on that, but on a jump when it is corrected",
                        shown, offset > 0us ? "ahead of" : "behind");
    } else {
        found.why = fmt::format("its clock is {} from ours, and runs as fast: {:+.0f} ppm, give or take {:.0f}", shown,
                                rate * 1e6, uncertain * 1e6);
        found.fix.clear();
    }
    return {std::move(found)};
}

constexpr std::array all_of_timing{
    check{"round-trip", nullptr, "", "", round_trip},
    check{"clock", &node_facts::time, "time", "", clock},
};

}  // namespace

constinit std::span<check const> const timing_checks{all_of_timing};

}  // namespace redlock::cli::doctor
