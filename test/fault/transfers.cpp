#include "fault/transfers.hpp"

#include "fault/bank.hpp"
#include "fault/faults.hpp"
#include "fault/report.hpp"
#include "fault/system_under_test.hpp"
#include "fault/worker.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/interprocess/anonymous_shared_memory.hpp>
#include <boost/interprocess/mapped_region.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;

namespace {

using kind = bank::request::kind;
using std::chrono::microseconds;

/// Moves money and adds it up. It is naive on purpose: once it has the lock, it never checks it again. Only the bank
/// can stop it.
class teller {
public:
    teller(lock_manager& locks, shared_transfers& s, int to_bank, std::uint64_t seed, bool audit)
        : locks_(locks), shared_(s), to_bank_(to_bank), random_(seed), audit_(audit)
    {
    }

    asio::awaitable<void> work(bool locked)
    {
        while (!shared_.stop) {
            bool const adding_up = any(audit_ ? 2 : 16) == 0;
            accounts_ = choose(adding_up ? bank::size : any(4) == 0 ? 3 + any(3) : 2);
            lock held;
            if (locked) {
                error_code ec;
                std::tie(ec, held) =
                    co_await locks_.async_acquire(names(), options(adding_up), asio::as_tuple(asio::use_awaitable));
                if (ec) {
                    ++shared_.refused;
                    continue;
                }
            }
            token_ = locked ? held.fencing_token() : 0;
            bool const accepted = adding_up ? co_await add_up(held) : co_await transfer();
            shared_.refused_inside += !accepted && held.held();
            if (locked)
                co_await held.async_release(asio::as_tuple(asio::use_awaitable));
        }
    }

private:
    std::size_t any(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

    // The first account gives money to each of the others. @return false: the bank has refused, and will undo the
    // writes
    asio::awaitable<bool> transfer()
    {
        if (!ask_for(kind::enter_as_writer, all()).accepted)
            co_return false;
        std::vector<std::int64_t> balances;
        if (!co_await read(balances, 3ms))
            co_return false;
        auto const most = static_cast<std::size_t>(balances[0]) / (accounts_.size() - 1);
        for (std::size_t i = 1; i < accounts_.size(); ++i) {
            auto const amount = static_cast<std::int64_t>(any(most + 1));
            balances[0] -= amount;
            balances[i] += amount;
        }
        for (std::size_t i = 0; i < accounts_.size(); ++i) {
            co_await pause(any(64) == 0 ? 2 * short_ttl : 3ms);
            if (!ask_for(kind::write, one(i), balances[i]).accepted)
                co_return false;
        }
        bool const committed = ask_for(kind::commit, all()).accepted;
        shared_.done += committed;
        co_return committed;
    }

    asio::awaitable<bool> add_up(lock const& held)
    {
        if (!ask_for(audit_ ? kind::enter_as_reader : kind::enter_as_writer, all()).accepted)
            co_return false;
        auto const number = ++shared_.begun;
        std::vector<std::int64_t> balances;
        if (!co_await read(balances, 500us))
            co_return false;
        shared_.beside += shared_.begun != number && held.held();
        ++(std::reduce(balances.begin(), balances.end()) == bank::total ? shared_.right : shared_.wrong);
        co_return true;
    }

    asio::awaitable<bool> read(std::vector<std::int64_t>& balances, microseconds longest_pause)
    {
        for (std::size_t i = 0; i < accounts_.size(); ++i) {
            auto const a = ask_for(kind::read, one(i));
            if (!a.accepted)
                co_return false;
            balances.push_back(a.balance);
            // The long pause is long enough for a late writer to go on.
            co_await pause(audit_ && any(128) == 0 ? 2 * short_ttl : longest_pause);
        }
        co_return true;
    }

    asio::awaitable<void> pause(microseconds longest)
    {
        asio::steady_timer timer(co_await asio::this_coro::executor,
                                 microseconds(any(static_cast<std::size_t>(longest.count()))));
        co_await timer.async_wait(asio::as_tuple(asio::use_awaitable));
    }

    bank::answer ask_for(kind what, bank::accounts const& of, std::int64_t balance = 0) const
    {
        return ask<bank::answer>(to_bank_, bank::request{.what = what, .token = token_, .of = of, .balance = balance});
    }

    std::vector<std::size_t> choose(std::size_t count)
    {
        std::vector<std::size_t> numbers(bank::size);
        std::iota(numbers.begin(), numbers.end(), 0);
        std::shuffle(numbers.begin(), numbers.end(), random_);
        numbers.resize(count);
        return numbers;
    }

    resource_set names() const
    {
        if (audit_)
            return "ledger";
        std::vector<std::string> texts;
        for (auto const a : accounts_)
            texts.push_back(fmt::format("account/{}", a));
        return texts;
    }

    bank::accounts one(std::size_t i) const { return bank::accounts().set(accounts_[i]); }

    bank::accounts all() const
    {
        bank::accounts set;
        for (auto const a : accounts_)
            set.set(a);
        return set;
    }

    acquire_options options(bool adding_up)
    {
        return {.ttl = short_ttl,
                .wait = 5s,
                .renew = any(2) ? renewal::automatic : renewal::none,
                .mode = audit_ && adding_up ? mode::shared : mode::exclusive};
    }

    lock_manager& locks_;
    shared_transfers& shared_;
    int const to_bank_;
    std::mt19937_64 random_;
    bool const audit_;
    std::vector<std::size_t> accounts_;  // of the current transfer
    std::uint64_t token_ = 0;
};

// Waits for the next sum. The limit of a minute is for slow machines.
void wait_for_another_sum(shared_transfers const& s, bool beside)
{
    auto const sums = [&] { return beside ? s.beside.load() : s.right + s.wrong; };
    auto const before = sums();
    auto const deadline = std::chrono::steady_clock::now() + 60s;
    while (sums() == before && std::chrono::steady_clock::now() < deadline)
        std::this_thread::sleep_for(10ms);
}

}  // namespace

int soak_transfers(soak_options const& o)
{
    auto const memory = boost::interprocess::anonymous_shared_memory(sizeof(shared_transfers));
    auto& shared = *new (memory.get_address()) shared_transfers{};
    system_under_test system(o);
    faults f(system);
    bank b(!o.without_lock);
    auto const work = [&](std::vector<std::string> const& nodes, int to_bank, std::uint64_t seed) {
        manager_options const settings{.nodes = nodes, .node_timeout = 100ms, .max_ttl = quarantine, .fencing = true};
        return run_three(settings, [&](lock_manager& locks, std::uint8_t i) -> asio::awaitable<void> {
            teller t(locks, shared, to_bank, seed * 16 + i, o.audit);
            co_await t.work(!o.without_lock);
        });
    };
    system.start_clients(work, &b.requests());
    if (o.without_lock)
        std::this_thread::sleep_for(std::chrono::seconds(o.seconds));
    else
        f.strike(std::chrono::seconds(o.seconds), [&] { return fmt::format("{} transfers", shared.done.load()); });
    wait_for_another_sum(shared, o.audit && !o.without_lock);  // all faults are repaired
    shared.stop = true;
    auto const failed = system.end_clients();
    return report_transfers(system, f, shared, failed, b.stop());
}

}  // namespace redlock::test
