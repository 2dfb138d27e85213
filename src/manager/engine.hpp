#pragma once

#include "core/fencing.hpp"
#include "core/quarantine.hpp"
#include "core/schedule.hpp"
#include "core/turn.hpp"
#include "log.hpp"
#include "manager/flow.hpp"
#include "manager/fork.hpp"
#include "manager/janitor.hpp"
#include "manager/operation.hpp"
#include "manager/renewal_watch.hpp"
#include "manager/runtime.hpp"

#include <redlock/config.hpp>
#include <redlock/lock_manager.hpp>
#include <redlock/node.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/intrusive/list.hpp>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <unordered_map>
#include <vector>

namespace redlock::detail {

class acquisition;
class ballot;
class held_lock;
class round;

/** What a manager and its locks share. All of it lives on the runtime's strand, except where it says otherwise.

    The flows are elsewhere: acquisition.cpp, held_lock.cpp, inspection.cpp, janitor.cpp. Here is what they have in
    common: the nodes, the alarms, who waits for what, who holds what, and the end of it all.
*/
class engine : public std::enable_shared_from_this<engine> {
public:
    /// Makes one that the execution context tells of its end.
    /// @param log the function of the config, where the nodes use it, too
    static std::shared_ptr<engine> make(asio::any_io_executor user_executor, std::unique_ptr<detail::runtime>, config,
                                        std::vector<std::shared_ptr<node>>, std::shared_ptr<user_log> log = {});

    /// Only for @ref make.
    engine(asio::any_io_executor user_executor, std::unique_ptr<detail::runtime>, config,
           std::vector<std::shared_ptr<node>>, std::shared_ptr<user_log>);
    ~engine();

    // Any thread.
    config const& settings() const noexcept { return settings_; }
    std::vector<std::shared_ptr<node>> const& nodes() const noexcept { return nodes_; }
    asio::any_io_executor const& user_executor() const noexcept { return user_executor_; }
    detail::strand const& strand() const noexcept { return strand_; }
    clock::time_point now() const noexcept { return abandoned() ? clock::now() : runtime_->now(); }
    std::string const& owner() const noexcept { return owner_; }
    redlock::stats stats() const;
    /// Whether the execution context is gone, and with it everything that could still be done; or this process is a fork of the one
    /// that it belongs to.
    bool abandoned() const noexcept { return abandoned_.load(std::memory_order_acquire) || life_ != process_life(); }

    // Time and chance.
    void set(core::alarm<clock::time_point>& alarm, clock::time_point at);
    std::uint64_t random() { return runtime_->random()[0]; }
    std::string make_token();
    /// A fencing token to propose.
    std::uint64_t propose() noexcept { return fence_clock_.next(runtime_->wall_clock()); }
    /// Another client's proposal for @p resource was higher.
    void outbid(std::uint64_t counter, std::string const& resource);
    /// For how long, from now on, a key with @p ttl may exist on a node.
    clock::duration key_lifetime(std::chrono::milliseconds ttl) const;

    // Votes.
    /// How many nodes must grant an acquisition.
    std::size_t quorum() const noexcept { return quorum_; }
    /// Whether a grant of node @p i does not count, because its server has restarted and may have forgotten a lock.
    bool in_quarantine(std::size_t i) const
    {
        auto const until = node_counters_[i].quarantined_until.load(std::memory_order_relaxed);
        return until != never && now() < until;
    }
    /// When enough nodes will be out of quarantine for a quorum.
    clock::time_point quarantine_over() const;

    // Life.
    bool open() const noexcept { return phase_ == phase::open; }
    bool closed() const noexcept { return phase_ == phase::closed; }
    /// Begins the end, or joins it. Locks are kept until their holders have let go of them, or until they run out.
    void shut_down(std::function<void(error_code)> done);
    /// The same, for nobody who waits, without a need of memory. Any thread; once.
    void shut_down_in_background() noexcept;
    /// The execution context goes: lets go of everything that refers to it.
    void abandon();

    void enter(operation&);  ///< unless it is there already
    void leave(operation&);  ///< if it is there

