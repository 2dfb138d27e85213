#include "versus/crew.hpp"

#include "interrupt.hpp"
#include "processor.hpp"
#include "versus/worker_process.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <poll.h>
#include <string_view>
#include <utility>

namespace redlock::bench {

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using steady = std::chrono::steady_clock;

/// The beginning of a text, for an error message.
std::string shortened(std::string text)
{
    constexpr std::size_t most = 100;
    return text.size() > most ? text.substr(0, most) + "…" : text;
}

std::string quote_line(std::string_view line) { return shortened(json::serialize(json::string(line))); }

template <class T>
T field(json::object const& of, std::string_view name, char const* expected)
{
    auto const* const found = of.if_contains(name);
    if (!found)
        throw worker_failed(fmt::format("a worker's report has no field \"{}\"", name));
    auto value = json::try_value_to<T>(*found);
    if (!value)
        throw worker_failed(fmt::format("the field \"{}\" of a worker's report is {}, but must be {}", name,
                                        shortened(json::serialize(*found)), expected));
    return std::move(*value);
}

void add_report(sample& to, std::string_view line)
{
    boost::system::error_code ec;
    auto const value = json::parse(line, ec);
    if (ec || !value.is_object())
        throw worker_failed(fmt::format("a worker wrote {} in place of its report", quote_line(line)));
    auto const& report = value.get_object();
    auto const seconds = field<double>(report, "seconds", "a number");
    if (!(seconds > 0))
        throw worker_failed(
            fmt::format("the field \"seconds\" of a worker's report is {}, but must be above 0", seconds));
    to.seconds = std::max(to.seconds, seconds);
    for (auto const us : field<std::vector<double>>(report, "us", "an array of numbers")) {
        ++to.cycles;
        to.cycle.record(std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::duration<double, std::micro>(std::clamp(us, 0.0, 1e12))));
    }
    auto const counts = field<std::map<std::string, std::uint64_t>>(report, "failures", "counts by message");
    for (auto const& [what, count] : counts)
        to.failures[what] += count;
    to.violations += field<std::uint64_t>(report, "violations", "a whole number from 0 on");
}

void wait_until(steady::time_point end)
{
    for (auto now = steady::now(); now < end; now = steady::now()) {
        auto const slice = std::min(std::chrono::ceil<milliseconds>(end - now), milliseconds(100));
        ::poll(nullptr, 0, static_cast<int>(slice.count()));
        throw_if_interrupted();
    }
}

}  // namespace

class crew::worker {
public:
    worker(std::vector<std::string> const& words, std::string errors) : process_(words, std::move(errors)) {}

    pid_t pid() const noexcept { return process_.pid(); }
    void say(std::string const& line) { process_.write(line); }

    /// The next line that it writes.
    std::string line(milliseconds timeout)
    {
        for (auto const deadline = steady::now() + timeout; lines_.empty();) {
            if (process_.ended())
                throw worker_failed("a worker " + process_.last_words());
            if (receive())
                continue;
            if (steady::now() > deadline) {
                auto const error = process_.last_error();
                throw worker_failed(fmt::format("a worker has written no line for {} s{}{}",
                                                std::chrono::duration<double>(timeout).count(),
                                                error.empty() ? "" : ": ", error));
            }
        }
        auto first = std::move(lines_.front());
        lines_.pop_front();
        return first;
    }

    /// Closes its input, which ends it. If it does not end, the destructor of the process kills it.
    void dismiss() { process_.close_input(); }

    bool has_ended() { return process_.has_exited(); }

private:
    /// Waits for its output for at most 100 ms. Returns whether there was some.
    bool receive()
    {
        pollfd readable{.fd = process_.output(), .events = POLLIN, .revents = 0};
        auto const ready = ::poll(&readable, 1, 100);
        throw_if_interrupted();
        if (ready <= 0)
            return false;
        for (auto& one : process_.read_lines())
            lines_.push_back(std::move(one));
        return true;
    }

    worker_process process_;
    std::deque<std::string> lines_;
};

crew::crew(peer const& p, crew_work const& w, std::size_t processes, milliseconds line_timeout)
    : line_timeout_(line_timeout)
{
    std::size_t first = 0;
    for (std::size_t i = 0; i < processes; ++i) {
        auto const clients = w.clients / processes + (i < w.clients % processes);
        auto words = p.command;
        for (auto& word : {std::string("speed"), w.urls, std::to_string(w.ttl.count()), std::to_string(clients),
                           w.one_key    ? std::string("one")
                           : first == 0 ? std::string("each")
                                        : fmt::format("each:{}", first),
                           std::to_string(w.hold.count())})
            words.push_back(word);
        workers_.push_back(std::make_unique<worker>(words, fmt::format("{}/{}", errors_.path, i)));
        first += clients;
    }
    for (auto const& one : workers_) {
        if (auto const said = one->line(line_timeout_); said != "ready")
            throw worker_failed(fmt::format("a worker wrote {} in place of \"ready\"", quote_line(said)));
    }
}

crew::~crew()
{
    for (auto const& w : workers_)
        w->dismiss();
    // Workers that end by themselves leave no locks on the servers, for which the next peer would wait.
    auto const deadline = steady::now() + std::chrono::seconds(1);
    while (std::ranges::any_of(workers_, [](auto& w) { return !w->has_ended(); }) && steady::now() < deadline)
        ::poll(nullptr, 0, 10);
}

sample crew::run(milliseconds duration, std::function<void()> const& when_over)
{
    sample all;
    auto const cpu = cpu_seconds();
    auto const begin = steady::now();
    for (auto const& w : workers_)
        w->say(fmt::format("go {}", duration.count()));
    if (when_over) {
        wait_until(begin + duration);
        when_over();
    }
    std::vector<std::string> reports;
    for (auto const& w : workers_)
        reports.push_back(w->line(duration + line_timeout_));
    all.client_cpu_seconds = cpu_seconds() - cpu;
    for (auto const& r : reports)
        add_report(all, r);
    return all;
}

std::vector<pid_t> crew::pids() const
{
    std::vector<pid_t> all;
    for (auto const& w : workers_)
        all.push_back(w->pid());
    return all;
}

double crew::cpu_seconds() const
{
    double seconds = 0;
    for (auto const& w : workers_)
        seconds += cpu_seconds_of_family(w->pid());
    return seconds;
}

}  // namespace redlock::bench
