// Tries locks of this library and of others under the same faults, on real servers.

#include "tools/redlock/args/early_exit.hpp"
#include "interrupt.hpp"
#include "processor.hpp"
#include "versus/choice.hpp"
#include "versus/lock_store.hpp"
#include "versus/report.hpp"
#include "versus/run_trials.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <unistd.h>

namespace {

using namespace redlock::versus;
namespace bench = redlock::bench;

void show(std::string const& what)
{
    if (::isatty(2))
        fmt::print(stderr, "\r\x1b[K{}", what);
    else if (!what.empty())
        fmt::print(stderr, "{}\n", what);
}

void write(std::ofstream& to, std::string const& path, std::string const& text)
{
    if (path.empty())
        return;
    to << text << std::flush;
    if (!to)
        throw std::runtime_error(fmt::format("{} could not be written: is the disk full?", path));
}

report prepare(choice const& c)
{
    report r;
    r.faults = chosen(all_faults(), c.faults);
    r.peers = chosen(bench::find_peers(c.folder), c.peers);
    bench::throw_if_interrupted();
    for (auto const& p : r.peers) {
        if (p.missing.empty())
            r.machine.insert(server_version(p.servers));
    }
    r.machine.merge(bench::describe_machine());
    return r;
}

std::vector<planned_trial> plan(report const& r)
{
    std::vector<planned_trial> all;
    for (auto const& p : r.peers) {
        for (auto const& f : r.faults) {
            if (p.missing.empty())
                all.push_back({&p, &f});
        }
    }
    return all;
}

int status_of(report const& r)
{
    for (auto const& t : r.trials) {
        if (t.peer == "redlock-fencing" && !keeps_promise(t)) {
            fmt::print(stderr, "redlock_versus: {} lost an update or left a key behind: {}\n", t.peer, t.fault);
            return 3;
        }
    }
    return std::ranges::all_of(r.trials, [](auto& t) { return t.failure.empty(); }) ? 0 : 1;
}

int compare(choice const& c)
{
    bench::note_interrupts();
    auto r = prepare(c);
    if (c.list) {
        fmt::print("{}", to_list(r.peers, r.faults));
        return 0;
    }
    std::ofstream json;  // opened before the trials, so that a wrong path fails at once
    if (!c.json.empty() && (json.open(c.json, std::ios::binary), !json))
        throw std::runtime_error(fmt::format("--json: {} cannot be written", c.json));
    r.trials = run_trials(plan(r), {.jobs = c.jobs, .progress = show});
    show("");
    fmt::print("{}", to_table(r));
    std::fflush(stdout);
    write(json, c.json, to_json(r));
    return status_of(r);
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        return compare(parse({argv + 1, argv + argc}));
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    } catch (bench::interrupted const&) {
        show("");
        return 130;
    } catch (std::exception const& e) {
        show("");
        fmt::print(stderr, "redlock_versus: {}\n", e.what());
        return 1;
    }
}
