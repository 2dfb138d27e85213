#pragma once

#include "fault/options.hpp"
#include "fault/system_under_test.hpp"
#include "fault/worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;

/// Causes faults. It repairs each fault a while later, and causes others in between.
class faults {
public:
    struct counts {
        std::uint64_t all = 0;
        std::uint64_t crashes = 0;    ///< of servers
        std::uint64_t deaths = 0;     ///< of processes
        std::uint64_t newcomers = 0;  ///< processes that started later
        std::uint64_t steps = 0;      ///< of clocks
    };

    explicit faults(system_under_test& s) : system_(s), options_(s.options), random_(s.options.seed) {}

    /// Causes faults for @p time, and then repairs everything. Shows @p progress if stderr is a terminal.
    void strike(std::chrono::milliseconds time, std::function<std::string()> const& progress)
    {
        auto const end = std::chrono::steady_clock::now() + time;
        while (std::chrono::steady_clock::now() < end) {
            do_harm();
            std::this_thread::sleep_for(
                std::chrono::milliseconds(options_.naive_workers() ? 20 + any(120) : 50 + any(400)));
            if (::isatty(2))
                fmt::print(stderr, "\r{} faults, {} ", done_.all, progress());
        }
        if (::isatty(2))
            fmt::print(stderr, "\r                                        \r");
        mend_everything();
    }

    counts const& done() const noexcept { return done_; }

private:
    using fault = testbed::fault;

    struct mending {
        std::size_t turns;
        std::function<void()> mend;
    };

    static void set_link(std::string const& link, char const* state)
    {
        if (testbed::process({"ip", "link", "set", link, state}).wait().status != 0)
            throw std::runtime_error("cannot set the interface " + link + " " + state);
    }

    std::size_t any(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    void do_harm()
    {
        ++done_.all;
        mend_some();
        if (!options_.naive_workers() && any(8) == 0)
            start_client();
        if (options_.naive_workers() && any(3) > 0)
            return any(20) == 0 ? replace_client() : stop_client();
        if (!options_.nodes.empty())
            return any(4) == 0 ? stop_client() : cut_links();
        harm_server(any(system_.servers.size()));
    }

    void harm_server(std::size_t i)
    {
        switch (any(options_.naive_workers() ? 9 : 7)) {
        case 0:
            return options_.naive_workers() && options_.forgetful ? move_majority(i) : crash(i);
        case 1:
            return pause(i);
        case 2:
            return stop_client();
        case 3:
        case 4:
            return disturb(i);
        case 5:
            return cut_off_all();
        case 6:
            tell(*system_.servers[i], {"SCRIPT", "FLUSH"});
            return tell(*system_.servers[i], {"CLIENT", "PAUSE", std::to_string(any(300))});
        case 7:
            return step_clock();
        case 8:
            return move_majority(i);
        }
    }

    void crash(std::size_t i)
    {
        if (system_.servers[i]->pid() <= 0 || !may_crash(i))
            return;
        system_.servers[i]->kill();
        ++done_.crashes;
        later_.push_back({0, [this, i] { system_.start_server(i); }});
    }

    void pause(std::size_t i)
    {
        auto& s = *system_.servers[i];
        if (s.pid() <= 0)
            return;
        s.pause();
        ++paused_;
        later_.push_back({0, [this, &s] {
                              s.pid() > 0 ? s.resume() : void();
                              --paused_;
                          }});
    }

    void disturb(std::size_t i)
    {
        constexpr fault kinds[] = {fault::none,  fault::trickle, fault::mute,  fault::half_open,
                                   fault::reset, fault::garbage, fault::refuse};
        auto const what = kinds[any(std::size(kinds))];
        system_.network->set(i, what);
        system_.network->set_rtt(i, what == fault::none ? 40ms : 0ms);
        later_.push_back({any(5), [this, i] {
                              system_.network->set(i, fault::none);
                              system_.network->set_rtt(i, 0ms);
                          }});
    }

    // Cuts off all servers from all clients.
    void cut_off_all()
    {
        system_.network->set_all(fault::half_open);
        later_.push_back({any(3), [this] { system_.network->set_all(fault::none); }});
    }

    void step_clock()
    {
        if (system_.clocks.empty())
            return;
        ++done_.steps;
        system_.clocks[any(system_.clocks.size())]->set(any(3) == 0 ? 0s : std::chrono::milliseconds(any(10'000)) - 5s);
    }

    // First a majority works, and the other servers are cut off. The next majority shares one server with it. This
    // server crashes in between.
    void move_majority(std::size_t shared_server)
    {
        if (!may_crash(shared_server))
            return;
        std::array<std::vector<std::size_t>, 2> sides;
        auto turn = any(2);
        for (std::size_t i = 0; i < system_.network->size(); ++i) {
            if (i != shared_server)
                sides[turn++ % 2].push_back(i);
        }
        auto const set = [this](std::vector<std::size_t> const& side, fault f) {
            for (auto const i : side)
                system_.network->set(i, f);
        };
        set(sides[0], fault::half_open);
        later_.push_back({10, [=, this] {
                              crash(shared_server);
                              set(sides[1], fault::half_open);
                              set(sides[0], fault::none);
                              later_.push_back({any(35), [=] { set(sides[1], fault::none); }});
                          }});
    }

    // If all servers lose their records, a new client founds the set. So a majority must keep them.
    // There is a margin, because servers report their age in whole seconds. The age is by the wall clock: after a step,
    // a server may seem younger. Such a server must not crash, because it could also seem older.
    bool may_crash(std::size_t i) const
    {
        if (!options_.naive_workers() || !options_.forgetful)
            return true;
        if (i < system_.clocks.size())
            return false;
        auto young = system_.clocks.size();
        for (std::size_t k = system_.clocks.size(); k < system_.servers.size(); ++k)
            young += k == i || system_.servers[k]->pid() <= 0
                     || std::chrono::steady_clock::now() < system_.started[k] + quarantine + 2s;
        return young <= (system_.servers.size() - 1) / 2;
    }

    // Stops a client, often for longer than its ttl.
    void stop_client()
    {
        auto const pid = system_.clients[any(system_.clients.size())].pid();
        ::kill(pid, SIGSTOP);
        later_.push_back({any(options_.naive_workers() ? 10 : 6), [pid] { ::kill(pid, SIGCONT); }});
    }

    // Starts a client while other faults last.
    void start_client()
    {
        if (system_.spare.empty())
            return;
        system_.add_client();
        ++done_.newcomers;
    }

    void replace_client()
    {
        if (system_.spare.empty())
            return;
        system_.replace_client(any(system_.clients.size()));
        ++done_.deaths;
    }

    // Cuts the links of servers at random. No connection is closed.
    void cut_links()
    {
        for (auto const& link : options_.links) {
            if (any(3) > 0)
                continue;
            set_link(link, "down");
            later_.push_back({any(5), [link] { set_link(link, "up"); }});
        }
    }

    void tell(testbed::local_server& s, std::vector<std::string> const& command)
    {
        if (s.pid() <= 0 || paused_ > 0)
            return;  // the server might not answer
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

    system_under_test& system_;
    soak_options const& options_;
    std::mt19937_64 random_;
    std::vector<mending> later_;
    std::size_t paused_ = 0;
    counts done_;
};

}  // namespace redlock::test
