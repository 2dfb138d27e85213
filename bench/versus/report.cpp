#include "versus/report.hpp"

#include "output/columns.hpp"
#include "output/text.hpp"
#include "versus/trial.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace redlock::versus {

namespace {

namespace json = boost::json;
using rows = std::vector<std::vector<std::string>>;

constexpr std::pair<char const*, char const*> definitions[]{
    {"confirmed_writes", "writes that the counter took; each adds 1 to the value that its worker has read"},
    {"lost_updates", "confirmed writes minus the counter at the end; a late write takes back many updates, or just one "
                     "if another worker "
                     "has read the counter before and writes after it"},
    {"refused_writes", "writes with a fencing token smaller than the greatest token that the counter has seen"},
    {"held_twice", "acquisitions while another worker was at work, or its write on the way"},
    {"keys_left",
     "keys of locks that are still there a TTL and three seconds after all workers have ended; PostgreSQL: advisory "
     "locks; ZooKeeper: ephemeral nodes; redlock's life markers, settings and fencing counters are not keys of locks"},
    {"tombstones",
     "keys of redlock that refuse late requests of an owner, and nobody else's; they expire after ten minutes"},
    {"crashed_workers", "workers that ended without being asked to"},
    {"killed_workers", "workers that did not end within five seconds after they were asked to"},
    {"recovered", "after the fault, each living worker acquired the lock within ten seconds"},
    {"recovery_us", "the longest time without an acquisition by any worker after the fault began; the time for which a "
                    "holder works is part of it"},
    {"notices", "how often a worker said that it lost its lock, rightly or not"},
    {"notice_us",
     "the longest time from the moment at which another worker acquired the lock until the worker that lost it said "
     "so; the time for which a fault stops this worker is part of it; negative: it said so before another acquisition"},
    {"never_noticed", "a worker completed its work although another worker had acquired the lock"},
};

std::string recovery(trial_result const& r)
{
    return (r.recovered ? "" : "> ") + bench::duration(static_cast<double>(r.recovery_us));
}

std::string notice(trial_result const& r)
{
    if (r.never_noticed)
        return "never";
    if (!r.notice_us)
        return "-";
    auto const us = static_cast<double>(*r.notice_us);
    return us < 0 ? "-" + bench::duration(-us) : bench::duration(us);
}

// The parts of a name stand in lines of their own, so that columns stay narrow.
rows heading(std::vector<bench::peer> const& peers)
{
    rows all(1, std::vector<std::string>(peers.size() + 1));
    for (std::size_t i = 0; i < peers.size(); ++i) {
        std::size_t line = 0;
        for (std::string_view rest = peers[i].name; !rest.empty(); ++line) {
            if (line == all.size())
                all.emplace_back(peers.size() + 1);
            auto const end = std::min(rest.find('-'), rest.size() - 1) + 1;
            all[line][i + 1] = rest.substr(0, end);
            rest.remove_prefix(end);
        }
    }
    return all;
}

std::vector<bench::peer> tried(report const& r)
{
    auto all = r.peers;
    std::erase_if(all,
                  [&](auto& p) { return std::ranges::none_of(r.trials, [&](auto& t) { return t.peer == p.name; }); });
    return all;
}

std::string table(report const& r, std::function<std::string(trial_result const&)> const& cell)
{
    auto const peers = tried(r);
    auto all = heading(peers);
    for (auto const& f : r.faults) {
        auto& row = all.emplace_back(1, f.name);
        for (auto const& p : peers) {
            auto const found =
                std::ranges::find_if(r.trials, [&](auto& t) { return t.peer == p.name && t.fault == f.name; });
            row.push_back(found == r.trials.end() ? "" : found->failure.empty() ? cell(*found) : "not run");
        }
    }
    return bench::columns(all, "l" + std::string(peers.size(), 'r'));
}

std::string versions(report const& r)
{
    rows all;
    for (auto const& [name, what] : r.machine)
        all.push_back({name, what});
    for (auto const& p : tried(r))
        all.push_back({p.name, p.versions});
    return "\nVersions\n" + bench::columns(all, "ll");
}

std::string remarks(report const& r)
{
    std::string text;
    for (auto const& t : r.trials) {
        if (t.tombstones > 0)
            text += fmt::format("  {}, {}: {} for ten minutes\n", t.peer, t.fault,
                                bench::counted(t.tombstones, "tombstone"));
        for (auto const& what : t.remarks)
            text += fmt::format("  {}, {}: {}\n", t.peer, t.fault, what);
        if (!t.failure.empty())
            text += fmt::format("  {}, {}, not run: {}\n", t.peer, t.fault, t.failure);
    }
    for (auto const& p : r.peers) {
        if (!p.missing.empty())
            text += fmt::format("  {} is left out: {}\n", p.name, p.missing);
    }
    return text.empty() ? text : "\nRemarks\n" + text;
}

}  // namespace

