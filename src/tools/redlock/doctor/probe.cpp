#include "tools/redlock/doctor/gather.hpp"

#include "core/key.hpp"
#include "runtime/as_result.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <utility>

namespace redlock::cli::doctor {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr auto probe_ttl = 5s, wait_max = 10s;
constexpr auto further_attempts = 1s;

resource_set several(demands const& d)
{
    return resource_set(std::vector<std::string>{d.probe + ":1", d.probe + ":2"});
}

// Records a failed step. The error of the node has priority over the outcome of the operation, because it is more
// exact.
void fail(probe_facts& p, std::string step, attempt_report const& r)
{
    p.failed_at = std::move(step);
    p.error = r.outcome;
    p.message = r.message;
    p.is_taken = r.outcome == errc::contended;
    if (!r.nodes.empty() && r.nodes.front().error) {
        p.error = r.nodes.front().error;
        p.message = r.nodes.front().message.empty() ? p.error.message() : r.nodes.front().message;
    }
}

// @return an empty lock if the acquisition has failed
asio::awaitable<lock> acquire(lock_manager& locks, resource_set names, acquire_options options, probe_facts& p,
                              std::string step)
{
    options.ttl = probe_ttl;
    options.explain = true;
    auto [ec, held] = co_await locks.async_acquire(std::move(names), options, runtime::as_result);
    if (ec)
        fail(p, std::move(step), *held.report());
    else
        p.done.push_back(std::move(step));
    co_return std::move(held);
}

bool took(probe_facts& p, error_code ec, std::string step)
{
    if (!ec)
        p.done.push_back(std::move(step));
    else {
        p.failed_at = std::move(step);
        p.error = ec;
        p.message = ec.message();
    }
    return !ec;
}

// Releases @p held after @p other was denied twice. A waiter uses the commands for waiting only from its second request
// on, and the probe must test them.
asio::awaitable<error_code> release_for(lock_manager& other, lock& held)
{
    asio::steady_timer timer(co_await asio::this_coro::executor);
    auto const end = clock::now() + probe_ttl / 2;
    auto const has_asked = [&] {
        auto const n = other.stats().nodes.front();
        return n.denied >= 2 || n.unknown > 0;
    };
    while (!has_asked() && clock::now() < end) {
        timer.expires_after(5ms);
        co_await timer.async_wait(runtime::as_result);
    }
    auto [ec] = co_await held.async_release(runtime::as_result);
    co_return ec;
}

asio::awaitable<void> try_alone(lock_manager& ours, lock_manager& theirs, demands const& d, probe_facts& p)
{
    auto first = co_await acquire(ours, d.probe, {}, p, "acquired");
    if (!first && p.is_taken) {  // perhaps by another doctor
        p = {};
        first = co_await acquire(ours, d.probe, {.wait = wait_max}, p, "acquired");
    }
    if (!first)
        co_return;
    auto [not_extended] = co_await first.async_extend(probe_ttl, runtime::as_result);
    if (!took(p, not_extended, "extended"))
        co_return;
    auto const token = first.fencing_token();
    auto [second, not_released] =
        co_await (acquire(theirs, d.probe, {.wait = wait_max}, p, "waited for") && release_for(theirs, first));
    if (!second)
        co_return;
    if (d.used.fencing
        && !took(p, token > 0 && second.fencing_token() > token ? error_code() : errc::unsupported, "fenced"))
        co_return;
    auto [also_not] = co_await second.async_release(runtime::as_result);
    took(p, not_released ? not_released : also_not, "released");
}

asio::awaitable<void> try_together(lock_manager& ours, lock_manager& theirs, demands const& d, probe_facts& p)
{
    auto first = co_await acquire(ours, d.probe, {.wait = wait_max, .mode = mode::shared}, p, "shared");
    if (!first)
        co_return;
    p.done.pop_back();
    auto second = co_await acquire(theirs, d.probe, {.mode = mode::shared}, p, "shared");
    for (auto* l : {&first, &second}) {
        if (!*l)
            continue;
        auto [ec] = co_await l->async_release(runtime::as_result);
        if (ec && p.failed_at.empty())
            took(p, ec, "released by its readers");
    }
}

asio::awaitable<void> try_several(lock_manager& ours, demands const& d, probe_facts& p)
{
    auto held = co_await acquire(ours, several(d), {.wait = wait_max}, p, "acquired together with another lock");
    if (!held)
        co_return;
    if (auto [ec] = co_await held.async_release(runtime::as_result); ec)
        took(p, ec, "released together with another lock");
}

asio::awaitable<void> try_all(lock_manager& ours, lock_manager& theirs, demands const& d, probe_facts& p)
{
    co_await try_alone(ours, theirs, d, p);
    if (d.used.shared && p.failed_at.empty())
        co_await try_together(ours, theirs, d, p);
    if (d.used.sets && p.failed_at.empty())
        co_await try_several(ours, d, p);
}

}  // namespace

