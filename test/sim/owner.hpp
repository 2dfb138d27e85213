#pragma once

#include "sim/process.hpp"
#include "sim/waits.hpp"
#include "sim/world.hpp"

#include <redlock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::sim {

/// A user of locks that holds some while it waits for others, in a scope or at once. Mostly it waits without a limit.
/// It follows the rules of the documents, so it must never wait for ever.
class owner {
public:
    owner(world& w, process& p, std::size_t number)
        : world_(w),
          process_(p),
          name_(fmt::format("{}/o{}", p.name(), number)),
          habit_(std::array{habit::scope, habit::scope, habit::scope, habit::set, habit::set, habit::upgrade,
                            habit::upgrade, habit::read, habit::read, habit::read_for_long, habit::read_for_long,
                            habit::try_to_write, habit::try_to_write, habit::keep, habit::seldom}[w.random.below(15)])
    {
    }

    void start() { rest(); }

    /// Starts no new acquisitions, and cancels the calls that wait.
    void stop()
    {
        stopping_ = true;
        auto const under_way = calls_;
        for (auto& c : under_way)
            c.cancel->emit(asio::cancellation_type::terminal);
    }

    /// Drops the locks that it holds.
    void forget()
    {
        held_.clear();
        scope_.reset();
    }

    std::string const& name() const noexcept { return name_; }

    clock::duration rest_of_validity() const
    {
        clock::duration rest{0};
        for (auto& l : held_)
            rest = std::max(rest, l.valid_until() - process_.clock_now());
        return rest;
    }

    bool holds() const
    {
        return std::any_of(held_.begin(), held_.end(), [](auto& l) { return l.held(); });
    }

    void add_claims(std::vector<claim>& all) const
    {
        for (auto& l : held_) {
            if (l.held())
                all.push_back({this, name_, l.resources(), l.mode() != mode::exclusive});
        }
    }

    /// Call this at the end of the world.
    void check_all_completed() const
    {
        if (!calls_.empty())
            world_.blame("{}: {} calls never completed", name_, calls_.size());
    }

    std::list<wait> waits;

private:
    static constexpr std::array<char const*, 5> all_names{"a", "b", "c", "d", "e"};
    static constexpr char const* seldom_wanted = "z";
    static constexpr std::chrono::milliseconds ttl = 1s;

    enum class habit {
        scope,  ///< several locks in a scope, one after the other
        set,
        upgrade,
        read,  ///< one lock, again and again
        read_for_long,
        try_to_write,  ///< again and again, with a short wait
        keep,          ///< one lock for seconds, whose name comes before all others
        seldom,        ///< one lock that nobody else wants, except sets that also want the kept one
    };
    struct call {
        std::list<wait>::iterator waits;  ///< the end: the call has a limit
        std::shared_ptr<asio::cancellation_signal> cancel;
    };

    void rest()
    {
        if (stopping_)
            return;
        bool const is_eager = habit_ == habit::read || habit_ == habit::read_for_long || habit_ == habit::try_to_write;
        auto const pause = habit_ == habit::seldom ? world_.random.between(1s, 3s)
                                                   : world_.random.spread(1ms, is_eager ? 5ms : 100ms);
        process_.after(pause, [this] { begin(); });
    }

    void begin()
    {
        if (stopping_ || !process_.has_manager())
            return;
        ends_ = false;
        comes_next_ = 0;
        steps_left_ = static_cast<int>(1 + world_.random.below(5));
        if (habit_ != habit::scope)
            return acquire_once();
        scope_.emplace(process_.locks());
        acquire_more([this] { step(); });
    }

    void step()
    {
        auto& random = world_.random;
        process_.after(random.spread(500us, 10ms), [this] {
            if (stopping_ || steps_left_-- == 0 || !process_.has_manager())
                return end();
            auto const next = [this] { step(); };
            auto const what = world_.random.fraction();
            if (what < 0.1)
                acquire_more([this] { branch_ends(); });
            if (what < 0.6)
                return acquire_more(next);
            if (held_.empty())
                return step();
            if (what < 0.9)
                return change_one(next);
            held_.erase(std::next(held_.begin(), static_cast<std::ptrdiff_t>(world_.random.below(held_.size()))));
            step();
        });
    }

