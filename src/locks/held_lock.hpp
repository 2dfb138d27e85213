#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/lock.hpp>

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v0::detail {

class held_lock;

/// An upgrade under way that waits for others to go.
class waiting_upgrade {
public:
    virtual void others_changed() = 0;

protected:
    ~waiting_upgrade() = default;
};

/// How many handles there are: on a lock, or of a scope on it. From none it never becomes one again. Any thread.
class handle_count {
public:
    bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
    bool several() const noexcept { return count_.load(std::memory_order_acquire) > 1; }
    bool one_more() noexcept;  ///< @return false if there is none any more
    bool one_less() noexcept;  ///< @return whether it was the last
    bool end_the_only_one() noexcept;  ///< @return false if there are others, or none

private:
    std::atomic<std::size_t> count_{1};
};

/// The handles that a scope has on one lock, wherever they were moved. They know the scope, which outlives its user's.
struct scope_share {
    explicit scope_share(std::shared_ptr<scope_state> s)
        : scope(std::move(s))
    {
    }

    std::shared_ptr<scope_state> const scope;
    handle_count handles;
};

/// A wait for the loss of a lock, in the list of the stake by which it waits.
class waits_by_stake : public boost::intrusive::list_base_hook<boost::intrusive::tag<stake>, boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    using list = boost::intrusive::list<waits_by_stake,
                                        boost::intrusive::base_hook<boost::intrusive::list_base_hook<boost::intrusive::tag<stake>, boost::intrusive::link_mode<boost::intrusive::auto_unlink>>>,
                                        boost::intrusive::constant_time_size<false>>;
};

/// What one handle has of a held lock. There may be several; the lock is given back with the last. In a scope it may have more than one
/// lock, or one for fewer names than that has: then it has *parts*.
class stake {
public:
    /// The first one, which is a part of the lock.
    explicit stake(held_lock& l) noexcept : lock(l) {}

    /// One more, of a scope if that counts. It has been given back from the beginning if the lock has.
    stake(std::shared_ptr<held_lock>, std::shared_ptr<scope_share> of_scope) noexcept;

    /// All of @p parts, for @p names: held as long as each of them is.
    stake(resource_set names, std::vector<lock_handle> parts);

    held_lock& lock;  ///< of several the first

    /// Of one that nobody has yet: it belongs to a scope, which counts its handles.
    void belongs_to(std::shared_ptr<scope_share> of_scope) noexcept { of_scope_ = std::move(of_scope); }
    std::shared_ptr<scope_share> const& of_scope() const noexcept { return of_scope_; }

    // Any thread.
    std::span<lock_handle const> parts() const noexcept;
    resource_set const& resources() const noexcept;
    bool held() const noexcept;
    clock::time_point valid_until() const noexcept;
    std::string_view lost_because() const noexcept;  ///< for people; empty: it is not lost
    bool given_back() const noexcept { return given_back_.load(std::memory_order_acquire); }

    enum class end : std::uint8_t { before, one_of_several, last, in_parts };
    end give_back() noexcept;  ///< its parts are given back each by itself
    bool end_alone() noexcept;  ///< gives it back, unless there are others; nobody joins the lock any more

    /// A body runs by it, until it is given back.
    void runs_body() noexcept;

    waits_by_stake::list waits;  ///< on the strand; they keep it

private:
    struct composition {
        resource_set names;
        std::vector<lock_handle> parts;
    };

    bool join() noexcept;
    void end_body() noexcept;
    void leave_scope() noexcept;

    std::shared_ptr<held_lock> const keep_;  // not of the first
    std::shared_ptr<scope_share> of_scope_;
    std::unique_ptr<composition const> const composition_;
    std::atomic<bool> given_back_{false};
    std::atomic<bool> has_body_{false};
};

