#include "scenarios.hpp"

#include "crowd.hpp"
#include "laboratory.hpp"

#include <fmt/format.h>

#include <optional>

namespace redlock::bench {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t permits = 8;

// The floor has a client for each permit, which releases its key and locks it again in one round trip.
// The ideal of `rate_to_ideal` is a sequence of holders without pauses.
result measure(options const& o, progress const& p, std::size_t processes)
{
    laboratory lab(o, p, o.count);
    auto const clients = std::max(o.clients > 0 ? o.clients : 32, processes) / processes * processes;
    auto const hold = o.hold.value_or(5ms);
    work const w{.clients = clients, .duration = o.duration, .slots = permits, .hold = hold, .rate = o.rate};
    std::optional<load> l;
    if (processes == 1) {
        l.emplace(lab.servers().urls());
        l->run({.clients = clients, .duration = 200ms, .slots = permits, .hold = hold});
    }
    auto const rounds = lab.rounds(
        fmt::format("slots, {} clients, {} processes", clients, processes),
        [&] {
            return run_floor(lab.servers().addresses(),
                             {.clients = permits, .duration = o.duration, .majority = true, .hold = hold});
        },
        [&](round& r) {
            r.library = lab.observe(
                [&] { return l ? l->run(w) : run_crowd(settings_for(lab.servers().urls()), w, processes, r.more); });
            auto const rate = r.library.seconds > 0 ? static_cast<double>(r.library.cycles) / r.library.seconds : 0;
            r.more["rate_to_ideal"] = rate * std::chrono::duration<double>(hold).count() / static_cast<double>(permits);
            auto const waits = r.library.wait.summary();
            r.more["longest_wait_to_mean"] = waits.mean > 0 ? waits.max / waits.mean : 0;
        });
    auto const held = std::chrono::duration<double, std::milli>(hold).count();
    return lab.conclude(
        rounds, "slots",
        fmt::format("any of {}, hold {:g} ms, {}", permits, held, processes == 1 ? "one process" : "four processes"),
        clients);
}

}  // namespace

std::vector<result> slots_of_a_semaphore(options const& o, progress const& p)
{
    return {measure(o, p, 1), measure(o, p, 4)};
}

}  // namespace redlock::bench