    // The scope ends when its branches have ended, too. Its locks are held until then.
    void end()
    {
        ends_ = true;
        if (!calls_.empty())
            return;
        world_.tell("{} releases everything", name_);
        held_.clear();
        tokens_.clear();
        scope_.reset();
        for (auto const& r : std::exchange(wanted_, {}))
            process_.is_done_with(r);
        rest();
    }

    void branch_ends()
    {
        if (ends_)
            end();
    }

    void acquire(resource_set names, acquire_options options, std::function<void()> next)
    {
        for (auto const& r : names) {
            process_.wants(r);
            wanted_.push_back(r);
        }
        auto const what = fmt::format("acquires {} {}", fmt::join(names, " and "),
                                      options.mode == mode::shared        ? "shared"
                                      : options.mode == mode::upgradeable ? "upgradeable"
                                                                          : "alone");
        auto const c = begin_call(what,
                                  {this, name_, &process_, {names.begin(), names.end()}, options.mode, world_.now},
                                  options.wait == wait_forever);
        auto done = asio::bind_cancellation_slot(
            c->cancel->slot(),
            [this, c, what, next = std::move(next), begun = world_.now, keep = c->cancel](error_code ec, lock l) {
                end_call(c, what, ec);
                if (!ec) {
                    ++world_.result.acquired;
                    if (tokens_.insert(l.token()).second && l.mode() == mode::exclusive && l.fencing_token() != 0) {
                        for (auto const& r : l.resources())
                            world_.note_token(r, name_, begun, l.fencing_token(), false);
                    }
                    held_.push_back(std::move(l));
                    world_.check_exclusion();
                }
                next();
            });
        if (scope_)
            scope_->async_acquire(std::move(names), options, std::move(done));
        else
            process_.locks().async_acquire(std::move(names), options, std::move(done));
    }

    // Mostly in the order of the names: out of order, a call that waits is refused. Sometimes it asks for locks that it
    // holds.
    void acquire_more(std::function<void()> next)
    {
        auto& random = world_.random;
        bool const in_order = random.chance(0.9);
        auto names = draw_names(in_order ? comes_next_ : 0, random.chance(0.3) ? 3 : 1);
        acquire_options options{.ttl = ttl, .wait = draw_wait(), .renew = renewal::automatic};
        if (names.size() == 1)
            options.mode = draw_mode();
        auto const last = names.names().back();
        auto const at =
            static_cast<std::size_t>(std::find(all_names.begin(), all_names.end(), last) - all_names.begin());
        comes_next_ = std::max(comes_next_, std::min(at + random.below(2), all_names.size() - 1));
        acquire(std::move(names), options, std::move(next));
    }

    void acquire_once()
    {
        auto& random = world_.random;
        auto const hold = habit_ == habit::keep            ? random.between(2s, 9s)
                          : habit_ == habit::read_for_long ? random.between(300ms, 900ms)
                          : habit_ == habit::read          ? random.between(20ms, 40ms)
                                                           : random.spread(1ms, 40ms);
        auto const go_on = [this, hold] {
            if (held_.empty())
                return end();
            process_.after(hold, [this] { end(); });
        };
        bool const is_for_long = habit_ == habit::read_for_long
                                 || ((habit_ == habit::upgrade || habit_ == habit::try_to_write) && random.chance(0.5));
        resource_set const one = is_for_long ? read_for_long : all_names[random.chance(0.7) ? 1 : random.below(3)];
        switch (habit_) {
        case habit::scope:
            return;
        case habit::set:
            return acquire(random.chance(0.3) ? resource_set{kept_for_long, seldom_wanted}
                                              : draw_names(random.below(3), 4),
                           {.ttl = ttl, .wait = wait_forever, .renew = renewal::automatic}, go_on);
        case habit::keep:
        case habit::seldom:
            return acquire(habit_ == habit::keep ? kept_for_long : seldom_wanted,
                           {.ttl = ttl, .wait = wait_forever, .renew = renewal::automatic}, go_on);
        case habit::upgrade:
            return acquire(one,
                           {.ttl = ttl, .wait = wait_forever, .renew = renewal::automatic, .mode = mode::upgradeable},
                           [this, go_on] { held_.empty() ? end() : upgrade(held_.front(), go_on); });
        case habit::read_for_long:  // with `max_hold`, no reader joins and prolongs it
            return acquire(one, {.ttl = ttl, .renew = renewal::automatic, .max_hold = 5s, .mode = mode::shared}, go_on);
        case habit::read:
            return acquire(one,
                           {.ttl = ttl,
                            .wait = random.chance(0.5) ? 0ms : 20ms,
                            .renew = renewal::automatic,
                            .mode = mode::shared},
                           go_on);
        case habit::try_to_write:
            return acquire(
                one, {.ttl = ttl, .wait = std::chrono::milliseconds(5 + random.below(30)), .renew = renewal::automatic},
                go_on);
        }
    }

