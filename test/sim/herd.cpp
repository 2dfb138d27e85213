#include "sim/herd.hpp"

#include "sim/process.hpp"
#include "sim/server.hpp"
#include "sim/world.hpp"
#include "support/stated.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <utility>
#include <vector>

namespace redlock::sim {

namespace {

/// The messages of one hand-over. For averages they are fractions.
struct traffic {
    double notifications = 0, requests = 0;
};

/// The hand-overs of which the average is taken. Meanwhile the number of waiters changes little.
int counted(int waiters) { return std::min(waiters / 2, 10); }

// The recipes for ZooKeeper: each client has a numbered node in one folder, and the lowest number has the lock.

/// A folder of ZooKeeper. A watch is for one notification.
class folder {
public:
    using watch = std::function<void()>;

    void create(int number) { nodes_.insert(number); }
    bool has(int number) const { return nodes_.contains(number); }

    void remove(int number)
    {
        ++counts.requests;
        nodes_.erase(number);
        notify(std::exchange(of_children_, {}));
        notify(std::exchange(of_node_[number], {}));
    }

    /// getChildren; @p changed may be empty.
    std::set<int> const& children(watch changed)
    {
        ++counts.requests;
        if (changed)
            of_children_.push_back(std::move(changed));
        return nodes_;
    }

    /// exists, with a watch. @return whether the node is there
    bool exists(int number, watch gone)
    {
        ++counts.requests;
        if (nodes_.contains(number))
            of_node_[number].push_back(std::move(gone));
        return nodes_.contains(number);
    }

    /// The holder deletes its node, and all clients handle their notifications.
    void hand_over()
    {
        remove(std::exchange(holder, -1));
        for (; !due_.empty(); due_.pop_front())
            due_.front()();
    }

    int holder = 0;
    traffic counts;

private:
    void notify(std::vector<watch> watches)
    {
        for (auto& w : watches) {
            ++counts.notifications;
            due_.push_back(std::move(w));
        }
    }

    std::set<int> nodes_;
    std::vector<watch> of_children_;
    std::map<int, std::vector<watch>> of_node_;
    std::deque<watch> due_;
};

/// Each client reads all numbers whenever one has changed.
void watch_all(folder& f, int own)
{
    auto const changed = [&f, own] {
        if (f.has(own))  // otherwise it is the end of its own node
            watch_all(f, own);
    };
    if (*f.children(changed).begin() == own)
        f.holder = own;
}

/// Each client watches the number before its own.
void watch_one_before(folder& f, int own)
{
    auto const& all = f.children({});
    if (*all.begin() == own)
        f.holder = own;
    else if (!f.exists(*std::prev(all.find(own)), [&f, own] { watch_one_before(f, own); }))
        watch_one_before(f, own);
}

/// Client 0 has the lock. The others ask before the count begins.
traffic play(int waiters, void (*ask)(folder&, int))
{
    folder f;
    for (int i = 0; i <= waiters; ++i)
        f.create(i);
    for (int i = 1; i <= waiters; ++i)
        ask(f, i);
    f.counts = {};
    for (int i = 0; i < counted(waiters); ++i)
        f.hand_over();
    return {f.counts.notifications / counted(waiters), f.counts.requests / counted(waiters)};
}

// This library.

constexpr profile calm{.name = "calm", .about = "a fast network and no faults"};
constexpr auto time_to_found = 20s, time_to_ask = 10s;

/// Some processes with a manager each. The first one has the lock, and the others wait for it.
class crowd {
public:
    explicit crowd(int waiters)
        : handovers_(counted(waiters)),
          scenario_{.make_server = [](auto& w, auto i, double rate) { return std::make_unique<server>(w, i, rate); },
                    .program =
                        [this](process& p) {
                            asio::co_spawn(p.executor(), run(p), [](std::exception_ptr e) {
                                if (e)
                                    std::rethrow_exception(e);
                            });
                            return std::shared_ptr<void>();
                        },
                    .processes = static_cast<std::size_t>(waiters) + 1},
          world_(calm, 1, false, &scenario_)
    {
    }

    traffic count()
    {
        auto const& s = *world_.servers.front();
        for (auto& p : world_.processes)
            p->run();
        world_.run_until(world_.now + time_to_found + time_to_ask);
        auto const pushes = s.pushes, commands = s.commands;
        is_first_done_ = true;
        while (done_ <= handovers_)
            world_.run_until(world_.now + 1ms);
        auto const of_each = [&](std::uint64_t n) { return static_cast<double>(n) / handovers_; };
        return {of_each(s.pushes - pushes), of_each(s.commands - commands)};
    }

private:
    static constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

    asio::awaitable<void> run(process& p)
    {
        p.begin_manager();
        auto const is_first = p.index() == 0;
        if (!is_first)
            co_await sleep(p, time_to_found + std::chrono::milliseconds(p.index()));
        auto [ec, held] = co_await p.locks().async_acquire(
            "stock", {.ttl = max_ttl, .wait = 1h, .renew = renewal::automatic}, as_result);
        while (is_first && !is_first_done_)
            co_await sleep(p, 1ms);
        co_await sleep(p, 10ms);
        co_await held.async_release(as_result);
        done_ += !ec;
    }

    static asio::awaitable<void> sleep(process& p, clock::duration d)
    {
        asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor> t(p.executor());
        t.expires_after(d);
        co_await t.async_wait(as_result);
    }

    int const handovers_;
    bool is_first_done_ = false;
    int done_ = 0;
    scenario const scenario_;
    world world_;
};

// Each process has three descriptors.
void raise_limit_of_files()
{
    rlimit l{};
    ::getrlimit(RLIMIT_NOFILE, &l);
    l.rlim_cur = l.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &l);
}

std::string row(std::string_view what, std::function<traffic(int waiters)> const& count)
{
    auto text = fmt::format("| {} |", what);
    for (int const waiters : {10, 100, 1000}) {
        auto const t = count(waiters);
        text += fmt::format(" {:.1f} + {:.1f} |", t.notifications, t.requests);
    }
    return text;
}

}  // namespace

int count_herds()
{
    raise_limit_of_files();
    std::string const rows[] = {
        row("ZooKeeper: `getChildren` by everybody on each change", [](int n) { return play(n, watch_all); }),
        row("ZooKeeper: a watch on the one before", [](int n) { return play(n, watch_one_before); }),
        row("ours on Redis, each waiter in a process of its own", [](int n) { return crowd(n).count(); }),
    };
    bool stated = true;
    fmt::print("| waiters | 10 | 100 | 1,000 |\n|---|---|---|---|\n");
    for (auto const& text : rows) {
        fmt::print("{}\n", text);
        stated = test::stated(text) && stated;
    }
    return stated ? 0 : 1;
}

}  // namespace redlock::sim
