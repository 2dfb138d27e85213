// A flash sale in five acts. It oversells without a lock, and does not with a lock, even while servers fail.

#include "tools/redlock/args/early_exit.hpp"
#include "tools/demo/act.hpp"
#include "tools/demo/options.hpp"
#include "tools/demo/orders.hpp"
#include "tools/demo/progress.hpp"
#include "tools/demo/servers.hpp"
#include "tools/demo/signals.hpp"
#include "tools/demo/stores.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace redlock::demo;
using namespace std::chrono_literals;
using std::chrono::microseconds;
using std::chrono::milliseconds;

class flash_sale {
public:
    flash_sale(options const& o, progress& p)
        : options_(o),
          progress_(p),
          servers_(5, o.server),
          // With this time, one act takes about a second, whether few or many pieces are sold.
          database_time_(
              std::clamp<microseconds>(microseconds(400ms) / std::min<std::size_t>(o.stock, o.buyers), 1ms, 50ms))
    {
    }

    void play()
    {
        for (int number = 1; number <= 5; ++number) {
            if (options_.act == 0 || options_.act == number)
                play(number);
        }
        progress_.summary(results_);
    }

private:
    void play(int number)
    {
        switch (number) {
        case 1:
            return without_lock();
        case 2:
            return with_lock();
        case 3:
            return while_servers_fail();
        case 4:
            return with_a_stopped_holder();
        case 5:
            results_.push_back(book_orders(progress_, servers_));
        }
    }

    void without_lock()
    {
        progress_.begin_act("Act 1: without a lock", fmt::format("{} buyers in two processes want {} hair dryers.",
                                                                 options_.buyers, options_.stock));
        act a(progress_, servers_, options_.stock);
        a.admit_in_two_processes(rush());
        a.open_doors();
        a.watch_to_the_end();

        auto const r = finish(a, "1 no lock", options_.buyers);
        if (static_cast<std::int64_t>(options_.buyers) > options_.stock)
            claim(r.oversold > 0, "it oversells: {} sold, but there were only {}", r.sold, r.delivered);
        else  // There is one for everybody, so only the books can go wrong.
            claim(r.sold + a.books().stock() > r.delivered,
                  "the books are wrong: {} sold, {} left, but there were only {}", r.sold, a.books().stock(),
                  r.delivered);
    }

    void with_lock()
    {
        progress_.begin_act("Act 2: with the lock",
                            "The same again, but each buyer holds the lock on \"stock:hair-dryer\".");
        act a(progress_, servers_, options_.stock);
        auto buyers = rush();
        buyers.nodes = servers_.urls();
        buyers.lock = {.ttl = 3s, .wait = 10s};
        a.admit_in_two_processes(buyers);
        a.open_doors();
        a.watch_to_the_end();

        auto const r = finish(a, "2 lock", options_.buyers);
        a.claim_that_books_are_right();
        claim(r.sold + r.sent_away == static_cast<std::int64_t>(options_.buyers),
              "every buyer was served or sent away: {} + {}", r.sold, r.sent_away);
    }

    void while_servers_fail()
    {
        progress_.begin_act("Act 3: with the lock, while servers fail",
                            "Buyers come again and again. A buyer who finds the stock gone orders more.");
        act a(progress_, servers_, options_.stock);
        crowd const buyers{.nodes = servers_.urls(),
                           .lock = {.ttl = 3s, .wait = 500ms},
                           .buyers = options_.buyers,
                           .arrival_interval = database_time_ * 3 / 2,  // the lock needs time to change hands
                           .database_time = database_time_,
                           .come_again = true,
                           .reorder = options_.stock};
        a.admit_in_two_processes(buyers);
        a.open_doors();
        a.sales(500ms);

        kill_two_servers(a);
        stop_a_third(a);
        bring_the_two_back(a);

        a.close_doors();
        a.watch_to_the_end();
        finish(a, "3 servers fail", options_.buyers);
        a.claim_that_books_are_right();
    }

    void kill_two_servers(act& a)
    {
        servers_.kill(0);
        servers_.kill(1);
        progress_.event("two of five servers were killed (SIGKILL)");
        auto const sold = a.sales(1200ms);
        claim(sold > 0, "sales go on with three of five: {} sold", sold);
    }