/** A lock that was won: what its handles and the manager share.

    While it is held it is among the @ref holdings and its alarm is set: for the renewal that is due, and for the moment at
    which it counts as lost, which waits for nothing and nobody.
*/
class held_lock final : public std::enable_shared_from_this<held_lock>, public holding {
public:
    /// Begins a renewal, which ends with @ref renewed.
    using renew = void (*)(std::shared_ptr<held_lock>, std::chrono::milliseconds ttl);

    /// @param renew what renews it, if the options say so
    held_lock(std::shared_ptr<manager_state>, lock_origin const&, resource_set, round const& won, acquire_options const&, renew);

    // Any thread.
    bool held() const noexcept override;
    std::shared_ptr<stake> first_stake() noexcept { return {shared_from_this(), &first_}; }
    /// One more, which a scope may count; null if the last has been given back.
    std::shared_ptr<stake> another(std::shared_ptr<scope_share> of_scope = {});
    handle_count handles;
    clock::time_point valid_until() const noexcept override;
    redlock::mode mode() const noexcept override;
    std::shared_ptr<manager_state> const state;

    /// How one that was acquired shared is held. It moves down only: what asks for an upgrade may arrive late, and so may what takes it back.
    enum class form : std::uint8_t { as_acquired, upgraded, downgraded };
    form held_as() const noexcept { return form_.load(std::memory_order_acquire); }
    bool change(form from, form to) noexcept { return form_.compare_exchange_strong(from, to, std::memory_order_acq_rel); }

    /// It moves down only.
    enum class condition : std::uint8_t { held, lost, released, detached };
    condition give_up(condition to) noexcept;  ///< @return what it was before; any thread
    bool detach() noexcept;  ///< unless it is not held any more: its keys are left to others; any thread

    // On the strand.
    std::shared_ptr<detail::grant> const& grant() const noexcept override { return grant_; }
    std::chrono::milliseconds longest_ttl() const noexcept override { return longest_ttl_; }
    void keep();                                ///< sets the alarm
    error_code check();                         ///< an error if it is not held; it may turn out to be lost
    void may_live_for(std::chrono::milliseconds ttl) noexcept { longest_ttl_ = std::max(longest_ttl_, ttl); }
    error_code conclude(round const& extension);   ///< moves the validity, or loses the lock, or neither
    void renewed(error_code);
    void tell_extension(error_code, bool automatic) const noexcept;  ///< of one that is held still

    // To have it alone: mode_change.cpp.
    void may_be_upgraded(lock_handle right) noexcept;   ///< once, before anybody else knows it: it may wait to be alone as long as it has this
    bool is_upgradeable() const noexcept { return !right_to_upgrade_.empty(); }
    bool may_wait_to_be_alone() const noexcept { return right_to_upgrade_.held(); }
    bool has_other_handles() const noexcept { return handles.several(); }
    error_code begin_upgrade(waiting_upgrade* waits);
    void end_upgrade();
    void others_changed() override;
    bool keeps_readers_out() const noexcept override { return waiting_upgrade_ || mode() == redlock::mode::exclusive; }
    std::chrono::milliseconds ttl_of_upgrade() const;
    error_code conclude_upgrade(round const&, std::uint64_t token);
    error_code conclude_downgrade(round const&);
    error_code lose_to_refusal();
    /// Whether who asks now for @p ttl finds as much left of it as a lock of its own would have, or, of one that is renewed for that
    /// anyway and is to be, half.
    bool lasts_for(std::chrono::milliseconds ttl, renewal) const noexcept;
    /// From now on it is renewed, for @p ttl at the least.
    void renew_for(std::chrono::milliseconds ttl, renew);
    /// Of one that was @ref lost: why, for people. Any thread.
    std::string const& lost_because() const noexcept { return trouble_; }
    /// Its keys stay, whoever gives it back, until @p d after the acquisition began; not of one that is lost.
    void stay_for(std::chrono::milliseconds d);
    void lose_in_test();
    bool is_wanted() const noexcept override { return wanted_; }
    std::shared_ptr<stake> join(acquire_options const&, clock::time_point called) override;
    bool let_go() override;
    bool is_detached() const noexcept override { return condition_.load(std::memory_order_acquire) == condition::detached; }
    void may_be_gone(std::size_t node) override;
    void abandon() override;
    void told_to_stop() noexcept override;

