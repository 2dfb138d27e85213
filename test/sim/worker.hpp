#pragma once

#include "core/key.hpp"
#include "sim/process.hpp"
#include "sim/waits.hpp"
#include "sim/world.hpp"

#include <redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sim {

/// A user of locks: acquires, holds, extends, releases, cancels and drops them at random, again and again.
class worker {
public:
    worker(world& w, process& p, std::size_t number)
        : world_(w), process_(p), name_(fmt::format("{}/w{}", p.name(), number)), private_resource_("of " + name_)
    {
    }

    void start() { rest(); }

    /// Starts no new acquisitions, and cancels the call under way.
    void stop()
    {
        stopping_ = true;
        if (cancel_)
            cancel_->emit(asio::cancellation_type::terminal);
    }

    bool idle() const noexcept { return idle_; }

    std::string const& name() const noexcept { return name_; }
    resource_set const& resources() const noexcept { return resources_; }
    bool holds() const noexcept { return held_.held(); }
    bool has(std::string const& token) const noexcept { return !released_ && held_.token() == token; }

    void add_claim(std::vector<claim>& all) const
    {
        if (holds())
            all.push_back({this, name_, {resources_.begin(), resources_.end()}, shares()});
    }

    bool shares() const noexcept { return (held_.empty() ? options_.mode : held_.mode()) != mode::exclusive; }
    void forget() { held_ = {}; }

    /// The validity that is left, even after a loss.
    clock::duration rest_of_validity() const
    {
        return held_.empty() ? clock::duration(0)
                             : std::max(held_.valid_until() - process_.clock_now(), clock::duration(0));
    }

    /// Call this when the manager ends: a held lock must stay held.
    void manager_ends()
    {
        auto const& w = world_.conditions;
        // Otherwise the lock may rightly be lost.
        bool const keys_stay = !w.amnesia && w.eviction_every == 0ms && w.jump.every == 0ms;
        if (held_.held() && !released_ && keys_stay)
            kept_until_ = held_.valid_until() - 300ms;  // minus the margin of a loss
    }

    /// Checks what must be true after each step of its process.
    void check() const
    {
        if (!held_.empty() && !released_ && !told_ && !held_.held() && process_.clock_now() < kept_until_)
            world_.blame("{}: {} was lost because its manager has ended", name_, resources_text_);
        if (told_ && held_.held())
            world_.blame("{}: {} is held, although a loss was told", name_, resources_text_);
        if (watching_ && !told_ && !released_ && process_.undisturbed_for(1s)
            && process_.clock_now() > held_.valid_until())
            world_.blame("{}: the loss of {} was not told", name_, resources_text_);
    }

    /// Call this at the end of the world.
    void check_all_completed() const
    {
        for (auto& c : calls_) {
            if (c->completions == 0)
                world_.blame("{}: \"{}\" never completed", name_, c->what);
        }
    }

private:
    static constexpr clock::duration slack = 20ms;  ///< for late timers and other small delays

    static char const* text(error_code const& ec)
    {
        static thread_local std::string words;
        words = ec ? ec.message() : "done";
        return words.c_str();
    }

    /// One asynchronous call: it must complete once, and in time.
    struct call {
        std::string what;
        clock::time_point begun;
        clock::duration limit;  ///< zero: no limit
        clock::duration stalled;
        std::uint64_t stalls;
        int completions = 0;
    };

    std::shared_ptr<call> begin(std::string what, clock::duration limit)
    {
        world_.tell("{} {}", name_, what);
        std::erase_if(calls_, [](auto& c) { return c->completions > 0; });
        calls_.push_back(std::make_shared<call>(
            call{std::move(what), world_.now, limit, process_.stalled_in_all(), process_.stalls()}));
        return calls_.back();
    }

    void end(call& c)
    {
        if (++c.completions > 1)
            world_.blame("{}: \"{}\" completed twice", name_, c.what);
        auto const took = world_.now - c.begun - (process_.stalled_in_all() - c.stalled);
        auto const allowed = c.limit + c.limit / 10 + slack + 10ms * static_cast<int>(process_.stalls() - c.stalls);
        if (c.limit > 0ms && took > allowed)
            world_.blame("{}: \"{}\" took {} ms, {} ms too long", name_, c.what, took / 1ms, (took - allowed) / 1ms);
    }

