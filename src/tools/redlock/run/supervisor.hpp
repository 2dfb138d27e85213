#pragma once

#include "tools/redlock/locks/held_locks.hpp"
#include "tools/redlock/run/supervised.hpp"

#include <redlock/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::cli {

/// The action if the lock of a command cannot be kept.
enum class on_lost : std::uint8_t {
    term,  ///< send SIGTERM, and SIGKILL after the grace; both before the validity ends
    kill,  ///< send SIGKILL
    warn,  ///< do not stop the command; only report the loss
};

/// The default of `--grace`.
std::chrono::milliseconds default_grace(std::chrono::milliseconds ttl);

/** Waits until the process group of a command has ended. Forwards signals to it, and stops it before the lock is lost.

    - The supervisor kills the command a margin before the validity ends: min(max(t/20, 50 ms), t/5), where t is the
      smaller of ttl and max_hold. The lock counts as lost at that time; see held_locks::wait_lost.
    - Half a margin later the command is killed also if this process is stopped: see supervised::must_end_by. If this
      process is stopped right after a renewal, it may be earlier by a twentieth of t, and by a second at most.
    - The supervisor sends SIGTERM @ref options::grace before that. The grace is at most half of t without the margin,
      so that there is time to work and to repeat a failed renewal.
    - Before SIGTERM, the supervisor renews the lock once more, even if this process was paused and wakes late.

    The class has many members because the command, the lock and the signals of the terminal may end in any order.
*/
class supervisor : public std::enable_shared_from_this<supervisor> {
public:
    struct options {
        std::chrono::milliseconds ttl;                 ///< of the lock
        std::chrono::milliseconds max_hold{0};         ///< of the lock. Zero: there is no limit
        std::chrono::milliseconds grace;               ///< between SIGTERM and SIGKILL
        std::chrono::milliseconds renewal_timeout{0};  ///< of the last renewal, at most the margin. Zero: no renewal
        on_lost then;
        std::function<void()> lost{};                         ///< called once, when the lock cannot be kept
        std::function<void(std::string const&)> say{};        ///< writes a message for people
        std::shared_ptr<testing::manual_clock> test_clock{};  ///< manager_options::test_clock of the lock's manager
    };

    /// @param signals  the signals to forward, and SIGCHLD
    supervisor(asio::signal_set& signals, std::shared_ptr<held_locks>, supervised&, options);

    /// @return whether the lock was kept until the command's process group had ended
    asio::awaitable<bool> run();

private:
    void listen();
    void watch();
    void forward_signals();
    void act();
    asio::awaitable<void> sleep(clock::duration);  ///< ends early if wake_ is cancelled
    void tell_end();
    void renew(clock::time_point at);
    static asio::awaitable<void> note_loss(std::shared_ptr<supervisor>);
    static asio::awaitable<void> extend(std::shared_ptr<supervisor>);
    void stop_softly(std::string const& why);
    void kill(std::string const& why);
    void tell_loss();
    clock::time_point now() const;
    clock::time_point hard_end() const;                                 ///< the time of SIGKILL
    clock::time_point soft_end() const { return hard_end() - grace_; }  ///< the time of SIGTERM
    bool renews() const;                     ///< whether there is a last renewal before the command is stopped
    clock::time_point last_renewal() const;  ///< when the last renewal begins; it ends before the command is stopped
    clock::time_point next_step() const;

    std::shared_ptr<held_locks> const held_;
    supervised& child_;
    options const options_;
    std::chrono::milliseconds const time_to_work_;  ///< the smaller of ttl and max_hold
    std::chrono::milliseconds const margin_, grace_, renewal_timeout_, tell_every_;
    asio::signal_set& signals_;
    asio::steady_timer wake_;
    std::vector<int> arrived_;
    clock::time_point told_end_ = clock::time_point::max();  ///< see supervised::must_end_by
    bool is_over_ = false;
    bool lost_ = false;     ///< the lock is lost
    bool is_told_ = false;  ///< `options::lost` was called
    bool is_killed_ = false;
    bool has_begun_last_renewal_ = false;                   ///< reset when a renewal has moved the end of the validity
    clock::time_point wait_until_{};                        ///< before that, no SIGTERM: the last renewal is under way
    clock::time_point kill_at_ = clock::time_point::max();  ///< the latest time of SIGKILL, if SIGTERM was sent
};

}  // namespace redlock::cli