std::string verdict(trial_result const& r)
{
    std::string text;
    auto const add = [&](std::string const& what) { text += (text.empty() ? "" : ", ") + what; };
    if (r.lost_updates > 0)
        add(fmt::format("{} lost", r.lost_updates));
    if (r.keys_left > 0)
        add(bench::counted(r.keys_left, "key"));
    if (!r.recovered)
        add("no recovery");
    if (r.crashed_workers > 0)
        add(fmt::format("{} crashed", r.crashed_workers));
    if (r.killed_workers > 0)
        add(fmt::format("{} hung", r.killed_workers));
    if (text.empty())
        text = "ok";
    if (r.refused_writes > 0)
        add(fmt::format("{} refused", r.refused_writes));
    return text;
}

std::string to_table(report const& r)
{
    if (r.trials.empty())
        return "No trials." + remarks(r) + "\n";
    return "Verdicts\n"
           "  lost: updates; a stale write takes back many, or one if a later write restores the others\n"
           "  refused: writes that fencing kept out\n"
           "  key: left behind on a server\n"
           + table(r, verdict) + "\nRecovery: the longest time without an acquisition after the fault began\n"
           + table(r, recovery)
           + "\nNotice: from the acquisition by another worker until the holder knows its loss (negative: before it)\n"
           + table(r, notice) + remarks(r) + versions(r);
}

std::string to_list(std::vector<bench::peer> const& peers, std::vector<fault> const& faults)
{
    std::string text = "Peers:\n";
    for (auto const& p : peers)
        text +=
            fmt::format("  {:18} {}: {}\n", p.name, p.title, p.missing.empty() ? p.versions : "left out: " + p.missing);
    text += "\nFaults:\n";
    for (auto const& f : faults)
        text += fmt::format("  {:18} {}\n", f.name, f.description);
    return text;
}

std::string to_json(report const& r)
{
    std::string text = "{\n";
    auto const list = [&](std::string_view name, auto const& all, auto const& one) {
        text += fmt::format("  \"{}\": [", name);
        auto separator = "\n    ";
        for (auto const& item : all)
            text += std::exchange(separator, ",\n    ") + one(item);
        text += "\n  ]";
    };
    json::object meaning;
    for (auto const& [name, what] : definitions)
        meaning[name] = what;
    text += fmt::format("  \"schema\": 1,\n  \"machine\": {},\n  \"definitions\": {},\n",
                        json::serialize(json::value_from(r.machine)), json::serialize(meaning));
    list("peers", r.peers, [](bench::peer const& p) {
        return json::serialize(
            json::object{{"name", p.name}, {"title", p.title}, {"versions", p.versions}, {"missing", p.missing}});
    });
    text += ",\n";
    list("faults", r.faults, [](fault const& f) {
        return json::serialize(json::object{{"name", f.name}, {"description", f.description}});
    });
    text += ",\n";
    list("trials", r.trials, [](trial_result const& t) { return to_json(t); });
    return text + "\n}\n";
}

bool keeps_promise(trial_result const& r) { return r.lost_updates == 0 && r.keys_left == 0; }

}  // namespace redlock::versus
