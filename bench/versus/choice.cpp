#include "versus/choice.hpp"

#include "tools/redlock/args/option_parser.hpp"
#include "bed/server_process.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace redlock::versus {

namespace {

constexpr char about[] =
    "Tries locks of this library and of others under faults, on real servers, which it starts itself. In each trial, "
    "three workers increment a counter under one lock with a TTL of one second, and a fault happens.";

constexpr char notes[] =
    "The program keeps the counter. It reports lost updates, keys left behind, the time until the lock is acquired "
    "again, and the time until a holder knows that it lost its lock. Locks with fencing tokens send them with their "
    "writes; the counter refuses a write with an old token.\n\n"
    "Exit status:\n"
    "0: all trials were run. 1: a trial could not be run.\n"
    "3: redlock with fencing lost an update or left a key behind.\n"
    "64: wrong usage. 130: interrupted; no server and no worker is left running.";

template <class Named>
std::vector<Named> with_names(std::vector<Named> all, std::vector<std::string> const& wanted, char const* kind)
{
    for (auto const& name : wanted) {
        if (std::ranges::find(all, name, &Named::name) != all.end())
            continue;
        std::vector<std::string> names;
        std::ranges::transform(all, std::back_inserter(names), &Named::name);
        throw std::runtime_error(
            fmt::format("there is no {} \"{}\"; choose from: {}", kind, name, fmt::join(names, ", ")));
    }
    std::erase_if(all,
                  [&](auto& one) { return !wanted.empty() && std::ranges::find(wanted, one.name) == wanted.end(); });
    return all;
}

}  // namespace

choice parse(std::vector<std::string> arguments)
{
    choice c;
    c.folder = testbed::named_by("REDLOCK_PEERS");
    cli::option_parser line("redlock_versus", about, notes);
    line.add_option("NAME", c.peers, "a peer, such as redlock; default: all")->take_all();
    line.add_list("--fault", "NAME", c.faults, "only these faults");
    line.add_number("--jobs", c.jobs, 1, 64, "trials at a time");
    line.add_text("--json", "FILE", c.json, "writes all figures and their definitions");
    line.add_text("--peers", "FOLDER", c.folder, "the worker programs of the peers ($REDLOCK_PEERS)");
    line.add_flag("--list", c.list, "prints the peers and the faults, and ends");
    line.read(std::move(arguments));
    if (c.folder.empty())
        line.refuse("--peers is missing: it names the folder of the worker programs, which ./dev versus fills");
    return c;
}

std::vector<bench::peer> chosen(std::vector<bench::peer> all, std::vector<std::string> const& wanted)
{
    return with_names(std::move(all), wanted, "peer");
}

std::vector<fault> chosen(std::vector<fault> all, std::vector<std::string> const& wanted)
{
    return with_names(std::move(all), wanted, "fault");
}

}  // namespace redlock::versus
