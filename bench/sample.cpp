#include "sample.hpp"

#include <algorithm>
#include <functional>

namespace redlock::bench {

namespace {

using figure_of = std::function<double(round const&)>;

std::vector<double> each(std::vector<round> const& rounds, figure_of const& f)
{
    std::vector<double> values;
    for (auto const& r : rounds)
        values.push_back(f(r));
    return values;
}

double median_of(std::vector<round> const& rounds, figure_of const& f) { return median(each(rounds, f)); }

percentiles medians(std::vector<round> const& rounds, std::function<histogram const&(round const&)> const& of)
{
    auto const one = [&](double percentiles::*member) {
        return median_of(rounds, [&](round const& r) { return of(r).summary().*member; });
    };
    return {one(&percentiles::p50),  one(&percentiles::p90), one(&percentiles::p99),
            one(&percentiles::p999), one(&percentiles::max), one(&percentiles::mean)};
}

double spread(std::vector<double> const& values)
{
    auto const [low, high] = std::minmax_element(values.begin(), values.end());
    auto const middle = median(values);
    return middle > 0 ? (*high - *low) / middle : 0;
}

void compare_with_floor(result& to, std::vector<round> const& rounds)
{
    auto const ratio = [](round const& r) { return r.floor.rate() > 0 ? r.library.rate() / r.floor.rate() : 0; };
    to.floor_cycles_per_second = median_of(rounds, [](auto& r) { return r.floor.rate(); });
    to.ratio_to_floor = median_of(rounds, ratio);
    to.spread = spread(each(rounds, ratio));
    to.floor_cpu_us_per_cycle =
        median_of(rounds, [](auto& r) { return r.floor.each(r.floor.client_cpu_seconds * 1e6); });
    to.floor_cycle_us = medians(rounds, [](auto& r) -> auto& { return r.floor.cycle; });
    histogram all;
    for (auto const& r : rounds)
        all.add(r.floor.cycle);
    to.floor_curve = all.curve();
}

}  // namespace

double median(std::vector<double> values)
{
    if (values.empty())
        return 0;
    std::sort(values.begin(), values.end());
    auto const middle = values.size() / 2;
    return values.size() % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

result summarise(std::vector<round> const& rounds, bool has_floor)
{
    result to;
    auto const per_cycle = [&](auto member, double factor) {
        return median_of(
            rounds, [&](round const& r) { return r.library.each(static_cast<double>(r.library.*member) * factor); });
    };
    to.cycles_per_second = median_of(rounds, [](auto& r) { return r.library.rate(); });
    to.spread = spread(each(rounds, [](auto& r) { return r.library.rate(); }));
    to.client_cpu_us_per_cycle = per_cycle(&sample::client_cpu_seconds, 1e6);
    to.server_cpu_us_per_cycle = per_cycle(&sample::server_cpu_seconds, 1e6);
    to.allocations_per_cycle = per_cycle(&sample::allocations, 1);
    to.bytes_per_cycle = per_cycle(&sample::bytes, 1);
    to.commands_per_cycle = per_cycle(&sample::commands, 1);
    to.writes_per_cycle = per_cycle(&sample::writes, 1);
    to.acquire_us = medians(rounds, [](auto& r) -> auto& { return r.library.acquire; });
    to.cycle_us = medians(rounds, [](auto& r) -> auto& { return r.library.cycle; });
    to.wait_us = medians(rounds, [](auto& r) -> auto& { return r.library.wait; });
    to.rounds = rounds.size();
    histogram all;
    std::map<std::string, std::vector<double>> more;
    for (auto const& r : rounds) {
        all.add(r.library.cycle);
        for (auto const& [what, count] : r.library.failures)
            to.failures[what] += count;
        to.violations += r.library.violations;
        to.disturbed += r.disturbed;
        to.peak_heap_bytes = std::max(to.peak_heap_bytes, r.library.peak_heap_bytes);
        for (auto const& [name, value] : r.more)
            more[name].push_back(value);
    }
    to.curve = all.curve();
    for (auto& [name, values] : more)
        to.more[name] = median(std::move(values));
    if (has_floor)
        compare_with_floor(to, rounds);
    return to;
}

}  // namespace redlock::bench
