#include "load.hpp"

#include "allocations.hpp"
#include "interrupt.hpp"
#include "processor.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace redlock::bench {

namespace {

constexpr auto token = asio::as_tuple(asio::deferred);
constexpr int only_one = 1'000'000;  // the weight of an exclusive holder, above that of all readers

// Measures what this process uses from now on.
class meter {
public:
    void read(sample& to) const
    {
        auto const heap = heap_now();
        to.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        to.client_cpu_seconds = own_cpu_seconds() - cpu_;
        to.allocations = heap.allocations - heap_.allocations;
        to.bytes = heap.bytes - heap_.bytes;
        to.peak_heap_bytes = heap.peak_bytes;
    }

private:
    heap const heap_ = heap_now();
    double const cpu_ = own_cpu_seconds();

public:
    std::chrono::steady_clock::time_point const begin = std::chrono::steady_clock::now();
};

}  // namespace

manager_options settings_for(std::vector<std::string> nodes, bool fencing)
{
    // Without the restart guard, a restarted server votes at once; the scenario `killed` measures how soon.
    return {.nodes = std::move(nodes), .fencing = fencing, .restart_guard = restart_guard::off};
}

load::load(std::vector<std::string> nodes, bool fencing) : load(settings_for(std::move(nodes), fencing)) {}

load::load(manager_options c) : locks_(context_, std::move(c)) {}

load::~load()
{
    bool done = false;
    locks_.async_shutdown([&](error_code) { done = true; });
    while (!done)
        context_.run_one();
}

sample load::run(work const& w)
{
    now_ = {};
    now_.slices.resize(static_cast<std::size_t>(w.duration / sample::slice) + 2);
    inside_.assign(std::max(w.clients, w.slots + 1), 0);
    event_.reset();
    longest_after_event_ = {};
    running_ = w.clients + w.events.size();
    reset_peak();
    meter const used;
    begin_ = used.begin;
    end_ = begin_ + w.duration;
    for (std::size_t i = 0; i < w.clients; ++i)
        asio::co_spawn(context_, client(i, w), asio::detached);
    for (auto const& [at, what] : w.events)
        asio::co_spawn(context_, happen(at, what), asio::detached);
    run_until_idle();
    used.read(now_);
    // At a low rate, the last cycle may end before the duration is over.
    now_.seconds = std::max(now_.seconds, std::chrono::duration<double>(w.duration).count());
    return std::move(now_);
}

// Uses run(), as servers do. Calls of run_one() would cost a tenth of the time of a lock.
void load::run_until_idle()
{
    poll_interrupts();
    while (running_ > 0)
        context_.run();
    context_.restart();
    throw_if_interrupted();
}

// Ends the run after a signal.
void load::poll_interrupts()
{
    if (was_interrupted())
        end_ = begin_;  // each client ends after its cycle
    interrupt_timer_.expires_after(std::chrono::milliseconds(100));
    interrupt_timer_.async_wait([this](error_code ec) {
        if (!ec)
            poll_interrupts();
    });
}

void load::one_less()
{
    if (--running_ == 0)
        context_.stop();
}

asio::awaitable<void> load::client(std::size_t number, work const& w)
{
    std::vector<std::string> names;
    for (std::size_t i = 0; i < w.names; ++i)
        names.push_back(w.one_key ? std::string("bench")
                        : i == 0  ? fmt::format("bench:{}", number)
                                  : fmt::format("bench:{}:{}", number, i));
    auto const resources = w.slots > 0 ? slots("bench", w.slots) : redlock::resource_set(names);
    auto place = w.one_key ? 0 : number;
    auto const every = [&](double clients) {
        return std::chrono::duration_cast<steady::duration>(
            std::chrono::duration<double>(w.rate > 0 ? clients / w.rate : 0));
    };
    auto due = begin_ + every(static_cast<double>(number));
    asio::steady_timer pause(context_);
    acquire_options options{
        .ttl = w.ttl, .wait = w.one_key || w.slots > 0 ? wait_forever : std::chrono::milliseconds(0), .note = w.note};
    std::bernoulli_distribution reads(w.readers);
    // Cycles scheduled after the end of the run are dropped.
    for (; std::max(steady::now(), due) < end_; due += every(static_cast<double>(w.clients))) {
        if (w.rate > 0 && due > steady::now()) {
            pause.expires_at(due);
            co_await pause.async_wait(token);
        }
        // Latency counts from the intended start; otherwise a stall would hide the cycles that it delayed.
        auto const begun = w.rate > 0 ? due : steady::now();
        bool const shares = w.readers > 0 && reads(random_);
        options.mode = shares ? mode::shared : mode::exclusive;
        auto acquiring = w.slots > 0 ? locks_.async_acquire_any(resources, options, token)
                                     : locks_.async_acquire(resources, options, token);
        auto [ec, lock] = co_await std::move(acquiring);
        if (!shares)
            note_wait(begun);
        if (!ec) {
            now_.acquire.record(steady::now() - begun);
            if (w.slots > 0)
                place = std::stoul(lock.resource().substr(lock.resource().find(':') + 1));
            auto const weight = shares ? 1 : only_one;
            now_.violations += (inside_[place] += weight) > (shares ? only_one - 1 : only_one);
            if (w.inside)
                now_.violations += ++*w.inside > static_cast<int>(std::max<std::size_t>(w.slots, 1));
            if (w.hold.count() > 0) {
                pause.expires_after(w.hold);
                co_await pause.async_wait(token);
            }
            inside_[place] -= weight;
            if (w.inside)
                --*w.inside;
            std::tie(ec) = co_await lock.async_release(token);
        }
        note_end(begun, ec);
    }
    one_less();
}

