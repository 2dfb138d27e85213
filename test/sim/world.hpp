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

/// The longest ttl.
inline constexpr std::chrono::milliseconds max_ttl = 5s;

/// The number of slots of which workers want any one.
inline constexpr std::size_t slots_in_all = 3;

/// The result of one seed.
struct outcome {
    std::string violation;        ///< the first broken promise; empty: none
    std::uint64_t disorders = 0;  ///< fencing tokens out of order, if the profile allows them
    std::uint64_t overlaps = 0;   ///< two holders at once, if the profile allows them
    std::uint64_t acquired = 0;
    std::uint64_t upgraded = 0;  ///< shared locks
    std::uint64_t resumed = 0;   ///< locks that another worker had left
    std::uint64_t faults = 0;
    clock::duration time{0};  ///< virtual time
    std::string trace;        ///< the history, if it was wanted
};

/// The parts of a world, in place of random servers and of the library's workers.
struct scenario {
    std::size_t servers = 1;
    bool fencing = false;
    std::function<std::unique_ptr<server>(world&, std::size_t index, double rate)> make_server;
    std::function<std::shared_ptr<void>(process&)> program;  ///< what a process runs; destroyed after the event loop
    std::size_t processes = 0;                               ///< zero: two or three
};

/** The time, the random numbers, and all events in their order.

    Time is true time. Each process and each server has a clock of its own, with an error of its own.
*/
class world {
public:
    /// @param instead null: the library's workers
    world(profile const& p, std::uint64_t seed, bool tracing, scenario const* instead = nullptr);
    ~world();
    world(world const&) = delete;
    world& operator=(world const&) = delete;

    outcome run();

    /// Runs @p what at @p when, or now if that is over. Events of the same moment run in the order of the calls.
    void at(clock::time_point when, std::function<void()> what);
    void after(clock::duration d, std::function<void()> what) { at(now + d, std::move(what)); }

    /// Runs all events up to @p end. An event may call this: a process is paused meanwhile.
    void run_until(clock::time_point end);

    /// Writes a line of the history.
    template <class... Args>
    void tell(fmt::format_string<Args...> format, Args&&... args)
    {
        if (tracing_)
            write(fmt::format(format, std::forward<Args>(args)...));
    }

    /// Reports a broken promise. The first one counts.
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

    /// Whether faults may still happen; a world ends without faults.
    bool faults_on() const noexcept { return faults_on_; }

    /// Until when messages between them are held up.
    clock::time_point& partition(process const&, server const&);

    /// Checks a fencing token that was given out. A writer's must be new, and higher than all that were given out
    /// before its acquisition had @p begun. A reader's (@p shares) must not be below those that writers got before
    /// that.
    void note_token(std::string const& resource, std::string const& who, clock::time_point begun, std::uint64_t token,
                    bool shares);

    /// Whether the world is young, and a process that stands still has founded only some of the servers. The others
    /// vote when they are older than any lock.
    bool lacks_founding() const;

    /// How often a server has granted one of these resources so far, if all are free on a quorum, or if @p whom holds
    /// them there. Otherwise nothing.
    std::optional<std::uint64_t> takings_if_free(resource_set const&, process const& whom) const;
    void note_taking(std::string_view key) { ++takings_[std::string(key)]; }

    // Tickets that no worker has. Two workers with the same ticket would not exclude each other.
    void leave(lock_ticket);
    bool has_tickets() const noexcept { return !tickets_.empty(); }
    lock_ticket take_ticket();  ///< a random one
    /// Sometimes a token that takes the place of the ticket's: see `acquire_options::new_token`.
    std::string new_token_for(lock_ticket const&);
    bool was_left(std::string const& token) const { return left_.contains(token); }  ///< at least once
    bool majority_has(lock_ticket const&) const;                                     ///< now

    /// Checks exclusion in all processes.
    void check_exclusion();

    profile conditions;  ///< the profile, without the faults that this seed leaves out
    dice random;
    dice splits;  ///< where messages are split; separate, so that it changes nothing else
    clock::time_point now;
    bool fencing = false;
    bool servers_tell = true;              ///< that keys have changed; otherwise clients ask now and then
    bool servers_end_connections = false;  ///< a process that connects again may end its earlier connection
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
    std::vector<claim> held_;  // a member to reuse its memory
    std::vector<clock::time_point> partitions_;

    struct token_history {
        std::set<std::uint64_t> all;
        /// The highest token so far, by the time when it was given out.
        std::vector<std::pair<clock::time_point, std::uint64_t>> of_all, of_writers;
    };
    std::map<std::string, token_history> tokens_;   ///< by resource
    std::map<std::string, std::uint64_t> takings_;  ///< by key
    std::vector<lock_ticket> tickets_;
    std::set<std::string> left_;  ///< by token
    unsigned new_tokens_ = 0;
};

/// The seed of all random numbers of a world, different for each profile and seed.
std::uint64_t stream_of_chance(profile const&, std::uint64_t seed);

outcome simulate(profile const&, std::uint64_t seed, bool tracing = false);

}  // namespace redlock::sim