    /// Since when a lock has been free, as far as known, and how often it had been granted by then.
    struct vacancy {
        clock::time_point since;
        std::uint64_t takings = 0;
    };

    // A waiter must not sleep while the lock is free.
    void check_that_it_wakes(std::shared_ptr<call> const& waits, vacancy before)
    {
        constexpr auto interval = 50ms, limit = 1250ms;  // without a notification, a turn is over after a second
        if (waits->completions > 0 || !process_.has_manager())
            return;
        auto const takings = takings_if_it_could_have_it();
        bool const could_have_it = takings && process_.in_touch_for(interval) && !world_.lacks_founding()
                                   && process_.is_first_for(resources_);
        if (!could_have_it || process_.asked_for(resources_) > before.since || before.takings != *takings)
            before = {world_.now, takings.value_or(0)};
        else if (world_.now - before.since > limit)
            return world_.blame("{}: {} is free, but the waiter sleeps", name_, resources_text_);
        process_.after(interval, [this, waits, before] { check_that_it_wakes(waits, before); });
    }

    void rest()
    {
        idle_ = true;
        if (stopping_)
            return;
        auto const pause = eager_ > 0 ? world_.random.between(200us, 1ms) : world_.random.spread(1ms, 300ms);
        process_.after(pause, [this] { acquire(); });
    }

    void choose()
    {
        auto& random = world_.random;
        auto const which = random.fraction();
        auto const kind = world_.conditions.locks;
        bool const wants_set = kind == lock_kind::sets || (kind == lock_kind::tickets && random.chance(0.3));
        any_ = kind == lock_kind::any && which < 0.8;
        if (any_)
            resources_ = slots("slot", which < 0.7 ? slots_in_all : slots_in_all - 1);
        else if (kind == lock_kind::any)
            resources_ = which < 0.9    ? resource_set("slot:2")
                         : which < 0.95 ? slots("slot", slots_in_all)
                                        : resource_set(private_resource_);
        else if (!wants_set)
            resources_ = which < 0.6 ? "a" : which < 0.8 ? "b" : private_resource_;
        if (!wants_set)
            return;
        std::vector<std::string> names;
        for (auto const* name : {"a", "b", "c", "d"}) {
            if (random.chance(which < 0.1 ? 1 : 0.4))
                names.emplace_back(name);
        }
        if (names.empty() || random.chance(0.1))
            names.push_back(private_resource_);
        resources_ = names;
    }

    void acquire()
    {
        if (stopping_ || !process_.has_manager())
            return;
        auto& random = world_.random;
        idle_ = told_ = watching_ = released_ = false;
        kept_until_ = {};
        ++turn_;
        if (world_.has_tickets() && random.chance(0.6))
            return take_over();
        if (eager_ > 0)
            --eager_;
        else
            choose();
        resources_text_ = fmt::format("{}", fmt::join(resources_, any_ ? " or " : " and "));
        options_ = {.ttl = std::chrono::ceil<std::chrono::milliseconds>(random.spread(60ms, 3s))};
        note_ = turn_ % 2 == 0 ? fmt::format("{}: turn {}", name_, turn_) : std::string();
        options_.note = note_;
        if (random.chance(0.03))
            eager_ = 50;  // to ask at the very moment when somebody else's lock expires
        if (eager_ == 0 && random.chance(0.6))
            options_.wait = std::chrono::ceil<std::chrono::milliseconds>(random.spread(10ms, 3s));
        if (random.chance(0.4))
            options_.renew = renewal::automatic;
        if (random.chance(0.1))
            options_.max_hold = std::chrono::ceil<std::chrono::milliseconds>(random.spread(60ms, 5s));

        if (world_.conditions.locks == lock_kind::shared && random.chance(0.6))
            options_.mode = random.chance(0.25) ? mode::upgradeable : mode::shared;
        if (world_.conditions.locks == lock_kind::tickets && resources_.size() == 1 && random.chance(0.3))
            options_.mode = mode::shared;

        for (auto const& r : resources_)
            process_.wants(r);
        cancel_ = std::make_shared<asio::cancellation_signal>();
        auto const& s = process_.settings();
        auto const steps = options_.mode == mode::upgradeable ? 2 : 1;  // it acquires the right to upgrade first
        auto const founding = 2 * s.node_timeout;                       // if all servers are new
        auto const limit = options_.wait + steps * (s.connect_timeout + 2 * s.node_timeout) + founding;
        auto const c = begin(fmt::format("{} {} for {} ms, waits {} ms{}", shares() ? "shares" : "acquires",
                                         resources_text_, options_.ttl.count(), options_.wait.count(),
                                         options_.renew == renewal::automatic ? ", renews" : ""),
                             limit);
        auto done = asio::bind_cancellation_slot(cancel_->slot(), [this, c, keep = cancel_](error_code ec, lock l) {
            end(*c);
            acquired(*c, ec, std::move(l));
        });
        if (any_)
            process_.locks().async_acquire_any(resources_, options_, std::move(done));
        else
            process_.locks().async_acquire(resources_, options_, std::move(done));
        // Not checked if keys go before the announced time, or if notifications take long.
        if (options_.wait > 0ms && options_.mode != mode::upgradeable && world_.conditions.jump.every == 0ms
            && world_.conditions.tail.longest < 1s)
            check_that_it_wakes(c, {world_.now, 0});
        if (random.chance(0.1))
            cancel_some_time(100ms);
    }

