#pragma once

#include "sim/server.hpp"

#include <redlock.hpp>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sim {

class owner;
class worker;
class world;

/// A program that uses locks: an event loop, a manager, some workers, and a clock of its own.
class process {
public:
    process(world&, std::size_t index, unsigned incarnation);
    ~process();

    std::size_t index() const noexcept { return index_; }
    std::string const& name() const noexcept { return name_; }
    manager_options const& settings() const noexcept { return settings_; }
    lock_manager& locks() { return *locks_; }
    bool has_manager() const noexcept { return locks_ != nullptr; }

    /// Handles everything that is due, unless the process is paused.
    void run();

    /// Pauses the process; its machine may sleep meanwhile.
    void stall_for(clock::duration);
    /// Pauses the process at random. Called whenever it reads the clock, and between any two of its steps.
    void may_stall();
    bool on_stack() const noexcept { return depth_ > 0 || stalled_; }

    /// The total time of its pauses, and their number.
    clock::duration stalled_in_all() const noexcept { return stalled_in_all_; }
    std::uint64_t stalls() const noexcept { return stalls_; }
    bool undisturbed_for(clock::duration) const noexcept;

    // Its clocks.
    clock::time_point clock_now() const;   ///< counts from boot, sleep included
    std::uint64_t wall_clock() const;      ///< in microseconds since 1970
    clock::time_point steady_now() const;  ///< does not advance during sleep
    clock::time_point true_time(clock::time_point local) const;

    /// Makes a descriptor for which its event loop waits readable after @p d. Replaces the earlier setting.
    void set_timer(int descriptor, clock::duration d);

    /// Calls @p what on the event loop after @p d of true time.
    void after(clock::duration d, std::function<void()> what);

    // For the checks.
    bool in_touch_for(clock::duration) const;          ///< all servers were well and could be reached for this time
    bool holds(resource_set const&);                   ///< whether it holds one of them
    bool is_first_for(resource_set const&);            ///< whether only one worker wants them; always if `single`
    clock::time_point asked_for(resource_set const&);  ///< when it last asked for one of them
    bool owns(stores::memory::lock_table::entry const&) const;  ///< whether the key is its own
    void wants(std::string const& resource);
    void is_done_with(std::string const& resource);
    void checks_submission(node_operation const&);
    void checks_sending(node_command const&, server const&);
    /// Call this when the server has refused the request.
    void may_send_again(std::string const& token, server const& s) { tokens_.erase({&s, token}); }
    void contact_changed(server const&);
    void disturbed_until(server const&, clock::time_point);
    void check_leftovers();
    bool has_several(std::string const& token) const;  ///< whether several workers share it
    void has_released(std::string const& token);
    /// Call this when a worker has joined or resumed the lock, perhaps at the moment of its release.
    void has(std::string const& token) { released_.erase(token); }

    // The end.
    void end_manager();  ///< destroys the manager; calls of the workers fail from then on
    void stop_workers();
    void shut_down();  ///< also while calls are under way
    void check_that_nothing_is_left();

    /// Makes a manager, with nodes for all servers.
    void begin_manager();
    asio::any_io_executor executor() { return context_.get_executor(); }

    std::vector<std::unique_ptr<worker>> workers;
    std::vector<std::unique_ptr<owner>> owners;  ///< in place of workers, in worlds with scopes

    /// While it lives, the checks look at the process: the clocks are its own, and it is not paused.
    class observation;

private:
    void check_clean(bool sessions_are_over) const;
    void look_at_timer(int descriptor, std::uint64_t setting, clock::time_point due);

    world& world_;
    std::size_t const index_;
    std::string const name_;
    double const rate_;
    clock::duration const offset_;
    clock::duration const wall_offset_;
    clock::duration slept_{0};
    manager_options settings_;

    std::unique_ptr<lock_manager> survivor_;  // the manager, if it is destroyed after the context

    bool stalled_ = false;
    bool observing_ = false;
    int depth_ = 0;
    clock::duration stalled_in_all_{0};
    std::uint64_t stalls_ = 0;
    std::uint64_t timer_settings_ = 0;
    clock::time_point last_stall_;
    clock::time_point last_change_;  ///< the latest change of any connection
    std::map<server const*, clock::time_point> last_change_to_;

    struct interest {
        int count = 0;
        clock::time_point done;
    };
    std::map<std::string, interest> interests_;
    std::map<server const*, clock::time_point> disturbed_;
    std::set<std::pair<server const*, std::string>> tokens_;
    std::map<std::string, clock::time_point> released_;
    std::map<std::string, clock::time_point> asked_;
    bool shutting_down_ = false;
    bool shut_down_ = false;
    bool clean_ = false;
    std::shared_ptr<int> const alive_ = std::make_shared<int>();

    std::shared_ptr<void> program_;
    asio::io_context context_{1};
    std::unique_ptr<asio::executor_work_guard<asio::io_context::executor_type>> work_;
    std::unique_ptr<lock_manager> locks_;
    std::weak_ptr<locks::manager_state> state_;
};

/// The process whose clocks the running code reads; null: the real clocks.
process*& current_process() noexcept;

/// While it lives, the clocks are those of a process.
class clocks_of {
public:
    explicit clocks_of(process& p) noexcept : before_(std::exchange(current_process(), &p)) {}
    ~clocks_of() { current_process() = before_; }
    clocks_of(clocks_of const&) = delete;
    clocks_of& operator=(clocks_of const&) = delete;

private:
    process* const before_;
};

class process::observation {
public:
    explicit observation(process& p) noexcept : process_(p), clocks_(p), before_(std::exchange(p.observing_, true)) {}
    ~observation() { process_.observing_ = before_; }
    observation(observation const&) = delete;
    observation& operator=(observation const&) = delete;

private:
    process& process_;
    clocks_of const clocks_;
    bool const before_;
};

}  // namespace redlock::sim
