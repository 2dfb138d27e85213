#include "shared.hpp"

#include "laboratory.hpp"

#include <fmt/format.h>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr double readers = 0.95;

}  // namespace

// The floor is the library itself, where each cycle has the lock alone.
std::vector<result> shared(options const& o, progress const& p)
{
    laboratory lab(o, p, o.count);
    auto const clients = o.clients > 0 ? o.clients : 64;
    auto const hold = o.hold.value_or(1ms);
    work const alone{.clients = clients, .duration = o.duration, .one_key = true, .hold = hold, .rate = o.rate};
    auto mostly_shared = alone;
    mostly_shared.readers = readers;
    load l(lab.servers().urls(), node_timeout(clients));
    l.run({.clients = clients, .duration = 200ms, .one_key = true, .readers = readers, .hold = hold});
    auto const rounds = lab.rounds(
        fmt::format("shared, {} clients", clients), [&] { return l.run(alone); },
        [&](round& r) {
            auto const before = l.stats();
            r.library = lab.observe([&] { return l.run(mostly_shared); });
            auto const after = l.stats();
            auto const per_second = [](sample const& s) { return s.seconds > 0 ? static_cast<double>(s.cycles) / s.seconds : 0; };
            auto const held = std::chrono::duration<double, std::micro>(hold).count();
            r.more["rate_to_exclusive"] = per_second(r.floor) > 0 ? per_second(r.library) / per_second(r.floor) : 0;
            r.more["writers_p99_wait_to_hold"] = held > 0 ? r.library.wait.summary().p99 / held : 0;
            r.more["joined_percent"] = r.library.cycles > 0 ? 100.0 * static_cast<double>(after.joined - before.joined) / static_cast<double>(r.library.cycles) : 0;
        });
    return {lab.conclude(rounds, "shared", fmt::format("{:g} % readers, hold {:g} ms; floor: all alone", 100 * readers,
                                                      std::chrono::duration<double, std::milli>(hold).count()), clients)};
}

}  // namespace redlock::bench
