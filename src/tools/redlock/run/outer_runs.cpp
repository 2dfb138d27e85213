#include "tools/redlock/run/outer_runs.hpp"

#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/server_place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sstream>
#include <sys/types.h>
#include <unistd.h>

namespace redlock::cli {

namespace {

constexpr auto shared_word = "shared", alone_word = "alone";

struct outer_lock {
    pid_t process = 0;
    std::string start{}, mode{}, key{}, nodes{};
};

// The start time of a process, in ticks since the system started. It tells the process from a later one with the same
// number. "ended": the process is a zombie. "unknown": /proc does not tell.
std::string start_of(pid_t process)
{
    std::ifstream file(fmt::format("/proc/{}/stat", process));
    std::string text{std::istreambuf_iterator<char>(file), {}};
    text.erase(0, text.rfind(')') + 1);  // the program name in parentheses may contain any character
    std::istringstream words(text);
    std::vector<std::string> const fields{std::istream_iterator<std::string>(words), {}};
    constexpr std::size_t state = 0, start = 19;
    if (fields.size() <= start)
        return "unknown";
    return fields[state] == "Z" ? "ended" : fields[start];
}

bool has_not_ended(outer_lock const& l)
{
    if (l.process <= 0 || (::kill(l.process, 0) != 0 && errno == ESRCH))
        return false;
    auto const start = start_of(l.process);
    return start == "unknown" || start == l.start;
}

std::string line_of(outer_lock const& l)
{
    return fmt::format("{} {} {} {} {}\n", l.process, l.start, l.mode, l.key, l.nodes);
}

std::vector<outer_lock> locks_of_outer_runs()
{
    std::istringstream lines(in_environment(outer_runs_variable));
    std::vector<outer_lock> all;
    for (std::string line; std::getline(lines, line);) {
        outer_lock l;
        std::istringstream words(line);
        words >> l.process >> l.start >> l.mode >> l.key >> std::ws;
        if (std::getline(words, l.nodes) && has_not_ended(l))
            all.push_back(std::move(l));
    }
    return all;
}

std::string joined(std::vector<std::string> nodes)
{
    std::ranges::sort(nodes);
    return fmt::format("{}", fmt::join(nodes, " "));
}

}  // namespace

std::string lines_for_inner_runs(run_locks ours)
{
    std::string lines;
    for (auto const& l : locks_of_outer_runs())
        lines += line_of(l);
    outer_lock l{.process = ::getpid(),
                 .start = start_of(::getpid()),
                 .mode = ours.is_shared ? shared_word : alone_word,
                 .nodes = joined(std::move(ours.nodes))};
    for (auto const& key : ours.keys) {
        l.key = percent_encoded(key);
        lines += line_of(l);
    }
    lines.pop_back();
    return lines;
}

outer_hold held_by_outer_runs(std::string const& key, std::vector<std::string> nodes)
{
    auto const place = joined(std::move(nodes));
    outer_hold found;
    for (auto const& l : locks_of_outer_runs()) {
        if (l.key != percent_encoded(key) || l.nodes != place)
            continue;
        found.is_held = true;
        found.is_alone = found.is_alone || l.mode != shared_word;
    }
    return found;
}

}  // namespace redlock::cli
