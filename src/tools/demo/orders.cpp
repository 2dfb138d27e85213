#include "tools/demo/orders.hpp"

#include "tools/demo/act.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace redlock::demo {

namespace {

using namespace std::chrono_literals;
using orders = shop::orders;

constexpr std::size_t fewest = 3;
constexpr std::size_t most = 10;

std::span<orders const> of_each_size(shop const& s) { return std::span(s.by_size).subspan(fewest); }

std::vector<std::int64_t> sold_of_each_size(shop const& s)
{
    std::vector<std::int64_t> sold;
    for (auto const& o : of_each_size(s))
        sold.push_back(o.sold);
    return sold;
}

double longest_wait(std::span<orders const> some)
{
    std::int64_t longest = 0;
    for (auto const& o : some)
        longest = std::max(longest, o.longest_wait.load());
    return std::chrono::duration<double>(std::chrono::microseconds(longest)).count();
}

// Orders of all sizes come all the time. A size that starves is not booked, while the other sizes are.
void fail_two_servers(act& a, progress& p, servers& s)
{
    s.kill(0);
    s.pause(1);
    p.event("one of five servers was killed (SIGKILL), another stopped (SIGSTOP)");
    auto const before = sold_of_each_size(a.books());
    auto booked = before;
    auto const count = [&] {
        auto const now = sold_of_each_size(a.books());
        std::transform(now.begin(), now.end(), before.begin(), booked.begin(), std::minus());
        return std::count(booked.begin(), booked.end(), 0) == 0;
    };
    a.watch_for(2000ms);
    bool const of_all_sizes = a.watch_until(count, 60s);
    p.claim(of_all_sizes, fmt::format("orders of each size are booked, of 3 to 10 items: {}", fmt::join(booked, ", ")));
}

void claim_that_nothing_is_half_booked(shop const& s, progress& p)
{
    std::int64_t booked = 0, pieces = 0;
    for (std::size_t size = fewest; size <= most; ++size) {
        booked += s.by_size[size].sold;
        pieces += s.by_size[size].sold * static_cast<std::int64_t>(size);
    }
    p.claim(pieces == s.sold(),
            fmt::format("nothing is half-booked: {} orders of {} items, and {} are sold", booked, pieces, s.sold()));
}

// Without a lock, a line is wrong if a buyer sells between its two reads. The act waits until that has happened.
void claim_that_reports_add_up(act& a, progress& p)
{
    auto const& with = a.books().lines_under_lock;
    auto const& without = a.books().lines_without;
    a.watch_until([&] { return with.right + with.wrong > 0 && without.wrong > 0; }, 60s);
    p.claim(with.right > 0 && with.wrong == 0,
            fmt::format("every line of the reports under shared locks adds up: {} of {}", with.right.load(),
                        with.right + with.wrong));
    p.claim(without.wrong > 0,
            fmt::format("without a lock {} of {} do not", without.wrong.load(), without.right + without.wrong));
}

}  // namespace

act_result book_orders(progress& p, servers& s)
{
    p.begin_act("Act 5: orders of several items, while servers fail",
                "Each is for 3 to 10 of 20 items, and holds the lock on all of them. If one is gone,\n"
                "nothing is booked, and more of it is delivered. Meanwhile, reports read the books of\n"
                "one item after the other, first under a shared lock, then without a lock.");
    act a(p, s, 100, 20);
    auto const& books = a.books();
    crowd const customers{.nodes = s.urls(),
                          .lock = {.ttl = 10s, .wait = 60s},
                          .buyers = 24,
                          .database_time = 1ms,
                          .come_again = true,
                          .reorder = 100,
                          .accountants = 4,
                          .fewest_items = fewest,
                          .most_items = most};
    a.admit_in_two_processes(customers);
    a.open_doors();
    a.sales(500ms);
    fail_two_servers(a, p, s);
    s.restart(0);
    s.resume(1);
    p.event("the killed server was started again, empty; the stopped one was resumed");
    a.sales(700ms);
    claim_that_reports_add_up(a, p);
    a.close_doors();
    a.watch_to_the_end();

    auto const sizes = of_each_size(books);
    p.claim(books.contended == 0,
            fmt::format("no deadlock: the longest wait for 3 to 5 items was {:.2f} s, for 8 to 10 {:.2f} s",
                        longest_wait(sizes.first(3)), longest_wait(sizes.last(3))));
    claim_that_nothing_is_half_booked(books, p);
    a.claim_that_books_are_right();
    return a.result("5 orders", customers.buyers);
}

}  // namespace redlock::demo
