#pragma once

#include "sim/dice.hpp"
#include "sim/profile.hpp"
#include "sim/waits.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock_ticket.hpp>
#include <redlock/resource_set.hpp>

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sim {

class process;
class server;
class worker;
class world;

/// No lock lives longer.
inline constexpr std::chrono::milliseconds max_ttl = 5s;

/// Of which workers want any one.
inline constexpr std::size_t slots_in_all = 3;

/// What one seed has led to.
struct outcome {
    std::string violation;        ///< of a promise; empty if all were kept
    std::uint64_t disorders = 0;  ///< fencing tokens out of order, where that is not promised
    std::uint64_t overlaps = 0;   ///< two holders at once, in a profile that does not promise otherwise
    std::uint64_t acquired = 0;
    std::uint64_t upgraded = 0;  ///< of what was shared
    std::uint64_t resumed = 0;   ///< of what was left by another
    std::uint64_t faults = 0;
    clock::duration time{0};  ///< virtual
    std::string trace;        ///< if it was asked for
};

/// What a world is made of, in place of what chance would choose and of the library's workers.
struct scenario {
    std::size_t servers = 1;
    bool fencing = false;
    std::function<std::unique_ptr<server>(world&, std::size_t index, double rate)> make_server;
    std::function<std::shared_ptr<void>(process&)> program;  ///< what a process runs; it outlives the event loop
};

/** Time, chance, and all that happens, in its order.

    Time is true time; each process and each server has a clock of its own that is wrong in its own way.
*/
class world {
public:
    /// @param instead  null: the library's workers
    world(profile const& p, std::uint64_t seed, bool tracing, scenario const* instead = nullptr);
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    outcome run();

    /// Runs @p what at @p when, or now if that is over. Events at the same moment happen in the order of the calls.
    void at(clock::time_point when, std::function<void()> what);
    void after(clock::duration d, std::function<void()> what) { at(now + d, std::move(what)); }

    /// Lets everything happen up to @p end. May be called from within an event: somebody stands still meanwhile.
    void run_until(clock::time_point end);

    /// A line of the history.
    template <class... Args>
    void tell(fmt::format_string<Args...> format, Args&&... args)
    {
        if (tracing_)
            write(fmt::format(format, std::forward<Args>(args)...));
    }

    /// A promise was broken. The first one counts.
    template <class... Args>
    void blame(fmt::format_string<Args...> format, Args&&... args)
    {
        if (!result.violation.empty())
            return;
        result.violation = fmt::format(format, std::forward<Args>(args)...);
        if (tracing_)
            write("VIOLATION: " + result.violation);
    }

    bool failed() const noexcept { return !result.violation.empty(); }

    scenario const* instead() const noexcept { return instead_; }

    void begin_faults();
    void end_faults();

    /// Whether a fault may happen still; the end of a world is quiet.
    bool faults_on() const noexcept { return faults_on_; }

    /// Messages between them are held up until then.
    clock::time_point& partition(process const&, server const&);

    /// A fencing token was given out: it must be new, and higher than those that were given out before it was @p begun.
    /// Who @p shares the lock has one that is not below those of who had it alone.
    void note_token(std::string const& resource, std::string const& who, clock::time_point begun, std::uint64_t token,
                    bool shares);

    /// How often a server has granted one of these so far, if all are free on a quorum, or @p whom holds them there;
    /// otherwise nothing.
    std::optional<std::uint64_t> takings_if_free(resource_set const&, process const& whom) const;
    void note_taking(std::string_view key) { ++takings_[std::string(key)]; }

    // Tickets that nobody has: two who had the same would not exclude each other.
    void leave(lock_ticket);
    bool has_tickets() const noexcept { return !tickets_.empty(); }
    lock_ticket take_ticket();                                                       ///< any
    bool was_left(std::string const& token) const { return left_.contains(token); }  ///< at least once
    bool majority_has(lock_ticket const&) const;                                     ///< now

    /// Whether an exclusion was broken, everywhere.
    void check_exclusion();

    profile conditions;  ///< the profile, less what this seed goes without
    dice random;
    dice splits;  ///< where the bytes of servers are split; apart, so that it changes nothing else
    clock::time_point now;
    bool fencing = false;
    std::size_t fence_quorum = 0;
    bool servers_tell = true;              ///< of changes; otherwise they are asked now and then
    bool servers_end_connections = false;  ///< the earlier one of a process that connects again, if it asks
    std::vector<std::unique_ptr<server>> servers;
    std::vector<std::unique_ptr<process>> processes;
    outcome result;

private:
    struct event {
        clock::time_point when;
        std::uint64_t number;
        std::function<void()> what;
    };

    void write(std::string const& line);
    void choose_conditions(profile const&);
    void make_servers();
    void add_server(char kind);
    void begin_faults_of_stores();
    void repeatedly(clock::duration mean, std::function<void()> fault);
    bool spares_an_old_one(server const&) const;
    void find_what_is_held();
    void look_for_deadlocks(clock::duration passed);
    void end();

    bool const tracing_;
    scenario const* const instead_;
    bool faults_on_ = true;
    clock::time_point const begin_;
    std::vector<event> events_;  // a heap
    std::uint64_t last_number_ = 0;
    unsigned incarnations_ = 0;
    std::vector<claim> held_;  // kept for its memory
    std::vector<clock::time_point> partitions_;

    struct token_history {
        std::set<std::uint64_t> all;
        std::vector<std::pair<clock::time_point, std::uint64_t>> of_all, of_writers;  ///< the highest so far, by when
                                                                                      ///< it was given out
    };
    std::map<std::string, token_history> tokens_;   ///< by resource
    std::map<std::string, std::uint64_t> takings_;  ///< by key
    std::vector<lock_ticket> tickets_;
    std::set<std::string> left_;  ///< by token
};

/// The seed of all chance in a world: another one for each profile and seed.
std::uint64_t stream_of_chance(profile const&, std::uint64_t seed);

outcome simulate(profile const&, std::uint64_t seed, bool tracing = false);

}  // namespace redlock::sim