    /// Acquisitions of one resource that may wait, and what the first of them has met at last.
    struct queue : std::list<acquisition*> {
        error_code met;
        std::shared_ptr<round> asked;
    };

    /// An acquisition's place among those that may wait for the same resource; only the first asks the nodes.
    class place_in_queue {
    public:
        place_in_queue(engine&, acquisition&);
        ~place_in_queue();
        place_in_queue(place_in_queue const&) = delete;
        place_in_queue& operator=(place_in_queue const&) = delete;
        bool first() const;
        void step_back();  ///< behind all others, if there are any
        /// Tells those behind what the first has met: @p outcome of @p asked, if it was asked.
        void met(error_code outcome, std::shared_ptr<round> asked);
        /// What the first has met at last, and which round that was.
        error_code met() const;
        std::shared_ptr<round> const& asked() const;

    private:
        engine& engine_;
        acquisition& who_;
        queue* queue_;
        std::list<acquisition*>::iterator place_;
    };

    /// The place of a lock that was handed out and not given back; it owns itself while it is there.
    struct keepable : boost::intrusive::list_base_hook<> {
        std::shared_ptr<held_lock> kept;
    };
    void add(std::shared_ptr<held_lock>);
    void set_free(held_lock&);  ///< it is not held any more
    void remove(held_lock&);    ///< it was given back
    /// Nobody wants it any more: releases it in the background, unless that was done before.
    void give_away(held_lock&) noexcept;
    /// Until when @p resource is held by this manager itself; nothing if it is not.
    std::optional<clock::time_point> held_until(std::string const& resource) const;

    /// Whether an acquisition should ask for others that want the lock, now and then. Who comes back to the same resource again
    /// and again may find it free each time, because it is faster than all that it keeps waiting.
    bool should_look_for_others() { return random() % (settings_.max_handovers + 1) == 0; }
    /// It was won, in @p round_trip, and others want it, too; @p in_vain: it had been left to them, and they did not come.
    void wanted(std::string const& resource, clock::duration round_trip, bool in_vain);
    /// Until when others have their turn at @p resource; nothing if it is ours, or if nobody else wants it.
    std::optional<clock::time_point> turn_of_others_until(std::string const& resource);
    /// Whether somebody waits behind the first in the queue.
    bool others_queue(std::string const& resource) const;
    /// By which the nodes know this manager among those that want a lock.
    std::string const& contender() const noexcept { return contender_; }

    /// Whether a majority of the nodes was connected to at least once.
    bool connected() const noexcept { return connected_; }
    void set_connected() noexcept { connected_ = true; }

    detail::janitor& janitor() noexcept { return janitor_; }
    renewal_watch& renewals() noexcept { return renewals_; }
    void cleaned(bool confirmed);

    /// Called with each answer, before it counts.
    void get_to_know(ballot const&);

    // Statistics and logging.
    void observe(ballot const&);
    /// Why node @p i, which is not ready, does not vote: its latest trouble.
    std::pair<error_code, std::string> trouble_of(std::size_t i) const;
    template <class... Args>
    void log(log_level level, fmt::format_string<Args...> format, Args&&... args) noexcept
    {
        try {
            if (*log_)
                log_->add(level, fmt::format(format, std::forward<Args>(args)...), now());
        } catch (...) {  // out of memory: a line less
        }
    }

    struct counters {
        std::atomic<std::uint64_t> acquired, rounds, second_rounds, contended, no_quorum, validity_exhausted, quarantined, cancelled,
            released, lost, renewals, renewals_failed, healed, cleaned;
        std::atomic<std::size_t> waiting, running, held, cleaning;
    };
    counters count{};
    void count_outcome(error_code);

private:
    enum class phase { open, closing, closed };

    static constexpr clock::time_point never = clock::time_point::min();

