#pragma once

#include "sim/waits.hpp"

#include <redlock.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace redlock::sim {

class process;
class world;

/// A user of locks: acquires, holds, extends, releases, cancels, forgets; over and over, at random.
class worker {
public:
    worker(world&, process&, std::size_t number);

    void start() { rest(); }
    void stop();                     ///< no new acquisitions; what is under way is cancelled
    bool idle() const noexcept { return idle_; }

    std::string const& name() const noexcept { return name_; }
    resource_set const& resources() const noexcept { return resources_; }
    bool holds() const noexcept { return held_.held(); }
    bool has(std::string const& token) const noexcept { return !released_ && held_.token() == token; }
    void add_claim(std::vector<claim>&) const;
    bool shares() const noexcept { return (held_.empty() ? options_.mode : held_.mode()) != mode::exclusive; }
    void forget() { held_ = {}; }
    clock::duration rest_of_validity() const;  ///< also of a lock that was lost
    void manager_ends();             ///< what is held must stay so

    /// What must be true after each step of its process.
    void check() const;

    /// At the end.
    void check_all_completed() const;

private:
    /// One asynchronous call: it must complete once, and in time.
    struct call {
        std::string what;
        clock::time_point begun;
        clock::duration limit;       ///< zero: it waits for as long as it takes
        clock::duration stalled;
        std::uint64_t stalls;
        int completions = 0;
    };
    std::shared_ptr<call> begin(std::string what, clock::duration limit);
    void end(call&);

    /// Since when a lock is free, as far as known, and how often it had been taken by then.
    struct vacancy {
        clock::time_point since;
        std::uint64_t takings = 0;
    };
    void look_after(std::shared_ptr<call> const& waits, vacancy);

    void rest();
    void choose();
    void acquire();
    bool leave();
    void take_over();
    void release(lock_ticket const&);
    void resumed(call const&, lock_ticket const&, error_code, lock);
    void has_it(call const&);
    bool is_excusable(call const&, error_code) const;
    void keep(std::span<std::string const> held);
    std::optional<std::uint64_t> takings_if_it_could_have_it();
    void acquired(call const&, error_code, lock);
    void watch();
    void use();
    void extend(std::function<void()> next);
    void upgrade(std::function<void()> next);
    void downgrade(std::function<void()> next);
    void let_go();
    void done();
    void cancel_some_time(clock::duration within);

    world& world_;
    process& process_;
    std::string const name_;
    std::string const private_resource_;
    resource_set resources_{};       ///< which it wants, or has
    bool any_ = false;               ///< it wants one of them
    std::string resources_text_;     ///< for people
    acquire_options options_;
    lock held_;
    bool idle_ = true;
    bool stopping_ = false;
    bool told_ = false;              ///< of a loss
    bool watching_ = false;
    bool released_ = false;
    clock::time_point kept_until_{};  ///< in spite of the manager's end
    int steps_left_ = 0;
    int waited_ = 0;
    int eager_ = 0;
    int turn_ = 0;
    std::shared_ptr<asio::cancellation_signal> cancel_;
    std::vector<std::shared_ptr<call>> calls_;
};

}  // namespace redlock::sim
