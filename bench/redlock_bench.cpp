// Measures the library's speed as a ratio to the floor: the minimal cost of the same commands, in the same run.

#include "tools/redlock/args/early_exit.hpp"
#include "fleet.hpp"
#include "interrupt.hpp"
#include "options.hpp"
#include "output/json.hpp"
#include "output/plot.hpp"
#include "output/table.hpp"
#include "processor.hpp"
#include "scenarios.hpp"
#include "versus/speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <unistd.h>

namespace {

using namespace redlock::bench;

run read(std::string const& file)
{
    std::ifstream in(file, std::ios::binary);
    if (!in)
        throw std::runtime_error(fmt::format("--compare: {} cannot be read", file));
    return from_json(std::string(std::istreambuf_iterator<char>(in), {}), file);
}

// An output file. It is opened before the measurements, so that a wrong path fails at once.
class output {
public:
    explicit output(std::string path) : path_(std::move(path))
    {
        if (path_.empty())
            return;
        file_.open(path_, std::ios::binary);
        if (!file_)
            throw std::runtime_error(fmt::format("{} cannot be written", path_));
    }

    template <class Text>
    void write(Text text)
    {
        if (path_.empty())
            return;
        file_ << text() << std::flush;
        if (!file_)
            throw std::runtime_error(fmt::format("{} could not be written: is the disk full?", path_));
    }

private:
    std::string path_;
    std::ofstream file_;
};

void show(std::string const& what)
{
    if (::isatty(2))
        fmt::print(stderr, "\r\x1b[K{}", what);
    else if (!what.empty())
        fmt::print(stderr, "{}\n", what);
}

int bench(options o, std::string command)
{
    note_interrupts();
    if (!o.plot.empty())
        need_gnuplot();
    output json(o.json), plot(o.plot);
    if (!o.pin.empty())
        pin_to(o.pin);  // the servers inherit it
    run all;
    all.machine = describe_machine();
    all.machine["command"] = std::move(command);
    all.machine["server"] = o.nodes.empty() ? fleet(1, o.server).version() : fleet(o.nodes).version();
    if (std::ranges::find(o.scenarios, "versus") != o.scenarios.end()) {
        o.peers = find_rivals(o);
        describe(o.peers, all.machine);
        for (auto const& [name, what] : all.machine) {
            if (name.starts_with("peer") && what.starts_with("left out"))
                fmt::print(stderr, "{}: {}\n", name, what);
        }
    }
    for (auto const& name : o.scenarios) {
        for (auto& r : run_scenario(name, o, show))
            all.results.push_back(std::move(r));
    }
    show("");
    fmt::print("{}", to_table(all));
    std::fflush(stdout);
    json.write([&] { return to_json(all); });
    plot.write([&] { return drawn(to_plot(all)); });
    if (std::ranges::all_of(all.results, [](auto& r) { return r.violations == 0; }))
        return 0;
    fmt::print(stderr, "redlock_bench: mutual exclusion was violated\n");
    return 3;
}

int compare(options const& o)
{
    if (!o.plot.empty())
        need_gnuplot();
    auto const before = read(o.before), after = read(o.after);
    output plot(o.plot);
    fmt::print("{}", to_comparison(before, after));
    std::fflush(stdout);
    plot.write([&] { return drawn(to_plot(after, &before)); });
    return 0;
}

}  // namespace

int main(int argc, char** argv)
{
    std::vector<std::string> const arguments(argv + 1, argv + argc);
    try {
        auto const o = parse(arguments);
        return o.before.empty() ? bench(o, command_line(arguments)) : compare(o);
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    } catch (interrupted const&) {
        show("");
        return 130;
    } catch (std::exception const& e) {
        show("");
        fmt::print(stderr, "redlock_bench: {}\n", e.what());
        return 1;
    }
}