    // Leaves the lock to the worker that takes the ticket.
    bool leave()
    {
        error_code ec;
        auto ticket = held_.detach(ec);
        world_.tell("{} detaches {}: {}", name_, resources_text_, text(ec));
        if (ec) {
            bool const has_reason = ec == errc::contended || ec == errc::invalid_argument;
            if (held_.held() && !has_reason && process_.undisturbed_for(1ms))
                world_.blame("{}: {} is held, but cannot be detached: \"{}\"", name_, resources_text_, text(ec));
            return false;
        }
        if (held_.held())
            world_.blame("{}: {} is held after it was detached", name_, resources_text_);
        released_ = true;
        process_.has_released(ticket.token);
        world_.leave(std::move(ticket));
        held_ = {};
        return true;
    }

    void take_over()
    {
        auto& random = world_.random;
        auto const ticket = world_.take_ticket();
        resources_ = ticket.resources;
        any_ = false;
        resources_text_ = fmt::format("{}", fmt::join(resources_, " and "));
        for (auto const& r : resources_)
            process_.wants(r);
        cancel_ = std::make_shared<asio::cancellation_signal>();
        if (random.chance(0.2))
            return release(ticket);
        options_ = {.ttl = std::chrono::ceil<std::chrono::milliseconds>(random.spread(60ms, 3s))};
        if (random.chance(0.5))
            options_.wait = std::chrono::ceil<std::chrono::milliseconds>(random.spread(10ms, 1s));
        if (random.chance(0.4))
            options_.renew = renewal::automatic;
        new_token_ = world_.new_token_for(ticket);
        options_.new_token = new_token_;
        auto const& s = process_.settings();
        auto const c = begin(fmt::format("resumes {}{} for {} ms, waits {} ms", resources_text_,
                                         new_token_.empty() ? "" : " under a new token", options_.ttl.count(),
                                         options_.wait.count()),
                             options_.wait + s.connect_timeout + 2 * s.node_timeout);
        auto const& token = new_token_.empty() ? ticket.token : new_token_;
        process_.has(token);
        process_.locks().async_resume(
            ticket, options_,
            asio::bind_cancellation_slot(cancel_->slot(), [this, c, ticket, keep = cancel_](error_code ec, lock l) {
                end(*c);
                resumed(*c, ticket, ec, std::move(l));
            }));
        options_.mode = ticket.mode;
        if (random.chance(0.1))
            cancel_some_time(100ms);
    }

    void release(lock_ticket const& ticket)
    {
        auto const& s = process_.settings();
        auto const c = begin("releases the detached " + resources_text_, s.connect_timeout + 2 * s.node_timeout);
        process_.locks().async_release(
            ticket, asio::bind_cancellation_slot(cancel_->slot(), [this, c, keep = cancel_](error_code ec) {
                end(*c);
                cancel_.reset();
                world_.tell("{} released the detached {}: {}", name_, resources_text_, text(ec));
                if (ec && ec != errc::not_held && !is_excusable(*c, ec))
                    world_.blame("{}: {} cannot be released: \"{}\" without any fault", name_, resources_text_,
                                 text(ec));
                done();
            }));
        if (world_.random.chance(0.2))
            cancel_some_time(10ms);
    }

