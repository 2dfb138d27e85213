// redlock doctor: checks the nodes, and prints the command that fixes each problem.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/doctor/gather.hpp"
#include "tools/redlock/doctor/metrics.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/output.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <stdexcept>
#include <utility>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

struct how_to_look {
    doctor::demands demands{};
    std::vector<std::string> skipped{};
    std::vector<std::pair<std::string, std::string>> labels{};  ///< the labels of all metrics
    milliseconds pause{0};                                      ///< between two looks; zero: look once
};

// The clock check compares two times of a server. With the time of the previous look, the interval is longer and the
// result more exact.
void remember_clocks(std::vector<doctor::node_facts>& now, std::vector<doctor::node_facts> const& before)
{
    for (std::size_t i = 0; i < std::min(now.size(), before.size()); ++i) {
        auto const& b = before[i];
        if (b.last_time && b.info.field("run_id") == now[i].info.field("run_id"))
            now[i].first_time = b.last_time;
    }
}

std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

asio::awaitable<int> examine(settings const& s, how_to_look how)
{
    int status = doctor::exit_status_of(doctor::level::unknown);
    std::vector<doctor::node_facts> before;
    asio::steady_timer timer(co_await asio::this_coro::executor);
    for (;;) {
        how.demands.now = now();
        auto facts = co_await doctor::gather_all(s.locks, how.demands);
        remember_clocks(facts, before);
        auto const found = doctor::diagnose(facts, how.demands, how.skipped);
        if (s.output == format::prometheus)
            print(doctor::to_prometheus(found, facts, {.skipped = how.skipped, .ended = now(), .labels = how.labels}));
        else
            doctor::print_report(found, facts.size(), s);
        status = doctor::exit_status_of(doctor::worst(found));
        if (how.pause == 0ms)
            co_return status;
        before = std::move(facts);
        timer.expires_after(how.pause);
        co_await timer.async_wait(asio::use_awaitable);
    }
}

// Catches an exception, because one that leaves an operand of || would be thrown only after the other operand ends.
asio::awaitable<int> keep_exception(asio::awaitable<int> looking, std::exception_ptr& thrown)
{
    try {
        co_return co_await std::move(looking);
    } catch (...) {
        thrown = std::current_exception();
    }
    co_return failed;
}

// Looks once, or repeatedly until a signal arrives.
asio::awaitable<int> look_until_told(settings const& s, how_to_look const& how)
{
    asio::signal_set ends(co_await asio::this_coro::executor, SIGINT, SIGTERM, SIGHUP);
    std::exception_ptr thrown;
    auto const end = co_await (keep_exception(examine(s, how), thrown) || ends.async_wait(runtime::as_result));
    if (end.index() == 1)
        co_return by_signal + std::get<1>(std::get<1>(end));
    if (thrown)
        std::rethrow_exception(thrown);
    co_return std::get<0>(end);
}

int run(settings const& s, how_to_look const& how)
{
    asio::io_context context(1);
    auto status = asio::co_spawn(context, look_until_told(s, how), asio::use_future);
    context.run();
    try {
        return status.get();
    } catch (std::invalid_argument const& e) {
        throw early_exit(wrong_configuration, std::string("redlock doctor: ") + e.what());
    }
}

// Adds the default value to a "--watch" without a value. No other option has an optional value.
void complete_watch(arguments& given)
{
    for (std::size_t i = 0; i < given.size(); ++i) {
        if (given[i] == "--watch" && (i + 1 == given.size() || given[i + 1].starts_with('-')))
            given[i] = "--watch=10s";
    }
}

void check_names(command_line const& line, std::vector<std::string> const& skipped)
{
    auto const names = doctor::names_of_checks();
    for (auto const& name : skipped) {
        if (std::ranges::find(names, name) == names.end())
            line.refuse(
                fmt::format("there is no check \"{}\"; there are {}", without_urls(name), fmt::join(names, ", ")));
    }
}

void read_labels(command_line const& line, std::vector<std::string> const& given, how_to_look& how)
{
    for (auto const& text : given) {
        auto label = doctor::label_of(text);
        if (label.first.empty())
            line.refuse(fmt::format(
                "--label is \"{}\", but must be like set=orders, with letters, digits and _ in the name, which must "
                "not be check, node, le or quantile",
                without_urls(text)));
        if (std::ranges::find(how.labels, label.first, [](auto const& l) { return l.first; }) != how.labels.end())
            line.refuse(fmt::format("there are two labels {}", label.first));
        how.labels.push_back(std::move(label));
    }
}

void check_format(command_line const& line, settings const& s, how_to_look const& how)
{
    bool const has_metrics = s.output == format::prometheus;
    if (has_metrics && how.pause > 0ms)
        line.refuse("-o prometheus prints one document, which a timer must repeat, so --watch is not possible with it");
    if (!has_metrics && !how.labels.empty())
        line.refuse("--label is for -o prometheus");
}

}  // namespace

int doctor_command(arguments given)
{
    command_line line("doctor",
                      "Check the servers and print the command that fixes each problem. It acquires a lock of its own, "
                      "and releases it.",
                      "Status: 0 OK, 1 WARN, 2 CRIT, 3 UNKNOWN; 64 usage; 78 configuration.");
    how_to_look how;
    auto& d = how.demands;
    line.add_ttl(d.ttl, "the ttl of your locks");
    d.used.add_to(line);
    line.add_duration("--watch", how.pause, 100ms, 24h,
                      "repeat the checks, with this pause between them; 10s without a value");
    line.add_option("--skip", how.skipped, "leave out these checks; more than once, leave out all of them")
        ->type_name("CHECK,…")
        ->delimiter(',')
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    line.add_flag("--strict", d.strict, "make a server release after its end of life a WARN, not a remark");
    line.add_number("--keys", d.keys_max, 1, 1'000'000'000, "look at this many keys of each server");
    line.add_text("--probe", "NAME", d.probe,
                  "the name of the lock that is tried (=doctor). If it does not begin with that, its counters of "
                  "fencing tokens stay");
    line.may_print_for_prometheus();
    std::vector<std::string> labels;
    line.add_option("--label", labels,
                    "with -o prometheus: a label of all metrics, once for each, such as set=orders if a machine has "
                    "several doctors")
        ->type_name("NAME=VALUE")
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
    complete_watch(given);
    auto const s = line.read(given);
    read_labels(line, labels, how);
    check_format(line, s, how);
    check_names(line, how.skipped);
    d.compares_clocks = std::ranges::find(how.skipped, "clock") == how.skipped.end();
    d.max_ttl = s.locks.max_ttl;
    d.node_timeout = s.locks.node_timeout;
    d.drift_factor = s.locks.drift_factor;
    d.restart_guard = s.locks.restart_guard;
    d.prefix = s.locks.prefix;
    d.call = doctor::read_call(line, s);
    return run(s, how);
}

}  // namespace redlock::cli
