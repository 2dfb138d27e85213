// redlock serve with several instances, while clients and faults are drawn at random.
//
// REDLOCK_SEED=N draws as in an earlier run, although the order of what happens at the same time differs.

#include "cli/random_client.hpp"
#include "support/long_proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_random)

namespace {

std::uint64_t seed_of_run()
{
    auto const* const given = std::getenv("REDLOCK_SEED");
    return given ? std::stoull(given) : std::random_device()();
}

/// Instances at addresses that stay the same, on five nodes, their clients, and the faults.
class random_run {
public:
    random_run(std::size_t instances, std::uint64_t seed) : random_(seed)
    {
        for (std::size_t i = 0; i < instances; ++i) {
            world_.instances.emplace_back().path = fmt::format("{}/{}", folder_.path, i);
            services_.push_back(start(i));
        }
        for (int i = 0; i < 6; ++i)
            clients_.emplace_back(world_, i, random_(), i % 2 == 0);
        for (auto& c : clients_)
            threads_.emplace_back([&c] { c.work(); });
    }
    ~random_run() { world_.over = true; }

    void disturb(std::chrono::seconds length)
    {
        for (auto const end = clock::now() + length; clock::now() < end;) {
            carry_out(clock::now());
            disturb_once();
            std::this_thread::sleep_for(std::chrono::milliseconds(100 + below(1000)));
        }
        carry_out(clock::time_point::max());
    }

    /// Ends the clients, and waits for the events that are still due.
    void end_clients()
    {
        world_.over = true;
        threads_.clear();
        auto const are_there = [&] {
            std::scoped_lock const hold(world_.told.guard);
            return world_.told.without_event().empty();
        };
        comes_true(are_there);
        std::scoped_lock const hold(world_.told.guard);
        for (auto const* const l : world_.told.without_event())
            world_.told.fail(*l, "is not valid any more, and no event said so");
    }

    void end_instances()
    {
        clients_.clear();
        for (auto& s : services_)
            BOOST_TEST(s->tool().end_by(SIGTERM).status == 0);
    }

    /// The keys of locks that are on a node when the TTL of all is over.
    std::string keys_left()
    {
        std::this_thread::sleep_for(told_locks::ttl_max);
        std::string all;
        auto const none_left = [&] {
            all.clear();
            for (auto const& s : nodes_.servers) {
                for (auto const& name : world_.names) {
                    if (auto const key = "lock:" + name; s->ask({"EXISTS", key}) != "0")
                        all += fmt::format("{} on {} for {} ms\n", key, s->port(), s->ask({"PTTL", key}));
                }
            }
            return all.empty();
        };
        comes_true(none_left);
        return all;
    }

    told_locks& told() { return world_.told; }

private:
    unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }

    std::unique_ptr<service> start(std::size_t i)
    {
        return std::make_unique<service>(nodes_, std::vector<std::string>{"--node-timeout", "500ms"},
                                         "unix:" + world_.instance(i).path);
    }

    void count(long told_locks::counts::*what)
    {
        std::scoped_lock const hold(world_.told.guard);
        ++(world_.told.count.*what);
    }

    void later(std::chrono::milliseconds delay, std::function<void()> what)
    {
        later_.emplace(clock::now() + delay, std::move(what));
    }

    void carry_out(clock::time_point until)
    {
        while (!later_.empty() && later_.begin()->first <= until)
            later_.extract(later_.begin()).mapped()();
    }

    void disturb_once()
    {
        auto const i = below(static_cast<unsigned>(services_.size()));
        auto& process = services_[i]->tool().process();
        switch (below(10)) {
        case 0:
            count(&told_locks::counts::kills);
            process.signal(SIGKILL);
            return restart(i);
        case 1:
            count(&told_locks::counts::stops);
            process.resume();
            world_.instance(i).stopped_life = static_cast<int>(world_.instance(i).life);
            process.signal(SIGTERM);
            return restart(i);
        case 2:
        case 3:
        case 4:
            return pause(i);
        case 5:
        case 6:
            return pause_node();
        default:
            std::next(clients_.begin(), below(6))->cut(below(100), std::chrono::milliseconds(below(4000)));
        }
    }

    void pause(std::size_t i)
    {
        if (!paused_.insert(i).second)
            return;
        count(&told_locks::counts::hangs);
        services_[i]->tool().process().pause();
        later(std::chrono::milliseconds(below(2) == 0 ? below(1000) : 2000 + below(4000)), [this, i] {
            paused_.erase(i);
            services_[i]->tool().process().resume();
        });
    }

    void restart(std::size_t i)
    {
        auto const ended = services_[i]->tool().wait();
        BOOST_TEST((ended.status == 0 || ended.status == 128 + SIGKILL), ended.err);
        ++world_.instance(i).life;
        services_[i] = start(i);
    }

    // One node at a time, so that the others are a majority, whatever else is late.
    void pause_node()
    {
        if (std::exchange(a_node_is_paused_, true))
            return;
        count(&told_locks::counts::node_pauses);
        auto& node = nodes_[below(5)];
        node.pause();
        later(std::chrono::milliseconds(100 + below(3000)), [this, &node] {
            node.resume();
            a_node_is_paused_ = false;
        });
    }

    real_servers nodes_{5};
    testbed::temporary_folder folder_;
    random_world world_;
    std::mt19937_64 random_;
    std::vector<std::unique_ptr<service>> services_;
    std::list<random_client> clients_;
    std::multimap<clock::time_point, std::function<void()>> later_;
    std::set<std::size_t> paused_;  ///< instances
    bool a_node_is_paused_ = false;
    std::list<std::jthread> threads_;  ///< last, because the others must live until they have ended
};

void run(std::size_t instances)
{
    auto const seed = seed_of_run();
    BOOST_TEST_CONTEXT("REDLOCK_SEED=" << seed << ", " << instances << " instances") {
        random_run r(instances, seed);
        r.disturb(std::chrono::seconds(pick(10, 600)));
        r.end_clients();
        r.end_instances();
        auto const left = r.keys_left();
        BOOST_TEST(left == "");
        auto& told = r.told();
        std::scoped_lock const hold(told.guard);
        told.check_overlaps();
        told.check_events();
        for (auto const& f : told.failures)
            BOOST_ERROR(f);
        auto const& n = told.count;
        for (auto const seen : {n.acquired, n.extended, n.released, n.moved, n.broken, n.sessions})
            BOOST_TEST(seen >= pick(0, 100));
        BOOST_TEST(n.acquired > 0);
        BOOST_TEST_MESSAGE(fmt::format(
            "REDLOCK_SEED={}, {} instances: {} locks acquired, {} acquisitions repeated, {} extended, {} released, {} "
            "moved, {} broken, {} lost, {} times of work; {} sessions, {} opened again; {} cuts, {} kills, {} stops, "
            "{} hangs, {} pauses of a node; {} requests without an answer, {} answers 404 half a second or more before "
            "the end of the validity",
            seed, instances, n.acquired, n.repeated, n.extended, n.released, n.moved, n.broken, n.lost, told.spans(),
            n.sessions, n.reopened, n.cuts, n.kills, n.stops, n.hangs, n.node_pauses, n.unanswered,
            n.denied_while_valid));
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_on_two_instances_with_random_faults_excludes) { run(2); }

BOOST_AUTO_TEST_CASE(acquire_on_three_instances_with_random_faults_excludes) { run(3); }

BOOST_AUTO_TEST_SUITE_END()