    void resumed(call const& c, lock_ticket const& ticket, error_code ec, lock l)
    {
        cancel_.reset();
        world_.tell("{} resumed {}: {}", name_, resources_text_, text(ec));
        if (ec) {
            if (l.held())
                world_.blame("{}: holds {} in spite of \"{}\"", name_, resources_text_, text(ec));
            if (!is_excusable(c, ec) && (ec != errc::lost || world_.majority_has(ticket)))
                world_.blame("{}: {} cannot be resumed: \"{}\" without any fault", name_, resources_text_, text(ec));
            process_.has_released(new_token_.empty() ? ticket.token : new_token_);
            if (ec != errc::lost && world_.random.chance(0.7))
                world_.leave(ticket);
            return done();
        }
        ++world_.result.resumed;
        held_ = std::move(l);
        if (held_.token() != (new_token_.empty() ? ticket.token : new_token_)
            || held_.fencing_token() != ticket.fencing_token)
            world_.blame("{}: the resumed {} is not the detached lock", name_, resources_text_);
        has_it(c);
    }

    void has_it(call const& c)
    {
        if (!held_.held() && c.stalls == process_.stalls())
            world_.blame("{}: {} was handed out when it was over", name_, resources_text_);
        world_.check_exclusion();
        if (world_.random.chance(0.9))
            watch();
        steps_left_ = static_cast<int>(world_.random.below(4));
        use();
    }

    bool is_excusable(call const& c, error_code ec) const
    {
        // A waiter behind another one gets the outcome of that one's latest round. A back-off follows that round, so
        // the disturbance may have ended some time ago.
        bool const met_by_another = ec == errc::no_quorum && !process_.undisturbed_for(500ms);
        // A paused process has not prolonged its lease, so little of the lease may be left.
        bool const lease_is_short = ec == errc::validity_exhausted && world_.conditions.stores != store_kind::redis
                                    && !process_.undisturbed_for(max_ttl);
        return ec == asio::error::operation_aborted || !world_.conditions.is_faultless()
               || c.stalls != process_.stalls() || met_by_another || lease_is_short;
    }

    // Checks what it got. With any of several, it is done with the others.
    void keep(std::span<std::string const> held)
    {
        bool const is_right =
            any_ ? held.size() == 1 && std::find(resources_.begin(), resources_.end(), held.front()) != resources_.end()
                 : std::equal(held.begin(), held.end(), resources_.begin(), resources_.end());
        if (!is_right)
            world_.blame("{}: wanted {}, but got {}", name_, resources_text_, fmt::join(held, " and "));
        for (auto const& r : resources_) {
            if (any_ && r != held.front())
                process_.is_done_with(r);
        }
        if (any_)
            resources_ = held.front();
        any_ = false;
    }

    // How often the resources have been granted so far: all, or, if one is enough, those that it could get. Empty: it
    // could get none.
    std::optional<std::uint64_t> takings_if_it_could_have_it()
    {
        auto const takings = [&](resource_set const& of) {
            return process_.holds(of) ? std::nullopt : world_.takings_if_free(of, process_);
        };
        if (!any_)
            return takings(resources_);
        std::optional<std::uint64_t> in_all;
        for (auto const& r : resources_) {
            if (auto const n = takings(r))
                in_all = in_all.value_or(0) + *n;
        }
        return in_all;
    }

