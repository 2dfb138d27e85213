#include "sim/world.hpp"

#include "core/quorum.hpp"
#include "sim/owner.hpp"
#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/stores.hpp"
#include "sim/worker.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <utility>

namespace redlock::sim {

namespace {

constexpr clock::duration time_of_faults = 15s;

// The front of the heap is the next event.
constexpr auto later = [](auto const& a, auto const& b) {
    return std::pair(a.when, a.number) > std::pair(b.when, b.number);
};

}  // namespace

world::world(profile const& p, std::uint64_t seed, bool tracing, scenario const* instead)
    : conditions(p),
      random(seed),
      splits(~seed),
      now(std::chrono::hours(1)),
      tracing_(tracing),
      instead_(instead),
      begin_(now)
{
    choose_conditions(p);
    make_servers();
    fencing = instead_ ? instead_->fencing : random.chance(0.7);
    servers_tell = random.chance(0.8);
    servers_end_connections = random.chance(0.5);
    auto const few = 2 + random.below(2);
    processes.resize(instead_ && instead_->processes > 0 ? instead_->processes : few);
    partitions_.resize(processes.size() * servers.size());
    for (auto& s : servers) {
        if (conditions.session > 0ms && conditions.stores == store_kind::redis && random.chance(0.7))
            s->keys.session =
                std::chrono::ceil<std::chrono::milliseconds>(random.spread(conditions.session / 8, conditions.session));
    }
    for (std::size_t i = 0; i < processes.size(); ++i)
        processes[i] = std::make_unique<process>(*this, i, 0);
}

world::~world()
{
    // Servers and events refer to processes, so the processes are destroyed first, while the world still exists.
    processes.clear();
    events_.clear();
}

void world::make_servers()
{
    if (instead_) {
        while (servers.size() < instead_->servers)
            add_server('*');
        return;
    }
    using namespace std::string_view_literals;
    static constexpr std::array redis{"r"sv, "rr"sv, "rrr"sv, "rrr"sv, "rrr"sv, "rrrr"sv, "rrrrr"sv, "rrrrr"sv};
    static constexpr std::array table{"t"sv, "t"sv, "t"sv, "tt"sv, "ttt"sv};  // most users have one database
    static constexpr std::array session{"s"sv, "s"sv, "s"sv, "ss"sv, "sss"sv};
    static constexpr std::array mixed{"rrt"sv, "rtt"sv, "rrrtt"sv};
    static constexpr std::array mixed_with_sessions{"rrt"sv, "rrs"sv, "rts"sv, "rss"sv, "rrrts"sv};
    bool const knows_all = conditions.locks == lock_kind::single || conditions.locks == lock_kind::sets;
    std::span<std::string_view const> const all = conditions.stores == store_kind::redis
                                                      ? std::span<std::string_view const>(redis)
                                                  : conditions.stores == store_kind::table   ? table
                                                  : conditions.stores == store_kind::session ? session
                                                  : knows_all ? std::span<std::string_view const>(mixed_with_sessions)
                                                              : mixed;
    for (auto const kind : all[random.below(all.size())])
        add_server(kind);
}

void world::add_server(char kind)
{
    auto const extreme = random.chance(0.5);
    auto const fraction = 2 * random.fraction() - 1;
    auto const rate = conditions.rate_error * (extreme ? (fraction < 0 ? -1 : 1) : fraction);
    auto const i = servers.size();
    if (instead_)
        servers.push_back(instead_->make_server(*this, i, rate));
    else if (kind == 't')
        servers.push_back(make_database(*this, i, rate));
    else if (kind == 's')
        servers.push_back(make_cluster(*this, i, rate));
    else
        servers.push_back(std::make_unique<server>(*this, i, rate));
}

// Each seed leaves out some faults of its profile, because one may hide what another would show.
void world::choose_conditions(profile const& p)
{
    auto const sometimes = [&](auto& fault) {
        if (random.chance(0.3))
            fault = {};
    };
    sometimes(conditions.tail.chance);
    sometimes(conditions.reply_tail.chance);
    sometimes(conditions.break_chance);
    sometimes(conditions.partition.every);
    sometimes(conditions.pause.every);
    sometimes(conditions.refusal.every);
    sometimes(conditions.eviction_every);
    sometimes(conditions.stall.chance);
    sometimes(conditions.death_every);
    if (p.exclusive) {
        sometimes(conditions.crash.every);
        sometimes(conditions.rate_error);
    }
    if (p.stores != store_kind::redis) {
        sometimes(conditions.row_lock.every);
        sometimes(conditions.leader_change.every);
    }
}

void world::at(clock::time_point when, std::function<void()> what)
{
    events_.push_back({std::max(when, now), ++last_number_, std::move(what)});
    std::push_heap(events_.begin(), events_.end(), later);
}

void world::run_until(clock::time_point end)
{
    while (!failed() && !events_.empty() && events_.front().when <= end) {
        std::pop_heap(events_.begin(), events_.end(), later);
        auto const first = std::move(events_.back());
        events_.pop_back();
        now = std::max(now, first.when);
        first.what();
    }
    now = std::max(now, end);
}

void world::write(std::string const& line)
{
    auto const passed = (now - begin_) / std::chrono::microseconds(1);
    result.trace += fmt::format("{:>5}.{:06} {}\n", passed / 1'000'000, passed % 1'000'000, line);
}

clock::time_point& world::partition(process const& p, server const& s)
{
    auto const place = std::find_if(servers.begin(), servers.end(), [&](auto& one) { return one.get() == &s; })
                       - servers.begin();
    return partitions_[p.index() * servers.size() + static_cast<std::size_t>(place)];
}

void world::note_token(std::string const& resource, std::string const& who, clock::time_point begun,
                       std::uint64_t token, bool shares)
{
    auto& h = tokens_[resource];
    // A writer's token is above all earlier tokens. A reader's token is not below those of earlier writers.
    auto const& above = shares ? h.of_writers : h.of_all;
    auto const before =
        std::upper_bound(above.begin(), above.end(), begun, [](auto t, auto& e) { return t <= e.first; });
    auto const floor = before == above.begin() ? 0 : std::prev(before)->second;
    bool const fresh = shares || h.all.insert(token).second;
    auto const note = [&](auto& highest) {
        highest.emplace_back(now, std::max(token, highest.empty() ? 0 : highest.back().second));
    };
    note(h.of_all);
    if (!shares)
        note(h.of_writers);
    if (fresh && token > 0 && token + shares > floor)
        return;
    ++result.disorders;
    if (!conditions.tokens_grow())
        return;
    if (!fresh)
        blame("{}: {} has the fencing token {} a second time", who, resource, token);
    else
        blame("{}: {} has the fencing token {}, but {} was given out before it began", who, resource, token, floor);
}

bool world::lacks_founding() const
{
    auto const is_unfounded = [](auto& s) { return s->record.began == 'f' || s->record.began == 'n'; };
    return now - begin_ <= 2 * max_ttl && std::ranges::any_of(servers, is_unfounded);
}

std::optional<std::uint64_t> world::takings_if_free(resource_set const& resources, process const& whom) const
{
    auto const free = std::count_if(servers.begin(), servers.end(), [&](auto& s) {
        return std::all_of(resources.begin(), resources.end(), [&](auto& r) {
            auto const e = s->keys.entries.find("lock:" + r);
            bool const grows = resources.size() > 1 && e != s->keys.entries.end() && whom.owns(e->second);
            return e == s->keys.entries.end() || e->second.expires <= s->clock_now() || grows;
        });
    });
    if (static_cast<std::size_t>(free) < core::majority(servers.size()))
        return std::nullopt;
    std::uint64_t taken = 0;
    for (auto const& r : resources) {
        if (auto const known = takings_.find("lock:" + r); known != takings_.end())
            taken += known->second;
    }
    return taken;
}

void world::leave(lock_ticket t)
{
    left_.insert(t.token);
    tickets_.push_back(std::move(t));
}

lock_ticket world::take_ticket()
{
    std::swap(tickets_[random.below(tickets_.size())], tickets_.back());
    auto taken = std::move(tickets_.back());
    tickets_.pop_back();
    return taken;
}

std::string world::new_token_for(lock_ticket const& t)
{
    if (!random.chance(0.3))
        return {};
    auto const token =
        fmt::format("{:032x}{}", ++new_tokens_, t.token.substr(std::min<std::size_t>(t.token.size(), 32)));
    left_.insert(token);  // if the call fails, the keys stay
    return token;
}

bool world::majority_has(lock_ticket const& t) const
{
    auto const having = std::count_if(servers.begin(), servers.end(), [&](auto& s) {
        return std::all_of(t.resources.begin(), t.resources.end(), [&](auto& r) {
            auto const e = s->keys.entries.find("lock:" + r);
            return e != s->keys.entries.end() && e->second.value == t.token && e->second.expires > s->clock_now();
        });
    });
    return static_cast<std::size_t>(having) >= core::majority(servers.size());
}

// Asks each process under its own clock, even if it is paused.
void world::find_what_is_held()
{
    held_.clear();
    for (auto& p : processes) {
        if (!p)
            continue;
        process::observation const observing(*p);
        for (auto& w : p->workers)
            w->add_claim(held_);
        for (auto& o : p->owners)
            o->add_claims(held_);
    }
}

void world::check_exclusion()
{
    find_what_is_held();
    for (auto mine = held_.begin(); mine != held_.end(); ++mine) {
        for (auto other = held_.begin(); other != mine; ++other) {
            auto const both = std::ranges::find_first_of(mine->resources, other->resources);
            if (both == mine->resources.end() || (mine->shares && other->shares) || mine->who == other->who)
                continue;
            ++result.overlaps;
            if (conditions.exclusive)
                blame("{} is held by {} and by {}", *both, other->name, mine->name);
        }
    }
    std::size_t taken = 0;
    for (auto const& held : held_)
        taken += static_cast<std::size_t>(
            std::ranges::count_if(held.resources, [](auto& r) { return r.starts_with("slot:"); }));
    if (conditions.exclusive && taken > slots_in_all)
        blame("{} of {} slots are held", taken, slots_in_all);
}

// Calls in a deadlock wait for ever. Time during a fault does not count, but notifications may be slow. If servers do
// not notify, the client that asks most often comes first. The wish of a set that waits for another name keeps readers
// out for a second.
void world::look_for_deadlocks(clock::duration passed)
{
    if (conditions.jump.every > 0ms)  // locks may last longer than announced
        return;
    bool const calm = std::ranges::all_of(processes, [passed](auto& p) { return p->in_touch_for(passed); });
    std::list<wait const*> all;
    for (auto& p : processes) {
        for (auto& o : p->owners) {
            for (auto& w : o->waits) {
                w.calm += calm && !w.may_take_long() ? passed : 0ms;
                all.push_back(&w);
            }
        }
    }
    find_what_is_held();
    auto const news = conditions.delay_max + conditions.tail.longest + conditions.reply_tail.longest;
    auto const limit = (servers_tell ? 3s : 6s) + 20 * news;
    if (auto const found = find_deadlock(all, held_, limit); !found.empty())
        blame("{}", found);
}

// Faults

void world::repeatedly(clock::duration mean, std::function<void()> fault)
{
    if (mean == 0ms)
        return;
    after(random.between(0ms, 2 * mean), [this, mean, fault = std::move(fault)] {
        if (!faults_on_)
            return;
        ++result.faults;
        fault();
        repeatedly(mean, fault);
    });
}

void world::begin_faults()
{
    auto const any_server = [this]() -> server& { return *servers[random.below(servers.size())]; };
    auto const disturb = [this](server& s) {
        for (auto& p : processes) {
            if (p)
                p->disturbed_until(s, now);
        }
    };
    repeatedly(conditions.partition.every, [this] {
        auto& p = *processes[random.below(processes.size())];
        auto const length = random.spread(10ms, conditions.partition.longest);
        // The partition separates the process from one server or from many.
        auto const share = random.fraction();
        for (auto& s : servers) {
            if (random.chance(share)) {
                tell("{} and {} cannot reach each other for {} ms", p.name(), s->name, length / 1ms);
                partition(p, *s) = now + length;
                p.disturbed_until(*s, now + 2 * length);
            }
        }
    });
    auto const crash = [this, disturb](server& s) {
        s.crash(conditions.amnesia);
        disturb(s);
        after(random.spread(10ms, conditions.crash.longest), [&s, disturb] {
            s.start();
            disturb(s);
        });
    };
    auto const is_too_much = [this](server const& s) {
        bool const all_tell = std::ranges::all_of(servers, [](auto& one) { return one->tells_of_promotions(); });
        return conditions.amnesia && conditions.guard == restart_guard::automatic && !all_tell && !spares_an_old_one(s);
    };
    auto const replace_one = [this] {
        auto const i = random.below(processes.size());
        if (processes[i]->on_stack())
            return;
        processes[i].reset();
        processes[i] = std::make_unique<process>(*this, i, ++incarnations_);
    };
    repeatedly(conditions.crash.every, [any_server, crash, is_too_much, replace_one, this] {
        auto& s = any_server();
        if (is_too_much(s))
            return;
        crash(s);
        if (!conditions.rolls || !random.chance(0.3))
            return;
        // One server after the other restarts. Then a process begins that has seen none of that.
        clock::duration when{0};
        for (auto& other : servers) {
            when += random.spread(1ms, 50ms);
            after(when, [this, &other, is_too_much, crash] {
                if (faults_on_ && other->alive() && !is_too_much(*other))
                    crash(*other);
            });
        }
        after(when + random.spread(1ms, 100ms), [this, replace_one] {
            if (faults_on_)
                replace_one();
        });
    });
    repeatedly(conditions.pause.every, [this, any_server, disturb] {
        auto& s = any_server();
        s.pause(true);
        after(random.spread(1ms, conditions.pause.longest), [&s, disturb] {
            s.pause(false);
            disturb(s);
        });
    });
    repeatedly(conditions.refusal.every, [this, any_server, disturb] {
        auto& s = any_server();
        std::string_view const why[] = {"LOADING Redis is loading the dataset in memory",
                                        "BUSY Redis is busy running a script.",
                                        "READONLY You can't write against a read only replica.",
                                        "OOM command not allowed when used memory > 'maxmemory'."};
        s.refuse(why[random.below(std::size(why))]);
        after(random.spread(1ms, conditions.refusal.longest), [&s, disturb] {
            s.refuse({});
            disturb(s);
        });
    });
    if (conditions.stores != store_kind::redis)
        begin_faults_of_stores();
    repeatedly(conditions.flush_every, [any_server] { any_server().flush_scripts(); });
    repeatedly(conditions.eviction_every, [any_server] { any_server().evict(); });
    repeatedly(conditions.jump.every, [this, any_server] {
        any_server().jump(random.between(-conditions.jump.longest, conditions.jump.longest));
    });
    repeatedly(conditions.death_every, [this, replace_one] {
        auto const i = random.below(processes.size());
        if (!instead_ && random.chance(0.3) && !processes[i]->on_stack())
            return processes[i]->end_manager();
        replace_one();
    });
}

void world::begin_faults_of_stores()
{
    auto const disturb_one = [this](clock::duration length, auto const& fault) {
        auto& s = *servers[random.below(servers.size())];
        fault(s, length);
        for (auto& p : processes) {
            if (p)
                p->disturbed_until(s, now + length);
        }
    };
    repeatedly(conditions.row_lock.every, [this, disturb_one] {
        disturb_one(random.spread(1ms, conditions.row_lock.longest),
                    [](server& s, clock::duration length) { s.lock_a_row(length); });
    });
    repeatedly(conditions.leader_change.every, [this, disturb_one] {
        disturb_one(random.spread(10ms, conditions.leader_change.longest),
                    [](server& s, clock::duration length) { s.change_leader(length); });
    });
}

// Whether one of the servers is still older than any lock after a restart of @p s. Otherwise a client could found the
// set.
bool world::spares_an_old_one(server const& s) const
{
    std::size_t old = 0;
    for (auto& other : servers)
        old += other.get() != &s && other->alive() && now - other->started() > max_ttl + 2s;
    return old > 0;
}

void world::end_faults()
{
    tell("no more faults");
    faults_on_ = false;
    for (auto& healed : partitions_)
        healed = std::min(healed, now);
    for (auto& s : servers) {
        s->start();
        s->pause(false);
        s->refuse({});
    }
}

// The end

outcome world::run()
{
    begin_faults();
    for (auto t = begin_; t < begin_ + time_of_faults && !failed(); t += 100ms) {
        run_until(t);
        for (auto& p : processes)
            p->check_leftovers();
        look_for_deadlocks(100ms);
    }
    if (!failed())
        end();
    result.time = now - begin_;
    return std::move(result);
}

void world::end()
{
    end_faults();
    for (auto& p : processes) {
        p->stop_workers();
        after(random.between(0ms, 2s), [&p] { p->shut_down(); });
    }
    run_until(now + 10s);
    for (auto& p : processes)
        p->check_that_nothing_is_left();
}

std::uint64_t stream_of_chance(profile const& p, std::uint64_t seed)
{
    auto mixed = seed;
    for (char const c : p.name)
        mixed = mixed * 1099511628211u + static_cast<unsigned char>(c);
    return mixed + static_cast<std::uint64_t>(p.locks) * 7 + static_cast<std::uint64_t>(p.stores) * 77;
}

outcome simulate(profile const& p, std::uint64_t seed, bool tracing)
{
    world w(p, stream_of_chance(p, seed), tracing);
    return w.run();
}

}  // namespace redlock::sim
