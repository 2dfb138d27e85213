#pragma once

#include "cli/supervised.hpp"

#include <redlock/lock.hpp>
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

/// What becomes of a command whose lock cannot be kept.
enum class on_lost : std::uint8_t {
    term,  ///< SIGTERM, and SIGKILL after a while; both before the validity is over
    kill,  ///< SIGKILL
    warn,  ///< nothing
};

/// The grace of a command that was given none.
std::chrono::milliseconds default_grace(std::chrono::milliseconds ttl);

/** Stays with a command until its process group is gone. Forwards signals to it, and stops it before the lock is lost.

    The lock counts as lost, and the command is killed, a margin before the validity ends: min(max(t/20, 50 ms), t/5),
    where t is the smaller of ttl and max_hold; see lock::async_wait_lost. The command is asked to stop
    @ref options::grace before that. The grace is at most half of t without the margin, so that there is time to work
    and to repeat a renewal that has failed.

    The lock is renewed once more before the command is asked to stop, also if this process was paused and wakes late.

    It has many members because the command, the lock and the signals of the terminal end each other in any order.
*/
class supervisor : public std::enable_shared_from_this<supervisor> {
public:
    struct options {
        std::chrono::milliseconds ttl;          ///< of the lock
        std::chrono::milliseconds max_hold{0};  ///< of the lock. Zero: there is no limit
        std::chrono::milliseconds grace;        ///< between SIGTERM and SIGKILL
        std::chrono::milliseconds patience{0};  ///< for the last renewal, at most a margin. Zero: there is none
        on_lost then;
        std::function<void()> lost{};                   ///< called once, before the command is stopped, or at the loss
        std::function<void(std::string const&)> say{};  ///< tells people what has happened
        std::shared_ptr<testing::manual_clock> test_clock{};  ///< that of the lock's manager: config::test_clock
    };

    /// @param signals  what is handed on, and SIGCHLD
    supervisor(asio::signal_set& signals, lock&, supervised&, options);

    /// @return whether the lock could be kept until the command was gone
    asio::awaitable<bool> run();

private:
    void listen();
    void watch();
    void pass_on_signals();
    void act();
    asio::awaitable<void> sleep(clock::duration);  ///< or less, if wake_ is cancelled
    void renew(clock::time_point at);
    void stop_softly(std::string const& why);
    void kill(std::string const& why);
    void tell_loss();
    clock::time_point now() const;
    clock::time_point hard_end() const;                                 ///< at which it is killed
    clock::time_point soft_end() const { return hard_end() - grace_; }  ///< at which it is asked to stop
    bool renews() const;                                                ///< once more before the command is stopped
    clock::time_point last_renewal() const;  ///< when the last renewal begins: it ends before the command is stopped
    clock::time_point next_step() const;

    lock& held_;
    supervised& child_;
    options const options_;
    std::chrono::milliseconds const time_to_work_;  ///< without an extension
    std::chrono::milliseconds const margin_, grace_, patience_;
    asio::signal_set& signals_;
    asio::steady_timer wake_;
    std::vector<int> arrived_;
    bool is_over_ = false;
    bool lost_ = false;     ///< the lock
    bool is_told_ = false;  ///< that it cannot be kept
    bool is_killed_ = false;
    bool has_begun_last_renewal_ = false;  ///< since the command was last far from being stopped
    clock::time_point wait_until_{};       ///< for the last renewal, before the command is asked to stop
    clock::time_point kill_at_ = clock::time_point::max();  ///< at the latest, once it was asked to stop
};

}  // namespace redlock::cli
