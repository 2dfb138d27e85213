#include "fault/report.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;

namespace {

std::string what_was_done(soak_options const& o, faults const& f)
{
    return fmt::format(
        "{} servers{}{}, {} processes{}, {} s, seed {}: {} faults", o.nodes.empty() ? o.servers : o.nodes.size(),
        o.forgetful ? " without a log" : "", o.links.empty() ? "" : " in namespaces of their own", o.processes,
        f.done().newcomers > 0 ? fmt::format(" and {} that started later", f.done().newcomers) : std::string(),
        o.seconds, o.seed, f.done().all);
}

// @return on how many servers one of the keys exists
std::size_t servers_with(std::vector<std::string> const& keys, system_under_test const& system)
{
    std::this_thread::sleep_for(1500ms);  // keys that could not be released in time expire by themselves
    std::vector<std::string> exists{"EXISTS"};
    exists.insert(exists.end(), keys.begin(), keys.end());
    std::size_t left = 0;
    for (auto& server : system.servers)
        left += server->ask(exists) != "0";
    return left;
}

// Prints the text if something is wrong. @return whether it is wrong
bool is_wrong(bool wrong, std::string const& text)
{
    if (wrong)
        fmt::print("{}\n", text);
    return wrong;
}

bool has_failed(int processes) { return is_wrong(processes > 0, fmt::format("{} processes failed", processes)); }

}  // namespace

int report_counter(system_under_test const& system, faults const& f, shared_counter const& s, int failed)
{
    auto const& options = system.options;
    auto const acknowledged = s.acknowledged.load();
    auto const missing = acknowledged > s.value ? acknowledged - s.value : 0;
    fmt::print("{}, {} updates, {} lost; {} written after the end of the lock, {} given up before the write, {} "
               "acquisitions refused\n",
               what_was_done(options, f), acknowledged, missing, s.doubtful.load(), s.lost.load(), s.refused.load());
    if (options.without_lock) {
        fmt::print("without the lock, {} updates are lost\n", missing);
        return missing > 0 ? 0 : 1;
    }
    if (has_failed(failed))
        return 1;
    auto const left = servers_with({"lock:counter"}, system);
    bool bad = is_wrong(left > 0, fmt::format("the key is left on {} servers", left));
    bad |= is_wrong(acknowledged == 0, "no update was acknowledged");
    // A doubtful write began while the lock was held, and ended when it was not. The process was paused in between.
    bool const explained = options.forgetful || s.doubtful > 0;
    if (missing > 0)
        fmt::print("{} updates are lost{}\n", missing,
                   options.forgetful ? ": servers forgot locks that were held"
                   : explained       ? ": a process was paused between its last check of the lock and its write"
                                     : "");
    return (missing > 0 && !explained) || bad ? 1 : 0;
}

int report_fencing(soak_options const& options, faults const& f, shared_counter const& s, int failed,
                   arbiter::record const& with, arbiter::record const& without)
{
    fmt::print("{}, among them {} crashes of servers, {} of processes, {} steps of clocks; {} acquisitions refused\n"
               "with fencing: {} acknowledged, {} lost, {} refused as stale; without: {} acknowledged, {} lost, {} "
               "stale accepted\n",
               what_was_done(options, f), f.done().crashes, f.done().deaths, f.done().steps, s.refused.load(),
               with.acknowledged, with.lost, with.refused, without.acknowledged, without.lost, without.stale);
    bool bad = with.lost > 0;
    bad |= has_failed(failed);
    bad |= is_wrong(with.acknowledged == 0, "no update was acknowledged");
    bad |= is_wrong(
        with.stale > 0 || with.twice > 0 || with.falling > 0,
        fmt::format(
            "with fencing, {} stale operations were accepted, {} tokens given twice, {} not above an earlier one",
            with.stale, with.twice, with.falling));
    bad |=
        is_wrong(options.seconds >= 10 && without.lost == 0, "the check is blind: no update was lost without fencing");
    return bad ? 1 : 0;
}

int report_transfers(system_under_test const& system, faults const& f, shared_transfers const& s, int failed,
                     bank::record const& b)
{
    auto const& options = system.options;
    fmt::print("{}, among them {} crashes of servers, {} of processes; {} acquisitions refused\n"
               "{} transfers between {} accounts, {} sums right, {} wrong, {} at the same time as others; {} requests "
               "refused as stale, {} writes of unfinished transfers undone; at the end {} of {}\n",
               what_was_done(options, f), f.done().crashes, f.done().deaths, s.refused.load(), s.done.load(),
               bank::size, s.right.load(), s.wrong.load(), s.beside.load(), b.refused, b.undone, b.sum, bank::total);
    if (options.without_lock)
        return is_wrong(s.wrong == 0, "the check is blind: no sum was wrong without the lock") ? 1 : 0;
    std::vector<std::string> keys{"lock:ledger"};
    for (std::size_t i = 0; i < bank::size; ++i)
        keys.push_back(fmt::format("lock:account/{}", i));
    auto const left = servers_with(keys, system);
    bool bad = has_failed(failed);
    bad |= is_wrong(s.done == 0 || s.right == 0, "there was no transfer, or no right sum");
    bad |= is_wrong(options.audit && s.beside == 0, "no two sums ran at the same time");
    bad |= is_wrong(s.wrong > 0 || b.sum != bank::total, "a sum was wrong");
    bad |= is_wrong(s.refused_inside > 0, fmt::format("{} times two processes held one lock", s.refused_inside.load()));
    bad |= is_wrong(left > 0, fmt::format("keys are left on {} servers", left));
    return bad ? 1 : 0;
}

}  // namespace redlock::test
