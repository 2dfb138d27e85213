#include "versus/run_trials.hpp"

#include "interrupt.hpp"
#include "bed/postgres_server.hpp"
#include "bed/process.hpp"
#include "versus/lock_store.hpp"
#include "versus/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace redlock::versus {

namespace {

int run_and_tell(planned_trial const& p, std::chrono::milliseconds ttl)
{
    trial_result r{.peer = p.who->name, .fault = p.what->name};
    try {
        r = trial(*p.who, ttl).run(*p.what);
    } catch (bench::interrupted const&) {
        return 1;
    } catch (std::exception const& e) {
        r.failure = e.what();
    }
    auto const text = to_json(r);
    return std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
}

/// A trial in a process of its own.
class job {
public:
    job(std::size_t number, planned_trial p, std::chrono::milliseconds ttl)
        : number_(number),
          plan_(p),
          process_([p, ttl] { return run_and_tell(p, ttl); },
                   {.piped = true, .when_alone = SIGTERM, .is_over = bench::was_interrupted})
    {
    }

    std::size_t number() const noexcept { return number_; }
    int output() const noexcept { return process_.output(); }

    /// Reads its output, which must be readable. Returns false at its end.
    bool read()
    {
        std::array<char, 4096> some;
        auto const n = ::read(process_.output(), some.data(), some.size());
        said_.append(some.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return n > 0 || (n < 0 && errno == EINTR);
    }

    trial_result result()
    {
        auto const end = process_.wait();
        if (end.code() == 0)
            return from_json(said_);
        return {.peer = plan_.who->name, .fault = plan_.what->name, .failure = "the trial's process " + end.in_words()};
    }

    /// Lets the trial stop its servers.
    void stop() { process_.signal(SIGTERM); }
    void wait() { process_.wait(); }

private:
    std::size_t number_;
    planned_trial plan_;
    testbed::process process_;
    std::string said_;
};

class pool {
public:
    pool(std::vector<planned_trial> const& plan, how_to_run const& how) : plan_(plan), how_(how), results_(plan.size())
    {
    }

    std::vector<trial_result> run()
    {
        try {
            while (next_ < plan_.size() || !jobs_.empty()) {
                while (next_ < plan_.size() && jobs_.size() < how_.jobs)
                    start();
                serve();
                bench::throw_if_interrupted();
            }
        } catch (...) {
            for (auto& j : jobs_)
                j->stop();
            for (auto& j : jobs_)
                j->wait();
            throw;
        }
        return std::move(results_);
    }

private:
    void start()
    {
        auto const& p = plan_[next_];
        how_.progress(fmt::format("[{} of {}] {}: {}", next_ + 1, plan_.size(), p.who->name, p.what->name));
        jobs_.push_back(std::make_unique<job>(next_++, p, how_.ttl));
    }

    void serve()
    {
        std::vector<pollfd> outputs;
        for (auto const& j : jobs_)
            outputs.push_back({.fd = j->output(), .events = POLLIN, .revents = 0});
        if (::poll(outputs.data(), outputs.size(), -1) <= 0)
            return;
        for (std::size_t i = outputs.size(); i-- > 0;) {
            if (outputs[i].revents == 0 || jobs_[i]->read())
                continue;
            bench::throw_if_interrupted();
            results_[jobs_[i]->number()] = jobs_[i]->result();
            jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    std::vector<planned_trial> const& plan_;
    how_to_run const& how_;
    std::vector<trial_result> results_;
    std::vector<std::unique_ptr<job>> jobs_;
    std::size_t next_ = 0;
};

}  // namespace

std::vector<trial_result> run_trials(std::vector<planned_trial> const& plan, how_to_run const& how)
{
    // The first server of a process makes data that later ones copy. Forks share them, and this process deletes them.
    if (std::ranges::any_of(plan, [](auto& p) { return p.who->servers == bench::lock_servers::postgresql; }))
        testbed::postgres_server();
    return pool(plan, how).run();
}

}  // namespace redlock::versus
