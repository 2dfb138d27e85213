#pragma once

#include "core/schedule.hpp"
#include "manager/engine.hpp"
#include "manager/round.hpp"

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::detail {

/** A lock that was won: what a handle and the engine share.

    While it is held the engine refers to it and its alarm is set: for the renewal that is due, and for the moment at
    which it counts as lost, which waits for nothing and nobody.
*/
class held_lock final : public std::enable_shared_from_this<held_lock>, public engine::keepable {
public:
    held_lock(std::shared_ptr<detail::engine>, std::string resource, round const& won, acquire_options const&);

    // Any thread.
    bool held() const noexcept;
    bool released() const noexcept { return standing_.load(std::memory_order_acquire) == standing::released; }
    clock::time_point valid_until() const noexcept;
    std::string const resource;
    std::shared_ptr<detail::engine> const engine;

    /// How it stands; it moves down only.
    enum class standing : std::uint8_t { held, lost, released };
    standing give_up(standing to) noexcept;  ///< @return how it stood before; any thread

    // On the strand.
    std::shared_ptr<detail::grant> const& grant() const noexcept { return grant_; }
    std::chrono::milliseconds longest_ttl() const noexcept { return longest_ttl_; }
    void keep();                                ///< sets the alarm
    error_code check();                         ///< an error if it is not held; it may turn out to be lost
    void may_live_for(std::chrono::milliseconds ttl) noexcept { longest_ttl_ = std::max(longest_ttl_, ttl); }
    error_code judge(round const& extension);   ///< moves the validity, or loses the lock, or neither
    void renewed(error_code);
    /// Of one that was lost: why, for people. Any thread that knows of the loss.
    std::string const& lost_because() const noexcept { return trouble_; }
    void lose_in_test();
    bool let_go();                              ///< @return false if it was let go before
    void drop();                                ///< the execution context goes
    void told_to_stop() noexcept;               ///< the manager ends: so are those told who wait for a loss

    /// One call of `lock::async_wait_lost`.
    class wait final : public shared_operation<wait> {
    public:
        wait(std::shared_ptr<held_lock> held, completion<void(error_code)> handler)
            : shared_operation(held->engine->strand()), done(std::move(handler)), held_(std::move(held))
        {
        }

        void cancel(asio::cancellation_type) override;
        void drop() override {}

        completion<void(error_code)> done;

    private:
        friend class held_lock;

        std::shared_ptr<held_lock> const held_;
        std::shared_ptr<wait> kept_;  // while it waits
    };
    void add(std::shared_ptr<wait>);

    /// `lock_manager::with_lock` runs a body under it, which may need long to stop: the manager's end does not end its renewal.
    void runs_body();

private:
    void ring();
    void lose(std::string_view why);
    void give_away_when_over();
    void end_waits(error_code) noexcept;
    std::shared_ptr<wait> take_wait() noexcept;
    bool renews() const noexcept;
    clock::time_point valid_until(clock::time_point started, std::chrono::milliseconds ttl) const noexcept;
    clock::time_point lost_at() const noexcept { return valid_until() - margin_; }

    std::shared_ptr<detail::grant> const grant_;
    std::chrono::milliseconds const ttl_;
    bool const renew_;
    clock::time_point const hold_until_;
    clock::time_point renew_at_;
    std::chrono::milliseconds longest_ttl_;
    std::chrono::milliseconds margin_;
    bool renewing_ = false;
    bool has_body_ = false;
    bool free_ = false;              ///< lost or let go
    bool renewal_fails_ = false;     ///< for the @ref renewal_watch
    std::string trouble_;            ///< whose votes were missing in the latest extension, if it failed; then why it was lost
    std::atomic<standing> standing_{standing::held};
    std::atomic<clock::rep> valid_until_;
    core::alarm<clock::time_point> alarm_;
    boost::intrusive::list<operation, boost::intrusive::constant_time_size<false>> waits_;
};

/// Gives back without waiting. Any thread; never throws.
void give_back(std::shared_ptr<held_lock> const&) noexcept;

}  // namespace redlock::detail