void load::note_wait(steady::time_point begun)
{
    auto const now = steady::now();
    now_.wait.record(now - begun);
    if (event_ && now > *event_)
        longest_after_event_ = std::max<std::chrono::nanoseconds>(longest_after_event_, now - begun);
}

void load::note_end(steady::time_point begun, error_code ec)
{
    if (ec) {
        ++now_.failures[ec.message()];
        return;
    }
    auto const over = steady::now();
    ++now_.cycles;
    now_.cycle.record(over - begun);
    ++now_.slices[std::min(static_cast<std::size_t>((over - begin_) / sample::slice), now_.slices.size() - 1)];
}

asio::awaitable<void> load::happen(std::chrono::milliseconds at, std::function<bool()> what)
{
    asio::steady_timer timer(context_);
    bool again = true;
    for (auto next = begin_ + at; again && next < end_; next = steady::now() + std::chrono::milliseconds(1)) {
        while (steady::now() < next && !was_interrupted()) {
            timer.expires_at(std::min(next, steady::now() + std::chrono::milliseconds(100)));
            co_await timer.async_wait(token);
        }
        if (was_interrupted())
            break;
        if (!event_)
            event_ = steady::now();
        again = what();
    }
    one_less();
}

std::chrono::nanoseconds load::until(std::function<bool()> done, std::chrono::milliseconds timeout)
{
    auto const begin = steady::now();
    while (!done() && steady::now() < begin + timeout)
        context_.run_one_for(std::chrono::milliseconds(1));
    return steady::now() - begin;
}

asio::awaitable<void> load::take(std::vector<redlock::lock>& held, std::size_t first, std::size_t step,
                                 std::size_t count, std::chrono::milliseconds ttl)
{
    for (std::size_t i = first; i < count && !was_interrupted(); i += step) {
        auto [ec, lock] = co_await locks_.async_acquire(fmt::format("bench:held:{}", i),
                                                        {.ttl = ttl, .renew = renewal::automatic}, token);
        if (ec)
            ++now_.failures[ec.message()];
        held[i] = std::move(lock);
    }
    one_less();
}

sample load::hold(std::size_t count, std::chrono::milliseconds ttl, std::chrono::milliseconds duration,
                  std::map<std::string, double>& more)
{
    now_ = {};
    std::vector<redlock::lock> held(count);
    auto const before_all = heap_now();
    auto const at_once = std::min<std::size_t>(count, 128);
    running_ = at_once;
    for (std::size_t i = 0; i < at_once; ++i)
        asio::co_spawn(context_, take(held, i, at_once, count, ttl), asio::detached);
    run_until_idle();
    context_.run_for(std::chrono::milliseconds(100));  // for late votes
    if (!std::exchange(has_held_, true))               // later rounds reuse the memory
        more["bytes_per_held_lock"] = static_cast<double>(heap_now().live_bytes - before_all.live_bytes)
                                      / static_cast<double>(count);

    auto const before = stats();
    meter const used;
    begin_ = used.begin;
    while (steady::now() < begin_ + duration && !was_interrupted())
        context_.run_for(std::min<steady::duration>(begin_ + duration - steady::now(), std::chrono::milliseconds(100)));
    used.read(now_);
    auto const after = stats();
    now_.cycles = after.renewals - before.renewals;
    more["cpu_percent_of_a_core"] = now_.client_cpu_seconds / now_.seconds * 100;
    more["lost"] = static_cast<double>(after.lost - before.lost);
    more["renewals_failed"] = static_cast<double>(after.renewals_failed - before.renewals_failed);
    more["held_at_the_end"] =
        static_cast<double>(std::count_if(held.begin(), held.end(), [](auto& l) { return l.held(); }));

    held.clear();  // releases all locks
    // The releases end when their votes have arrived.
    until([this] { return stats().held == 0 && stats().cleaning == 0; }, std::chrono::seconds(10));
    return std::move(now_);
}

}  // namespace redlock::bench
