// Processes add to one counter under the lock, on real servers, while servers, network and processes fail.
//
// The counter is plain memory that the processes share. A process reads it, waits, and writes it back. If two processes
// do so at once, an update is lost. An update is acknowledged if the process still holds the lock after the write. At
// the end, the counter must contain every acknowledged update.
//
// With --fencing, processes do not check their locks, and an arbiter keeps the counters: it accepts or refuses
// requests. With --transfers, processes lock several accounts at once, and the sum of all accounts must not change.
// With --audit, the processes that add up share a lock. Run it with --help.

#include "tools/redlock/args/early_exit.hpp"
#include "fault/arbiter.hpp"
#include "fault/faults.hpp"
#include "fault/moving.hpp"
#include "fault/options.hpp"
#include "fault/report.hpp"
#include "fault/rolling.hpp"
#include "fault/system_under_test.hpp"
#include "fault/transfers.hpp"
#include "fault/worker.hpp"

#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

namespace {

using namespace redlock::test;
using namespace std::chrono_literals;
using nodes = std::vector<std::string>;

class soak {
public:
    explicit soak(soak_options const& o) : options_(o), system_(o), faults_(system_) {}

    int run()
    {
        auto const add_until_stop = [this](nodes const& n, int, std::uint64_t seed) {
            return run_three({.nodes = n, .node_timeout = 100ms}, [=, this](auto& locks, std::uint8_t i) {
                return add(locks, *shared_, seed * 16 + i, !options_.without_lock);
            });
        };
        auto const failed = endure(std::chrono::seconds(options_.seconds), add_until_stop);
        return report_counter(system_, faults_, *shared_, failed);
    }

    // The part without fencing comes first. Then the servers are older than the quarantine in the part with fencing.
    int run_fencing()
    {
        int failed = 0;
        auto const half = [&](bool fenced) {
            arbiter judge(fenced);
            auto const add_until_stop = [=, this](nodes const& n, int to_arbiter, std::uint64_t seed) {
                redlock::manager_options const settings{
                    .nodes = n, .node_timeout = 100ms, .max_ttl = quarantine, .fencing = fenced};
                return run_three(settings, [=, this](auto& locks, std::uint8_t i) {
                    return add_naively(locks, *shared_, to_arbiter, i, seed * 16 + i);
                });
            };
            failed += endure(std::chrono::milliseconds(options_.seconds * 500), add_until_stop, &judge.requests());
            return judge.stop();
        };
        auto const without = half(false);
        auto const with = half(true);
        return report_fencing(options_, faults_, *shared_, failed, with, without);
    }

private:
    // @return how many processes failed
    int endure(std::chrono::milliseconds time, system_under_test::work const& work, request_loop* requests = nullptr)
    {
        shared_->stop = false;
        system_.start_clients(work, requests);
        faults_.strike(time, [this] { return fmt::format("{} updates", shared_->acknowledged.load()); });
        shared_->stop = true;
        return system_.end_clients();
    }

    soak_options const& options_;
    boost::interprocess::mapped_region const memory_ =
        boost::interprocess::anonymous_shared_memory(sizeof(shared_counter));
    shared_counter* const shared_ = new (memory_.get_address()) shared_counter{};
    system_under_test system_;
    faults faults_;
};

}  // namespace

int main(int argc, char** argv)
{
    try {
        auto const o = parse({argv + 1, argv + argc});
        if (o.rolling)
            return rolling_restart(std::max<std::size_t>(o.servers, 3));
        if (!o.moving.empty())
            return moving_set(o);
        if (o.transfers)
            return soak_transfers(o);
        return o.fencing ? soak(o).run_fencing() : soak(o).run();
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    } catch (std::exception const& e) {
        fmt::print(stderr, "redlock_soak: {}\n", e.what());
        return 1;
    }
}