    void acquired(call const& c, error_code ec, lock l)
    {
        cancel_.reset();
        world_.tell("{} {}: {}", name_, resources_text_, ec ? text(ec) : "acquired");
        if (ec) {
            if (l.held())
                world_.blame("{}: holds {} in spite of \"{}\"", name_, resources_text_, text(ec));
            bool const excusable = is_excusable(c, ec);
            if (!excusable && ec != errc::contended)
                world_.blame("{}: {}: \"{}\" without any fault", name_, resources_text_, text(ec));
            // A release that must send its script again comes after the next acquisition, which is then denied. The
            // same happens if a database gets them on different connections.
            bool const overtaken = world_.conditions.flush_every > 0ms || world_.conditions.stores != store_kind::redis;
            if (!excusable && !overtaken && resources_ == resource_set(private_resource_))
                world_.blame("{}: nobody else uses {}, but \"{}\"", name_, resources_text_, text(ec));
            return done();
        }
        ++world_.result.acquired;
        process_.has(l.token());
        if (auto const note = core::holder_in(l.token()).note; note != note_ && !shares())
            world_.blame("{}: the lock has the note \"{}\" instead of \"{}\"", name_, note, note_);
        eager_ = 0;
        held_ = std::move(l);
        keep(held_.resources());
        // A reader that joins others of its process has their token, which is only as good as their lock.
        bool const is_older = !world_.conditions.exclusive && process_.has_several(held_.token());
        if (world_.fencing && !is_older)
            for (auto const& r : resources_)
                world_.note_token(r, name_, c.begun, held_.fencing_token(), shares());
        has_it(c);
    }

    void watch()
    {
        watching_ = true;
        auto const c = begin("watches", 0ms);
        held_.async_wait_lost([this, c, turn = turn_](error_code ec) {
            end(*c);
            if (turn != turn_)
                return;
            if (ec != errc::lost) {  // released by this worker or by the manager's end
                watching_ = false;
                return;
            }
            told_ = true;
            world_.tell("{} {}: lost", name_, resources_text_);
            if (!released_ && process_.clock_now() >= held_.valid_until() && process_.undisturbed_for(1s))
                world_.blame("{}: the loss of {} was reported after its validity", name_, resources_text_);
        });
    }

    void use()
    {
        process_.after(world_.random.spread(1ms, options_.ttl), [this] {
            if (stopping_ || steps_left_-- == 0)
                let_go();
            else if (options_.mode != mode::exclusive && world_.random.chance(0.4))
                shares() ? upgrade([this] { use(); }) : downgrade([this] { use(); });
            else if (world_.random.chance(0.5))
                extend([this] { use(); });
            else
                use();
        });
    }

    void extend(std::function<void()> next)
    {
        auto const ttl = std::chrono::ceil<std::chrono::milliseconds>(world_.random.spread(60ms, 5s));
        bool const was_held = held_.held();
        auto const rounds = options_.mode != mode::exclusive ? 3 : 1;  // repeated after each change of mode
        auto const c = begin(fmt::format("extends {} to {} ms", resources_text_, ttl.count()),
                             rounds * process_.settings().node_timeout);
        held_.async_extend(ttl, [this, c, was_held, next = std::move(next)](error_code ec) {
            end(*c);
            world_.tell("{} extended {}: {}", name_, resources_text_, text(ec));
            if (!ec && !was_held)
                world_.blame("{}: {} was not held, and was extended", name_, resources_text_);
            world_.check_exclusion();
            next();
        });
    }

    void upgrade(std::function<void()> next)
    {
        bool const was_held = held_.held();
        auto const wait = held_.mode() == mode::upgradeable
                              ? std::chrono::ceil<std::chrono::milliseconds>(world_.random.spread(10ms, 2s))
                              : 0ms;
        auto const limit =
            wait + process_.settings().node_timeout * static_cast<int>(1 + world_.fencing * world_.servers.size());
        auto const c = begin(fmt::format("upgrades {}, waits {} ms", resources_text_, wait.count()), limit);
        cancel_ = std::make_shared<asio::cancellation_signal>();
        held_.async_upgrade(
            wait, asio::bind_cancellation_slot(cancel_->slot(), [this, c, was_held, next = std::move(next),
                                                                 keep = cancel_](error_code ec) {
                end(*c);
                cancel_.reset();
                world_.tell("{} upgraded {}: {}", name_, resources_text_, text(ec));
                if (!ec && !was_held)
                    world_.blame("{}: {} was not held, and was upgraded", name_, resources_text_);
                if (!ec)
                    ++world_.result.upgraded;
                if (!ec && world_.fencing)
                    for (auto const& r : resources_)
                        world_.note_token(r, name_, c->begun, held_.fencing_token(), false);
                if (ec && !held_.empty() && !shares())
                    world_.blame("{}: holds {} exclusively in spite of \"{}\"", name_, resources_text_, text(ec));
                world_.check_exclusion();
                next();
            }));
        if (world_.random.chance(0.1))
            cancel_some_time(10ms);
        if (world_.random.chance(0.2))  // an extension at the same time
            extend([] {});
    }