    /// One call of `lock::async_wait_lost`.
    class wait final : public shared_operation<wait>, public waits_by_stake {
    public:
        wait(std::shared_ptr<detail::stake> s, completion<void(error_code)> handler)
            : shared_operation(s->lock.state->strand()), done(std::move(handler)), stake_(std::move(s))
        {
        }

        void cancel(asio::cancellation_type) override;
        void abandon() override {}

        completion<void(error_code)> done;

    private:
        friend class held_lock;

        void end(error_code) noexcept;

        std::shared_ptr<detail::stake> const stake_;
        std::shared_ptr<wait> kept_;  // while it waits
    };
    void add(std::shared_ptr<wait>);
    void end_waits_of(stake&) noexcept;  ///< it was given back

    /// `lock_manager::with_lock` runs a body under it, which may need long to stop: the manager's end does not end its renewal.
    void runs_body(stake& by);
    void body_is_over() noexcept { --bodies_; }  ///< any thread

    bool lost() const noexcept { return condition_.load(std::memory_order_acquire) == condition::lost; }

private:
    void ring();
    void lose(std::string_view why);
    void tell_loss(clock::time_point now) noexcept;
    void tell_end(clock::time_point now) noexcept;  ///< of one that is not lost
    clock::duration validity(clock::time_point now) const noexcept;  ///< what is left of it
    void give_back_right() noexcept;
    void set_valid_until(clock::time_point, clock::time_point started, std::chrono::milliseconds promised);
    void give_away_when_over();
    void end_waits(error_code) noexcept;
    std::shared_ptr<wait> take_wait() noexcept;
    std::shared_ptr<wait> take(wait&) noexcept;
    bool renews() const noexcept;
    clock::time_point valid_until(clock::time_point started, std::chrono::milliseconds ttl) const noexcept;
    clock::time_point lost_at() const noexcept { return valid_until() - margin_; }

    std::shared_ptr<detail::grant> const grant_;
    clock::time_point const started_;  ///< the round that won
    clock::time_point const acquired_;
    std::chrono::milliseconds ttl_;
    std::chrono::milliseconds promised_;  ///< of that, by a quorum, at last
    renew renew_;                    ///< null: it is not renewed
    clock::time_point const hold_until_;
    clock::time_point renew_at_;
    clock::time_point not_before_;        ///< whatever nodes say of the key, it is not renewed again earlier
    std::chrono::milliseconds longest_ttl_;
    std::chrono::milliseconds margin_;
    std::size_t later_joins_ = 0;
    bool const wanted_;              ///< somebody waited to have it alone when it was won
    bool renewing_ = false;
    bool upgrading_ = false;
    waiting_upgrade* waiting_upgrade_ = nullptr;
    lock_handle right_to_upgrade_;   ///< empty: it does not wait for that
    bool gone_meanwhile_ = false;    ///< a node has said so
    bool free_ = false;              ///< lost or let go
    bool renewal_fails_ = false;     ///< for the @ref renewal_log
    std::string trouble_;            ///< whose votes were missing in the latest extension, if it failed; then why it was lost
    stake first_{*this};
    std::atomic<std::size_t> bodies_{0};
    std::atomic<condition> condition_{condition::held};
    std::atomic<form> form_{form::as_acquired};
    std::atomic<clock::rep> valid_until_;
    alarm alarm_;
    boost::intrusive::list<operation, boost::intrusive::constant_time_size<false>> waits_;
};

/// A body runs by it. On the strand.
void runs_body(stake&);

/// Gives back without waiting. Any thread; never throws.
void give_back(std::shared_ptr<stake> const&) noexcept;

/// One of several was given back: who waits by it for the loss is told. Any thread.
void tell_waits_of(std::shared_ptr<stake> const&);

}  // namespace redlock::detail
