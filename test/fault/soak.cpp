// Processes that add to one counter through the lock, on real servers, while everything around them fails.
//
// The counter is plain memory that the processes share: reading it, waiting, and writing it back loses an update whenever
// two are inside at once. An update is acknowledged when the lock was still held after the write; at the end the counter
// must hold every acknowledged one. With --fencing the counters are kept by an arbiter, which accepts or refuses what
// processes ask that do not look at their locks at all. Run with --help.

#include "fault/arbiter.hpp"
#include "fault/rolling.hpp"
#include "fault/stepped_clock.hpp"
#include "testbed/command_line.hpp"
#include "testbed/early_exit.hpp"
#include "testbed/local_server.hpp"
#include "testbed/process.hpp"
#include "testbed/proxy.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace asio = boost::asio;
using redlock::test::arbiter;
using redlock::test::request;
using redlock::test::stepped_clock;
using redlock::testbed::fault;
using redlock::testbed::local_server;
using redlock::testbed::process;
using redlock::testbed::proxy;

// With --fencing. Short, so that it is often over; and so that --forgetful servers vote again soon.
constexpr auto short_ttl = 300ms;
constexpr auto quarantine = 2s;

struct settings {
    int seconds = 60;
    std::uint64_t seed = 1;
    std::size_t processes = 3;
    std::size_t servers = 5;
    bool forgetful = false;
    bool without_lock = false;
    bool fencing = false;
    bool rolling = false;
    std::string clock_shim;
    std::vector<std::string> nodes;
    std::vector<std::string> links;
};

/// What the processes share.
struct shared {
    std::uint64_t counter;                        // not atomic in effect: read, wait, write back
    std::atomic<std::uint64_t> acknowledged;
    std::atomic<std::uint64_t> doubtful;          ///< written, and then the lock was not held any more
    std::atomic<std::uint64_t> refused;           ///< acquisitions that failed
    std::atomic<std::uint64_t> lost;              ///< locks that were lost inside
    std::atomic<bool> stop;
};

