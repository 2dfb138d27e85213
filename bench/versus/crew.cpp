#include "versus/crew.hpp"

#include "interrupt.hpp"
#include "processor.hpp"

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <poll.h>
#include <string_view>
#include <unistd.h>
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
    // The shell puts standard error aside, so that it can be quoted. It has the same process id as the worker.
    worker(std::vector<std::string> const& words, std::string errors)
        : errors_(std::move(errors)), process_(with_errors_in(errors_, words), {.piped = true, .fed = true})
    {
    }

    pid_t pid() const noexcept { return process_.pid(); }

    void say(std::string const& line)
    {
        if (!process_.write(line + "\n"))
            fail_at_end();
    }

    /// The next line that it writes, without the line feed.
    std::string line(milliseconds timeout)
    {
        auto const deadline = steady::now() + timeout;
        for (std::size_t searched = 0;;) {
            if (auto const end = received_.find('\n', searched); end != received_.npos) {
                auto text = received_.substr(0, end);
                received_.erase(0, end + 1);
                return text;
            }
            searched = received_.size();
            receive(deadline, timeout);
        }
    }

    /// Closes its input, which ends it. If it does not end, the destructor of the process kills it.
    void dismiss() { process_.close_input(); }
    bool has_ended() { return process_.ended().has_value(); }

private:
    static std::vector<std::string> with_errors_in(std::string const& file, std::vector<std::string> const& words)
    {
        std::vector<std::string> all{"/bin/sh", "-c", R"(exec "$@" 2>"$0")", file};
        all.insert(all.end(), words.begin(), words.end());
        return all;
    }

    void receive(steady::time_point deadline, milliseconds timeout)
    {
        pollfd readable{.fd = process_.output(), .events = POLLIN, .revents = 0};
        auto const ready = ::poll(&readable, 1, 100);
        throw_if_interrupted();
        if (ready <= 0) {
            if (steady::now() > deadline)
                throw worker_failed(fmt::format("a worker has written no line for {} s{}",
                                                std::chrono::duration<double>(timeout).count(), last_error()));
            return;
        }
        char buffer[64 * 1024];
        auto const size = ::read(process_.output(), buffer, sizeof buffer);
        if (size == 0)
            fail_at_end();
        received_.append(buffer, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    }

    [[noreturn]] void fail_at_end()
    {
        auto const deadline = steady::now() + std::chrono::seconds(10);
        while (!process_.ended() && steady::now() < deadline)
            wait_until(steady::now() + milliseconds(10));
        auto const ended = process_.ended();
        throw worker_failed(
            fmt::format("a worker {}{}", ended ? ended->in_words() : "has closed its output", last_error()));
    }

    /// The last line of its standard error, which has the message of an exception.
    std::string last_error() const
    {
        auto text = testbed::text_of(errors_);
        text.erase(text.find_last_not_of(" \n") + 1);
        auto const line = text.substr(text.rfind('\n') + 1);
        return line.empty() ? line : ": " + line;
    }

    std::string errors_;
    testbed::process process_;
    std::string received_;
};

crew::crew(peer const& p, crew_work const& w, std::size_t processes, milliseconds patience) : patience_(patience)
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
        if (auto const said = one->line(patience_); said != "ready")
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
        reports.push_back(w->line(duration + patience_));
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