    void stop_a_third(act& a)
    {
        auto const& books = a.books();
        auto const errors_before = books.no_quorum.load();
        servers_.pause(2);
        progress_.event("a third server was stopped (SIGSTOP)");
        a.watch_for(300ms);  // a buyer that holds the lock already may finish
        auto const sold_before = books.sold();
        a.watch_for(1000ms);
        a.watch_until([&] { return books.no_quorum > errors_before; }, 10s);
        auto const errors = books.no_quorum - errors_before;
        auto const sold = books.sold() - sold_before;
        servers_.resume(2);
        claim(errors > 0, "two of five are no majority: the buyers got no_quorum {} times", errors);
        claim(sold == 0, "nothing is sold without a majority: {} sold", sold);

        progress_.event("the third server was resumed (SIGCONT)");
        auto const sold_after = a.sales(700ms);
        claim(sold_after > 0, "sales go on with a majority again: {} sold", sold_after);
    }

    void bring_the_two_back(act& a)
    {
        servers_.restart(0);
        servers_.restart(1);
        progress_.event("the two killed servers were started again, empty");
        auto const sold = a.sales(1200ms);
        claim(sold > 0, "sales go on with all five: {} sold", sold);
    }

    void with_a_stopped_holder()
    {
        progress_.begin_act("Act 4: a lock holder is stopped",
                            "Two buyers want the last hair dryer. The first has the lock, for one second at a time.");
        act a(progress_, servers_, 1);
        auto const& books = a.books();
        crowd const buyer{.nodes = servers_.urls(), .lock = {.ttl = 1s, .wait = 20s}, .database_time = 10ms};
        a.books().database_hangs = true;  // until the holder is stopped
        auto& holder = a.admit(buyer);
        a.open_doors();
        if (!a.watch_until([&] { return books.paying == 1; }, 20s))
            throw std::runtime_error("the first buyer does not get the lock");
        holder.pause();
        auto const stopped = std::chrono::steady_clock::now();
        a.books().database_hangs = false;
        progress_.event("the first buyer has read that one is left; then its process was stopped (SIGSTOP)");

        a.admit(buyer);
        bool const other_sold = a.watch_until([&] { return books.sold() == 1; }, 20s);
        auto const waited = std::chrono::steady_clock::now() - stopped;
        claim(other_sold, "the second buyer gets the lock when the first one's has expired, and buys: after {:.1f} s",
              std::chrono::duration<double>(waited).count());
        a.watch_for(500ms);
        progress_.event("the first buyer was resumed (SIGCONT), and still believes that one is left");
        holder.resume();
        a.watch_to_the_end();

        auto const r = finish(a, "4 holder stops", 2);
        claim(books.lost > 0 && r.sold == 1 && r.sent_away == 1,
              "the first buyer notices that it has lost the lock before it sells, and is sent away");
        a.claim_that_books_are_right();
    }

    /// All buyers come at nearly the same time: each comes while earlier buyers are still paying.
    crowd rush() const
    {
        auto const interval = std::min<microseconds>(database_time_ / 4, microseconds(2s) / options_.buyers);
        return {.buyers = options_.buyers, .arrival_interval = interval, .database_time = database_time_};
    }

    act_result finish(act& a, std::string name, std::size_t buyers)
    {
        results_.push_back(a.result(std::move(name), buyers));
        return results_.back();
    }

    template <class... Args>
    void claim(bool held, fmt::format_string<Args...> text, Args&&... args)
    {
        progress_.claim(held, fmt::format(text, std::forward<Args>(args)...));
    }

    options const& options_;
    progress& progress_;
    servers servers_;
    microseconds const database_time_;
    std::vector<act_result> results_;
};

/// Joins the lines of @p text; a message may have a log below its first line.
std::string one_line(std::string text)
{
    while (!text.empty() && text.back() == '\n')
        text.pop_back();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

int run(options const& o)
{
    progress p;
    // When an exception arrives here, destructors have ended all processes and deleted all folders.
    auto const stop = [&p](std::string const& why) {
        try {
            p.erase();
        } catch (std::exception const&) {  // the output cannot be written
        }
        fmt::print(stderr, "redlock_demo: {}\n", one_line(why));
    };
    try {
        o.stores ? play_stores(p, o) : flash_sale(o, p).play();
        return p.failed_claims() == 0 ? 0 : 1;
    } catch (interrupted const& i) {
        stop("interrupted");
        return 128 + i.signal;
    } catch (std::exception const& e) {
        stop(e.what());
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv)
{
    try {
        auto const o = parse({argv + 1, argv + argc});
        hold_back_signals();
        return run(o);
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    }
}