asio::awaitable<probe_facts> probe(std::string url, redlock::manager_options c, demands d)
{
    c.nodes.assign(1, url);
    c.fencing = d.used.fencing;
    // Other checks report these problems, so they must not stop the node from voting here.
    c.restart_guard = restart_guard::off;
    c.allow_eviction = true;
    c.record = false;
    c.node_timeout = std::max<std::chrono::milliseconds>(c.node_timeout, 1s);
    c.max_ttl = std::max<std::chrono::milliseconds>(c.max_ttl, probe_ttl);
    auto const executor = co_await asio::this_coro::executor;
    probe_facts p;
    lock_manager ours(executor, c), theirs(executor, c);
    co_await try_all(ours, theirs, d, p);
    co_await ours.async_shutdown(runtime::as_result);
    co_await theirs.async_shutdown(runtime::as_result);
    co_return p;
}

asio::awaitable<std::vector<vote_facts>> ask_for_votes(redlock::manager_options c, demands d)
{
    c.fencing = d.used.fencing;
    auto const executor = co_await asio::this_coro::executor;
    lock_manager all(executor, c);
    co_await all.async_inspect(d.probe, runtime::as_result);  // makes the manager connect to every node
    asio::steady_timer timer(executor);
    auto const is_known = [](node_stats const& n) { return n.connected || n.last_error; };
    auto const end = clock::now() + c.connect_timeout + c.node_timeout;
    while (!std::ranges::all_of(all.stats().nodes, is_known) && clock::now() < end) {
        timer.expires_after(5ms);
        co_await timer.async_wait(runtime::as_result);
    }
    // Further attempts show whether the server ends each connection at HELLO.
    auto const is_away = [](node_stats const& n) { return !n.connected && n.last_error == errc::node_unreachable; };
    auto const further = clock::now() + further_attempts;
    while (std::ranges::any_of(all.stats().nodes, is_away) && clock::now() < further) {
        timer.expires_after(50ms);
        co_await timer.async_wait(runtime::as_result);
        co_await all.async_inspect(d.probe, runtime::as_result);
    }
    std::vector<vote_facts> votes;
    for (auto const& n : all.stats().nodes)
        votes.push_back({.is_connected = n.connected,
                         .quarantine = n.quarantine,
                         .reason = n.reason,
                         .error = n.connected ? error_code() : n.last_error,
                         .message = n.last_message.empty() && n.last_error ? n.last_error.message() : n.last_message});
    co_await all.async_shutdown(runtime::as_result);
    auto const is_new = [](vote_facts const& v) {
        return v.quarantine.count() > 0 && v.reason == quarantine_reason::fresh;
    };
    if (c.restart_guard == restart_guard::automatic && std::ranges::all_of(votes, is_new)) {
        for (auto& v : votes) {
            v.is_to_be_founded = true;
            v.quarantine = 0ms;
        }
    }
    co_return votes;
}

asio::awaitable<waits> ask_for_waits(redlock::manager_options c, demands d)
{
    c.read_only = true;
    c.restart_guard = restart_guard::off;
    c.record = false;
    c.node_timeout = std::max<std::chrono::milliseconds>(c.node_timeout, 1s);
    c.max_ttl = std::max<std::chrono::milliseconds>(c.max_ttl, probe_ttl);
    lock_manager all(co_await asio::this_coro::executor, c);
    auto seen = co_await read_waits(all, "*", "doctor", d.keys_max);
    co_await all.async_shutdown(runtime::as_result);
    co_return seen;
}

std::vector<std::vector<std::string>> delete_counters(demands const& d)
{
    std::vector<std::vector<std::string>> commands;
    if (!d.used.fencing || !d.probe.starts_with(demands().probe))
        return commands;
    for (auto const* end : {"", ":1", ":2"})
        commands.push_back({"DEL", core::fence_key(d.prefix + d.probe + end)});
    return commands;
}

}  // namespace redlock::cli::doctor
