#include "scenarios.hpp"

#include "laboratory.hpp"

#include <fmt/format.h>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr double readers = 0.95;
// The rate at fixed times, as a multiple of the floor's. One cycle in twenty is a writer, so writers alone need a
// quarter of the time.
constexpr double paced = 5;

// The floor is the library with exclusive cycles only. @p at_once: a client begins its next cycle at once; false:
// cycles begin at fixed times.
result measure(laboratory& lab, std::size_t clients, bool at_once)
{
    auto const& o = lab.settings();
    auto const hold = o.hold.value_or(1ms);
    work const alone{.clients = clients, .duration = o.duration, .one_key = true, .hold = hold};
    auto mostly_shared = alone;
    mostly_shared.readers = readers;
    load l(lab.servers().urls());
    l.run({.clients = clients, .duration = 200ms, .one_key = true, .readers = readers, .hold = hold});
    auto const rounds = lab.rounds(
        fmt::format("shared, {} clients{}", clients, at_once ? "" : " at fixed times"), [&] { return l.run(alone); },
        [&](round& r) {
            mostly_shared.rate = at_once ? 0 : o.rate > 0 ? o.rate : paced * r.floor.rate();
            auto const before = l.stats();
            r.library = lab.observe([&] { return l.run(mostly_shared); });
            auto const after = l.stats();
            auto const held = std::chrono::duration<double, std::micro>(hold).count();
            r.more["rate_to_exclusive"] = r.floor.rate() > 0 ? r.library.rate() / r.floor.rate() : 0;
            r.more["writers_p99_wait_to_hold"] = held > 0 ? r.library.wait.summary().p99 / held : 0;
            r.more["joined_percent"] = r.library.each(100.0 * static_cast<double>(after.joined - before.joined));
        });
    return lab.conclude(rounds, "shared",
                        fmt::format("{:g} % readers{}, hold {:g} ms; floor: all alone", 100 * readers,
                                    at_once ? "" : " at fixed times",
                                    std::chrono::duration<double, std::milli>(hold).count()),
                        clients);
}

}  // namespace

std::vector<result> shared(options const& o, progress const& p)
{
    std::vector<result> results;
    laboratory lab(o, p, o.count);
    if (o.rate == 0) {
        for (auto clients : o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{64, 24})
            results.push_back(measure(lab, clients, true));
    }
    results.push_back(measure(lab, o.clients > 0 ? o.clients : 64, false));
    return results;
}

}  // namespace redlock::bench
