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

/// A program that takes locks: an event loop, a manager, some workers, and a clock of its own.
class process {
public:
    process(world&, std::size_t index, unsigned incarnation);
    ~process();

    std::size_t index() const noexcept { return index_; }
    std::string const& name() const noexcept { return name_; }
    config const& settings() const noexcept { return settings_; }
    lock_manager& locks() { return *locks_; }
    bool has_manager() const noexcept { return locks_ != nullptr; }

    /// Handles what is due, unless the process stands still.
    void run();

    /// It loses the processor, and perhaps the machine sleeps.
    void stall_for(clock::duration);
    /// The chance of it: called whenever it looks at the clock, and between any two of its steps.
    void may_stall();
    bool on_stack() const noexcept { return depth_ > 0 || stalled_; }

    /// Total time it stood still, and when it last went on.
    clock::duration stalled_in_all() const noexcept { return stalled_in_all_; }
    std::uint64_t stalls() const noexcept { return stalls_; }
    bool undisturbed_for(clock::duration) const noexcept;

    // Its clocks.
    clock::time_point clock_now() const;   ///< counts from boot, sleep included
    std::uint64_t wall_clock() const;      ///< in microseconds since 1970
    clock::time_point steady_now() const;  ///< stands still during sleep
    clock::time_point true_time(clock::time_point local) const;

    /// A descriptor that its event loop waits for becomes readable after @p d; this replaces what was set before.
    void set_timer(int descriptor, clock::duration d);

    /// Calls @p what on the event loop after @p d of its own time.
    void after(clock::duration d, std::function<void()> what);

    // For the checks.
    bool in_touch_for(clock::duration) const;          ///< with all servers, which are well
    bool holds(resource_set const&);                   ///< one of them
    bool is_first_for(resource_set const&);            ///< whether nobody else here may stand before who wants several
    clock::time_point asked_for(resource_set const&);  ///< the last time, for one of them
    bool owns(stores::memory::lock_table::entry const&) const;  ///< whether it is its key
    void wants(std::string const& resource);
    void is_done_with(std::string const& resource);
    void checks_submission(node_operation const&);
    void checks_sending(node_command const&, server const&);
    void may_send_again(std::string const& token, server const& s) { tokens_.erase({&s, token}); }  ///< it was refused
    void contact_changed(server const&);
    void disturbed_until(server const&, clock::time_point);
    void check_leftovers();
    bool has_several(std::string const& token) const;  ///< of those who share one
    void has_released(std::string const& token);
    void has(std::string const& token)
    {
        released_.erase(token);
    }  ///< somebody has joined, in the very moment; or goes on with it

    // The end.
    void end_manager();  ///< destroys it; the workers go on with errors
    void stop_workers();
    void shut_down();  ///< in the middle of everything
    void check_that_nothing_is_left();

    /// With nodes for all servers.
    void begin_manager();
    asio::any_io_executor executor() { return context_.get_executor(); }

    std::vector<std::unique_ptr<worker>> workers;
    std::vector<std::unique_ptr<owner>> owners;  ///< in place of workers, where they hold several

    /// For as long as it lives, the process is looked at from outside: on its clock, and it does not stall.
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
    config settings_;

    std::unique_ptr<lock_manager> survivor_;  // of the context

    bool stalled_ = false;
    bool observing_ = false;
    int depth_ = 0;
    clock::duration stalled_in_all_{0};
    std::uint64_t stalls_ = 0;
    std::uint64_t timer_settings_ = 0;
    clock::time_point last_stall_;
    clock::time_point last_change_;  ///< of a connection, to any server
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

/// The process whose clocks the code that is running sees; null: the real ones.
process*& current_process() noexcept;

/// For as long as it lives, the clocks are those of a process.
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