    void downgrade(std::function<void()> next)
    {
        auto const c = begin("downgrades " + resources_text_, process_.settings().node_timeout);
        held_.async_downgrade([this, c, next = std::move(next)](error_code ec) {
            end(*c);
            world_.tell("{} downgraded {}: {}", name_, resources_text_, text(ec));
            next();
        });
        if (!shares())
            world_.blame("{}: holds {} exclusively after the call of the downgrade", name_, resources_text_);
    }

    void let_go()
    {
        auto& random = world_.random;
        bool const may_leave = world_.conditions.locks == lock_kind::tickets
                               && !std::binary_search(resources_.begin(), resources_.end(), private_resource_);
        if (may_leave && random.chance(0.6) && leave())
            return done();
        auto const way = random.fraction();
        if (way < 0.2 && watching_ && !told_ && !stopping_ && waited_ < 5) {  // waits for the loss
            ++waited_;
            return process_.after(500ms, [this] { let_go(); });
        }
        if (way < 0.45) {
            world_.tell("{} drops {}", name_, resources_text_);
            process_.has_released(held_.token());
            released_ = true;
            held_ = {};
            return done();
        }
        auto const race = std::make_shared<int>(1);
        auto const finish = [this, race] {
            if (--*race > 0)
                return;
            held_ = {};
            done();
        };
        if (way > 0.9) {
            ++*race;
            extend(finish);
        }
        cancel_ = std::make_shared<asio::cancellation_signal>();
        auto const c = begin("releases " + resources_text_, process_.settings().node_timeout);
        bool const was_held = held_.held();
        process_.has_released(held_.token());
        released_ = true;
        held_.async_release(
            asio::bind_cancellation_slot(cancel_->slot(), [this, c, was_held, finish, keep = cancel_](error_code ec) {
                end(*c);
                world_.tell("{} released {}: {}", name_, resources_text_, text(ec));
                bool const excusable = ec == asio::error::operation_aborted || !world_.conditions.is_faultless()
                                       || c->stalls != process_.stalls();
                if (ec && was_held && !excusable)
                    world_.blame("{}: released {}: \"{}\" without any fault", name_, resources_text_, text(ec));
                finish();
            }));
        if (held_.held())
            world_.blame("{}: {} is held after the call of the release", name_, resources_text_);
        if (random.chance(0.2))
            cancel_some_time(10ms);
    }

    void done()
    {
        waited_ = 0;
        watching_ = false;
        for (auto const& r : resources_)
            process_.is_done_with(r);
        rest();
    }

    void cancel_some_time(clock::duration within)
    {
        asio::cancellation_type const types[] = {asio::cancellation_type::total, asio::cancellation_type::partial,
                                                 asio::cancellation_type::terminal};
        auto const type = types[world_.random.below(3)];
        process_.after(world_.random.spread(10us, within), [this, signal = cancel_, type] {
            world_.tell("{} cancels", name_);
            signal->emit(type);
        });
    }

    world& world_;
    process& process_;
    std::string const name_;
    std::string const private_resource_;
    resource_set resources_{};    ///< that it wants or has
    bool any_ = false;            ///< one of them is enough
    std::string resources_text_;  ///< for people
    acquire_options options_;
    std::string new_token_;  ///< viewed by the options
    std::string note_;
    lock held_;
    bool idle_ = true;
    bool stopping_ = false;
    bool told_ = false;  ///< the loss was reported
    bool watching_ = false;
    bool released_ = false;
    clock::time_point kept_until_{};  ///< it must be held until then, although the manager has ended
    int steps_left_ = 0;
    int waited_ = 0;
    int eager_ = 0;
    int turn_ = 0;
    std::shared_ptr<asio::cancellation_signal> cancel_;
    std::vector<std::shared_ptr<call>> calls_;
};

}  // namespace redlock::sim