    void change_one(std::function<void()> next)
    {
        auto& l = *std::next(held_.begin(), static_cast<std::ptrdiff_t>(world_.random.below(held_.size())));
        if (l.mode() == mode::exclusive)
            return l.async_downgrade([next = std::move(next)](error_code) { next(); });
        upgrade(l, std::move(next));
    }

    void upgrade(lock& l, std::function<void()> next)
    {
        auto const others =
            std::count_if(wanted_.begin(), wanted_.end(), [&l](auto& name) { return name == l.resource(); });
        // With another handle on the name, the upgrade could wait for itself.
        auto const wait_for = l.mode() == mode::upgradeable && others == 1 ? draw_wait() : 0ms;
        auto const what = fmt::format("upgrades {}", fmt::join(l.resources(), " and "));
        auto const c = begin_call(
            what,
            {this, name_, &process_, {l.resources().begin(), l.resources().end()}, mode::exclusive, world_.now, true},
            wait_for == wait_forever);
        if (c->waits != waits.end() && world_.random.chance(0.1)) {
            process_.after(world_.random.spread(1ms, 100ms),
                           [signal = c->cancel] { signal->emit(asio::cancellation_type::terminal); });
        }
        l.async_upgrade(wait_for,
                        asio::bind_cancellation_slot(c->cancel->slot(), [this, c, what, next = std::move(next),
                                                                         keep = c->cancel](error_code ec) {
                            end_call(c, what, ec);
                            world_.result.upgraded += !ec;
                            world_.check_exclusion();
                            next();
                        }));
    }

    std::list<call>::iterator begin_call(std::string what, wait w, bool is_for_ever)
    {
        world_.tell("{} {}", name_, what);
        auto const waits_at = is_for_ever ? waits.insert(waits.end(), std::move(w)) : waits.end();
        return calls_.insert(calls_.end(), {waits_at, std::make_shared<asio::cancellation_signal>()});
    }

    void end_call(std::list<call>::iterator c, std::string const& what, error_code ec)
    {
        world_.tell("{} {}: {}", name_, what, ec ? ec.message() : "done");
        if (c->waits != waits.end())
            waits.erase(c->waits);
        calls_.erase(c);
    }

    std::chrono::milliseconds draw_wait()
    {
        auto const which = world_.random.fraction();
        return which < 0.7 ? wait_forever : which < 0.85 ? 0ms : std::chrono::milliseconds(5 + world_.random.below(50));
    }

    mode draw_mode()
    {
        auto const which = world_.random.fraction();
        return which < 0.35 ? mode::exclusive : which < 0.6 ? mode::shared : mode::upgradeable;
    }

    resource_set draw_names(std::size_t from, std::size_t most)
    {
        auto& random = world_.random;
        std::vector<std::string> names;
        for (auto i = from; i < all_names.size() && names.size() < most; ++i) {
            if (random.chance(0.6))
                names.emplace_back(all_names[i]);
        }
        if (names.empty())
            names.emplace_back(all_names[std::min(from, all_names.size() - 1)]);
        return names;
    }

    world& world_;
    process& process_;
    std::string const name_;
    habit const habit_;
    std::optional<lock_scope> scope_;
    std::list<lock> held_;
    std::list<call> calls_;
    std::vector<std::string> wanted_;
    std::set<std::string> tokens_;  ///< of all acquired locks
    std::size_t comes_next_ = 0;    ///< the first name after all acquired ones
    int steps_left_ = 0;
    bool ends_ = false;
    bool stopping_ = false;
};

}  // namespace redlock::sim