    struct node_counters {
        std::atomic<std::uint64_t> granted{0}, denied{0}, unknown{0}, connections{0};
        std::uint32_t last_connection = 0;
        std::atomic<clock::time_point> quarantined_until{never};
        bool trusted = false;      // what is known of its present life is enough
        bool told = false;         // that it is in quarantine
        error_code last_error;     // under trouble_mutex_
        std::string last_message;  // under trouble_mutex_
    };

    void changed(std::size_t node, std::string_view key);
    void ring();
    void judge_life(std::size_t node);
    void end_holds() noexcept;
    void finish_if_clean();
    void close();

    config const settings_;
    std::shared_ptr<user_log> const log_;
    asio::any_io_executor user_executor_;
    std::unique_ptr<detail::runtime> runtime_;
    detail::strand strand_;
    struct last_will;
    std::shared_ptr<engine> last_self_;  // from the end of the manager until the shutdown begins
    detail::strand::prepared last_will_;
    std::vector<std::shared_ptr<node>> const nodes_;
    std::string const owner_;

    core::schedule<clock::time_point> schedule_;
    clock::time_point wake_at_ = clock::time_point::max();

    phase phase_ = phase::open;
    bool connected_ = false;
    bool draining_ = false;         // closing, and all locks are gone
    std::atomic<bool> abandoned_{false};
    unsigned const life_ = process_life();
    std::shared_ptr<engine> self_;  // while closing: the manager may be gone
    std::vector<std::function<void(error_code)>> closing_;
    core::alarm<clock::time_point> closing_deadline_;

    boost::intrusive::list<operation> running_;
    std::unordered_map<std::string, queue> contenders_;
    boost::intrusive::list<keepable> locks_;
    std::unordered_map<std::string_view, held_lock*, std::hash<std::string_view>, std::equal_to<std::string_view>,
                       recycler<std::pair<std::string_view const, held_lock*>>>
        held_;
    detail::janitor janitor_;
    renewal_watch renewals_;

    std::vector<node_counters> node_counters_;
    std::vector<core::node_age<clock::time_point>> ages_;
    std::atomic<bool> taken_for_new_{false};
    std::size_t const quorum_;
    core::fence_clock fence_clock_;
    bool told_of_clock_ = false;

    // Of resources that others want, too.
    struct shared_turn {
        core::turn turn;
        clock::duration courtesy;                                       ///< once it is over; longer, if that was in vain
        clock::time_point others_until = clock::time_point::min();
        clock::time_point forgotten_at;                                 ///< if nobody comes back to it
    };
    static constexpr std::chrono::milliseconds turn_life = std::chrono::minutes(1);
    std::unordered_map<std::string, shared_turn> turns_;
    std::size_t forget_turns_at_ = 1024;  // when there are so many, those that nobody came back to
    std::string const contender_;
    mutable std::mutex trouble_mutex_;
};

/// Adds to a counter that only the strand writes, so that a plain addition is enough.
template <class T>
void bump(std::atomic<T>& counter, T by = 1) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

/// Zero if it is over; rounded up otherwise, so that what is not over is not zero.
inline std::chrono::milliseconds time_left(clock::time_point until, clock::time_point now) noexcept
{
    return until <= now ? std::chrono::milliseconds(0) : std::chrono::ceil<std::chrono::milliseconds>(until - now);
}

/// What may go wrong in a flow: no memory, or no random numbers.
inline error_code error_of(std::exception_ptr const& failure) noexcept
{
    try {
        std::rethrow_exception(failure);
    } catch (std::system_error const& e) {
        return e.code();
    } catch (...) {
        return make_error_code(boost::system::errc::not_enough_memory);
    }
}

/// Runs the @p flow of an operation on the strand, and completes the operation with the outcome on every path.
template <class Operation>
void run_operation(engine& e, std::shared_ptr<Operation> o, flow<error_code> steps)
{
    asio::dispatch(e.strand(), [&e, o = std::move(o), steps = std::move(steps)]() mutable {
        begin(std::move(steps), [&e, o = std::move(o)](std::exception_ptr failure, error_code ec) {
            e.leave(*o);
            o->complete(failure ? error_of(failure) : ec);
        });
    });
}

}  // namespace redlock::detail