asio::awaitable<void> add(redlock::lock_manager& locks, shared& s, std::uint64_t seed, bool locked)
{
    std::mt19937_64 random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!s.stop) {
        redlock::acquire_options const options{
            .ttl = 1s, .wait = 2s, .renew = random() % 2 ? redlock::renewal::automatic : redlock::renewal::none};
        redlock::lock held;
        if (locked) {
            redlock::error_code ec;
            std::tie(ec, held) = co_await locks.async_acquire("counter", options, asio::as_tuple(asio::use_awaitable));
            if (ec) {
                ++s.refused;
                continue;
            }
        }
        auto const value = *static_cast<std::uint64_t volatile*>(&s.counter);
        timer.expires_after(std::chrono::microseconds(random() % 5000));
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
        // A process that is stopped right here still writes: what a lock alone cannot prevent. The margin makes it rare,
        // and looking again tells that it happened.
        if (locked && held.remaining() < 100ms) {
            ++s.lost;
        } else {
            *static_cast<std::uint64_t volatile*>(&s.counter) = value + 1;
            ++(!locked || held.held() ? s.acknowledged : s.doubtful);
        }
        if (locked)
            co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

std::int64_t nanoseconds_now()
{
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Naive on purpose: once it has the lock, it goes on whatever the clock says. Only the arbiter can stop it.
asio::awaitable<void> add_naively(redlock::lock_manager& locks, shared& s, int to_arbiter, std::uint8_t counter, std::uint64_t seed)
{
    std::mt19937_64 random(seed);
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (std::uint64_t i = 0; !s.stop; ++i) {
        redlock::acquire_options const options{
            .ttl = short_ttl, .wait = 2s, .renew = random() % 2 ? redlock::renewal::automatic : redlock::renewal::none};
        request r{.counter = counter, .acquisition = static_cast<std::uint64_t>(::getpid()) << 32 | i};
        r.began = nanoseconds_now();
        auto [ec, held] = co_await locks.async_acquire(fmt::format("counter/{}", counter), options, asio::as_tuple(asio::use_awaitable));
        if (ec) {
            ++s.refused;
            continue;
        }
        r.acquired = nanoseconds_now();
        r.token = held.fencing_token();
        auto a = ask(to_arbiter, r);
        r.what = request::kind::write;
        for (auto writes = 1 + random() % 3; a.accepted && writes > 0; --writes) {
            timer.expires_after(std::chrono::milliseconds(random() % (random() % 8 ? 20 : 2 * short_ttl.count())));
            co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
            r.value = a.value + 1;
            a = ask(to_arbiter, r);
            s.acknowledged += a.accepted;
        }
        co_await held.async_release(asio::as_tuple(asio::use_awaitable));
    }
}

// Three that work at the same time.
template <class Work>
int run_three(redlock::config settings, Work work)
{
    asio::io_context context{1};
    redlock::lock_manager locks(context, std::move(settings));
    std::size_t running = 3;
    for (std::uint8_t i = 0; i < 3; ++i) {
        asio::co_spawn(context, work(locks, i), [&](std::exception_ptr failure) {
            if (failure)
                ::_exit(1);
            if (--running == 0)
                locks.async_shutdown(asio::detached);
        });
    }
    context.run();
    return 0;
}

class soak {
public:
    explicit soak(settings s) : settings_(s), random_(s.seed)
    {
        std::vector<std::string> options;
        if (!s.forgetful)
            options = {"--appendonly", "yes", "--appendfsync", "always"};
        if (s.nodes.empty())
            start_servers(options);
    }

    int run()
    {
        auto const failed = endure(std::chrono::seconds(settings_.seconds));
        return judge(failed);
    }

    // Without first: the servers are then older than the quarantine when it matters.
    int run_fencing()
    {
        int failed = 0;
        auto const half = [&](bool fenced) {
            arbiter_ = std::make_unique<arbiter>(fenced);
            fenced_ = fenced;
            failed += endure(std::chrono::milliseconds(settings_.seconds * 500));
            return arbiter_->stop();
        };
        auto const without = half(false);
        auto const with = half(true);
        return judge(failed, with, without);
    }

private:
    void start_servers(std::vector<std::string> const& options)
    {
        // As many as may fail; without a log, one must remain that may: a clock that was set back makes its server look young.
        auto const may_fail = (settings_.servers - 1) / 2;
        auto const clocks = std::min<std::size_t>(settings_.forgetful ? std::max<std::size_t>(may_fail, 1) - 1 : may_fail, 2);
        for (std::size_t i = 0; i < settings_.servers; ++i) {
            std::vector<std::string> environment;
            if (i < clocks && settings_.fencing && !settings_.clock_shim.empty())
                environment = clocks_.emplace_back(std::make_unique<stepped_clock>(settings_.clock_shim))->environment();
            servers_.push_back(std::make_unique<local_server>(options, redlock::testbed::server_program(), environment));
            started_.push_back(std::chrono::steady_clock::now());
        }
        for (std::size_t i = 0; i < clocks_.size(); ++i) {
            auto const before = servers_[i]->ask({"TIME"});
            clocks_[i]->set(-24h);
            if (servers_[i]->ask({"TIME"}) >= before)
                throw std::runtime_error(settings_.clock_shim + " does not move the servers' clocks");
            clocks_[i]->set(0s);
        }
    }

    // How many clients did not end well.
    int endure(std::chrono::milliseconds time)
    {
        std::vector<proxy::target> targets;
        for (auto& s : servers_)
            targets.push_back({s->port()});
        network_ = std::make_unique<proxy>(targets);
        auto nodes = settings_.nodes;
        for (std::size_t i = 0; i < network_->size(); ++i)
            nodes.push_back(network_->url(i));
        shared_->stop = false;
        for (std::size_t i = 0; i < settings_.processes; ++i)
            clients_.push_back(start_client(nodes, settings_.seed * 100 + i));
        for (std::size_t i = 0; settings_.fencing && i < 5; ++i)
            spare_.push_back(start_client(nodes, settings_.seed * 100 + 50 + i, true));
        network_->start();  // after the forks: a process with threads is not to be forked
        if (arbiter_)
            arbiter_->start();

        auto const end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            do_harm();
            std::this_thread::sleep_for(std::chrono::milliseconds(settings_.fencing ? 20 + any(120) : 50 + any(400)));
            if (::isatty(2))
                fmt::print(stderr, "\r{} faults, {} updates ", faults_, shared_->acknowledged.load());
        }
        if (::isatty(2))
            fmt::print(stderr, "\r                                        \r");
        mend_everything();
        shared_->stop = true;
        auto const failed = end_clients();
        network_.reset();
        return failed;
    }

    int end_clients()
    {
        spare_.clear();
        dead_.clear();
        int failed = 0;
        for (auto& client : clients_)
            failed += client.wait().status != 0;
        clients_.clear();
        return failed;
    }

    process start_client(std::vector<std::string> const& nodes, std::uint64_t seed, bool spare = false)
    {
        int const to_arbiter = arbiter_ ? arbiter_->connect() : -1;
        process client([&] { return be_a_client(nodes, to_arbiter, seed); }, {.stopped = spare, .name = "redlock_soak: in a client"});
        if (arbiter_)
            ::close(to_arbiter);
        return client;
    }

    int be_a_client(std::vector<std::string> const& nodes, int to_arbiter, std::uint64_t seed)
    {
        redlock::config settings{.nodes = nodes, .node_timeout = 100ms};
        if (!arbiter_)
            return run_three(settings, [&](auto& locks, std::uint8_t i) {
                return add(locks, *shared_, seed * 16 + i, !settings_.without_lock);
            });
        settings.max_ttl = quarantine;
        settings.fencing = fenced_;
        return run_three(settings, [&](auto& locks, std::uint8_t i) {
            return add_naively(locks, *shared_, to_arbiter, i, seed * 16 + i);
        });
    }

    std::size_t any(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    /// Something fails, and is mended a while later.
    void do_harm()
    {
        ++faults_;
        mend_some();
        if (settings_.fencing && any(3) > 0)
            return any(20) == 0 ? replace_client() : stop_client();
        if (!settings_.nodes.empty())
            return any(4) == 0 ? stop_client() : cut_links();
        auto const i = any(servers_.size());
        auto& s = *servers_[i];
        switch (any(settings_.fencing ? 9 : 7)) {
        case 0:
            return settings_.fencing && settings_.forgetful ? move_majority(i) : crash(i);
        case 1:
            if (s.pid() > 0) {
                s.pause();
                ++paused_;
                later_.push_back({0, [this, &s] {
                    s.pid() > 0 ? s.resume() : void();
                    --paused_;
                }});
            }
            return;
        case 2:
            return stop_client();
        case 3:
        case 4: {
            constexpr fault faults[] = {fault::none, fault::trickle, fault::mute, fault::half_open, fault::reset, fault::garbage, fault::refuse};
            auto const what = faults[any(std::size(faults))];
            network_->set(i, what);
            network_->set_rtt(i, what == fault::none ? 40ms : 0ms);
            later_.push_back({any(5), [this, i] {
                network_->set(i, fault::none);
                network_->set_rtt(i, 0ms);
            }});
            return;
        }
        case 5: {  // nobody sees anybody
            network_->set_all(fault::half_open);
            later_.push_back({any(3), [this] { network_->set_all(fault::none); }});
            return;
        }
        case 6:
            tell(s, {"SCRIPT", "FLUSH"});
            tell(s, {"CLIENT", "PAUSE", std::to_string(any(300))});
            return;
        case 7:
            if (clocks_.empty())
                return;
            ++steps_;
            clocks_[any(clocks_.size())]->set(any(3) == 0 ? 0s : std::chrono::milliseconds(any(10'000)) - 5s);
            return;
        case 8:
            return move_majority(i);
        }
    }

    void crash(std::size_t i)
    {
        if (servers_[i]->pid() <= 0 || !may_crash(i))
            return;
        servers_[i]->kill();
        ++crashes_;
        later_.push_back({0, [this, i] {
            servers_[i]->start();
            started_[i] = std::chrono::steady_clock::now();
        }});
    }

    // A majority that works while the others are cut off shares one server with the next majority: this one crashes in between.
    void move_majority(std::size_t shared_server)
    {
        if (!may_crash(shared_server))
            return;
        std::array<std::vector<std::size_t>, 2> sides;
        auto turn = any(2);
        for (std::size_t i = 0; i < network_->size(); ++i) {
            if (i != shared_server)
                sides[turn++ % 2].push_back(i);
        }
        auto const set = [this](std::vector<std::size_t> const& side, fault f) {
            for (auto const i : side)
                network_->set(i, f);
        };
        set(sides[0], fault::half_open);
        later_.push_back({10, [=, this] {
            crash(shared_server);
            set(sides[1], fault::half_open);
            set(sides[0], fault::none);
            later_.push_back({any(35), [=] { set(sides[1], fault::none); }});
        }});
    }

    // A set that is young as a whole is taken for newly started, also by a client that is new itself. So a majority must
    // stay old; by a margin, because servers tell their age in whole seconds. They tell it by their wall clocks, so one
    // that is stepped may seem younger; it may not crash, because it could seem older.
    bool may_crash(std::size_t i) const
    {
        if (!settings_.fencing || !settings_.forgetful)
            return true;
        if (i < clocks_.size())
            return false;
        auto young = clocks_.size();
        for (std::size_t k = clocks_.size(); k < servers_.size(); ++k)
            young += k == i || servers_[k]->pid() <= 0 || std::chrono::steady_clock::now() < started_[k] + quarantine + 2s;
        return young <= (servers_.size() - 1) / 2;
    }

    // Often for longer than its ttl.
    void stop_client()
    {
        auto const pid = clients_[any(clients_.size())].pid();
        ::kill(pid, SIGSTOP);
        later_.push_back({any(settings_.fencing ? 10 : 6), [pid] { ::kill(pid, SIGCONT); }});
    }

    // One dies with its locks, and another comes in its place.
    void replace_client()
    {
        if (spare_.empty())
            return;
        auto& client = clients_[any(clients_.size())];
        client.signal(SIGKILL);
        dead_.push_back(std::exchange(client, std::move(spare_.back())));  // waited for at the end: its number is not given to another
        spare_.pop_back();
        client.resume();
        ++deaths_;
    }

    // One, some or all servers cannot be reached, and nobody is told.
    void cut_links()
    {
        for (auto const& link : settings_.links) {
            if (any(3) > 0)
                continue;
            set_link(link, "down");
            later_.push_back({any(5), [this, link] { set_link(link, "up"); }});
        }
    }

    void set_link(std::string const& link, char const* state)
    {
        if (process({"ip", "link", "set", link, state}).wait().status != 0)
            throw std::runtime_error("cannot set the interface " + link + " " + state);
    }

    void tell(local_server& s, std::vector<std::string> const& command)
    {
        if (s.pid() <= 0 || paused_ > 0)
            return;  // it might not answer
        try {
            s.ask(command);
        } catch (std::runtime_error const&) {
        }
    }

    void mend_some()
    {
        auto const due = std::stable_partition(later_.begin(), later_.end(), [](auto& l) { return l.turns-- > 0; });
        std::vector<mending> const now(due, later_.end());
        later_.erase(due, later_.end());
        for (auto& l : now)
            l.mend();
    }

    void mend_everything()
    {
        while (!later_.empty())
            mend_some();
    }

    std::string what_was_done() const
    {
        return fmt::format("{} servers{}{}, {} processes, {} s, seed {}: {} faults",
                           settings_.nodes.empty() ? servers_.size() : settings_.nodes.size(), settings_.forgetful ? " without a log" : "",
                           settings_.links.empty() ? "" : " in namespaces of their own", settings_.processes, settings_.seconds,
                           settings_.seed, faults_);
    }

    int judge(int failed, arbiter::record const& with, arbiter::record const& without)
    {
        fmt::print("{}, among them {} crashes of servers, {} of processes, {} steps of clocks; {} acquisitions refused\n"
                   "with fencing: {} acknowledged, {} lost, {} refused as stale; without: {} acknowledged, {} lost, {} stale accepted\n",
                   what_was_done(), crashes_, deaths_, steps_, shared_->refused.load(), with.acknowledged, with.lost, with.refused,
                   without.acknowledged, without.lost, without.stale);
        bool bad = failed > 0 || with.acknowledged == 0 || with.lost > 0;
        if (failed > 0)
            fmt::print("{} processes did not end well\n", failed);
        if (with.acknowledged == 0)
            fmt::print("nothing was done\n");
        if (with.stale > 0 || with.twice > 0 || with.falling > 0) {
            fmt::print("with fencing, {} stale operations were accepted, {} tokens given twice, {} not above an earlier one\n",
                       with.stale, with.twice, with.falling);
            bad = true;
        }
        if (settings_.seconds >= 10 && without.lost == 0) {
            fmt::print("the check is blind: nothing was lost without fencing\n");
            bad = true;
        }
        return bad ? 1 : 0;
    }

    int judge(int failed)
    {
        auto const& s = *shared_;
        auto const acknowledged = s.acknowledged.load();
        auto const missing = acknowledged > s.counter ? acknowledged - s.counter : 0;
        fmt::print("{}, {} updates, {} lost; {} written when the lock was over, {} given up inside, {} acquisitions refused\n",
                   what_was_done(), acknowledged, missing, s.doubtful.load(), s.lost.load(), s.refused.load());
        if (settings_.without_lock) {
            fmt::print("without the lock, {} updates are lost\n", missing);
            return missing > 0 ? 0 : 1;
        }
        if (failed > 0) {
            fmt::print("{} processes did not end well\n", failed);
            return 1;
        }
        std::this_thread::sleep_for(1500ms);  // what could not be released in time expires by itself
        std::size_t left = 0;
        for (auto& server : servers_)
            left += server->ask({"EXISTS", "lock:counter"}) == "1";
        if (left > 0)
            fmt::print("the key is left on {} servers\n", left);
        if (acknowledged == 0)
            fmt::print("nothing was done\n");
        // A write that began when the lock was held and ended when it was over: the process stood still in between.
        bool const explained = settings_.forgetful || s.doubtful > 0;
        if (missing > 0)
            fmt::print("{} updates are lost{}\n", missing,
                       settings_.forgetful ? ": servers forgot locks that were held"
                       : explained         ? ": a process stood still between its last look at the lock and its write"
                                           : "");
        return (missing > 0 && !explained) || left > 0 || acknowledged == 0 ? 1 : 0;
    }

    struct mending {
        std::size_t turns;
        std::function<void()> mend;
    };

    settings const settings_;
    std::mt19937_64 random_;
    boost::interprocess::mapped_region const memory_ = boost::interprocess::anonymous_shared_memory(sizeof(shared));
    shared* const shared_ = new (memory_.get_address()) shared{};
    std::vector<std::unique_ptr<local_server>> servers_;
    std::unique_ptr<proxy> network_;
    std::vector<std::chrono::steady_clock::time_point> started_;
    std::vector<std::unique_ptr<stepped_clock>> clocks_;  // of the first servers
    std::unique_ptr<arbiter> arbiter_;                    // with --fencing
    bool fenced_ = false;
    std::vector<process> clients_;
    std::vector<process> spare_;  // stopped until they take somebody's place
    std::vector<process> dead_;
    std::vector<mending> later_;
    std::size_t paused_ = 0;
    std::uint64_t faults_ = 0;
    std::uint64_t crashes_ = 0;
    std::uint64_t deaths_ = 0;
    std::uint64_t steps_ = 0;
};

settings parse(std::vector<std::string> arguments)
{
    settings s;
    redlock::testbed::command_line line("redlock_soak", "Adds to counters through the lock, on real servers, while everything around fails.");
    line.add_number("--seconds", s.seconds, 1, 1'000'000, "how long");
    line.add_number("--seed", s.seed, 0, std::numeric_limits<std::uint64_t>::max(), "of the faults");
    line.add_number("--processes", s.processes, 2, 16, "that take the lock");
    line.add_number("--servers", s.servers, 1, 9, "that are started");
    line.add_flag("--forgetful", s.forgetful, "the servers keep no log, so that a crash forgets: updates may then be lost, and are counted; "
                                              "with --fencing, no more crash at a time than may");
    line.add_list("--nodes", "URL", s.nodes, "servers that are there already, and …");
    line.add_list("--links", "NAME", s.links, "… the network interfaces that lead to them, which are set down and up");
    line.add_flag("--without-lock", s.without_lock, "updates must then be lost, or the check is blind");
    line.add_flag("--fencing", s.fencing, "half of the time without fencing tokens, half with them, for processes that never look whether the "
                                          "lock is still theirs: without, updates must be lost in 10 s or more; with, none, and nothing "
                                          "stale be accepted");
    line.add_text("--clock-shim", "FILE", s.clock_shim, "with --fencing: step the wall clocks of some servers through this library, which is "
                                                        "preloaded into them");
    line.add_flag("--rolling", s.rolling, "instead: a long hold while each of the servers, 3 at least, is restarted without memory, for as "
                                          "long as that takes; it must be held to the end, and another without healing be lost");
    line.read(std::move(arguments));
    return s;
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        auto const s = parse({argv + 1, argv + argc});
        if (s.rolling)
            return redlock::test::rolling_restart(std::max<std::size_t>(s.servers, 3));
        return s.fencing ? soak(s).run_fencing() : soak(s).run();
    } catch (redlock::testbed::early_exit const& e) {
        return e.tell();
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_soak: {}\n", e.what());
        return 1;
    }
}
