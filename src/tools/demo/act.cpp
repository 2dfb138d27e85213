#include "tools/demo/act.hpp"

#include "tools/demo/signals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace redlock::demo {

using namespace std::chrono_literals;

act::act(progress& p, servers& s, std::int64_t first_delivery, std::size_t kinds)
    : progress_(p), servers_(s), shop_(build_shop(first_delivery, kinds))
{
}

testbed::process& act::admit(crowd const& c)
{
    auto const buy = [this, &c] {
        run_buyers(*shop_, c);
        return 0;
    };
    return processes_.emplace_back(buy, testbed::process_options{.name = "\nredlock_demo: in a process of buyers"});
}

void act::admit_in_two_processes(crowd c)
{
    auto const interval = c.arrival_interval;
    auto const all = c.buyers;
    c.arrival_interval = 2 * interval;
    c.buyers = all - all / 2;
    admit(c);
    c.first_arrival = interval;
    c.buyers = all / 2;
    admit(c);
}

void act::open_doors()
{
    auto const everybody = static_cast<std::int64_t>(processes_.size());
    if (!watch_until([&] { return shop_->ready == everybody; }, 30s))
        throw std::runtime_error("the buyers' processes do not get ready");
    opened_ = steady::now();
    shop_->open = true;
}

void act::close_doors() { shop_->closed = true; }

bool act::watch_until(std::function<bool()> const& condition, std::chrono::milliseconds limit)
{
    auto const deadline = steady::now() + limit;
    while (!condition()) {
        if (steady::now() >= deadline)
            return false;
        all_ended();  // throws if a process has failed
        progress_.show(*shop_, servers_.states());
        sleep_unless_interrupted(5ms);
    }
    return true;
}

void act::watch_for(std::chrono::milliseconds duration)
{
    watch_until([] { return false; }, duration);
}

std::int64_t act::sales(std::chrono::milliseconds duration)
{
    watch_for(300ms);
    auto const before = shop_->sold();
    watch_for(duration);
    watch_until([&] { return shop_->sold() > before; }, 10s);
    return shop_->sold() - before;
}

void act::watch_to_the_end()
{
    for (std::int64_t before = -1;;) {
        auto const happened = shop_->sold() + shop_->sent_away + shop_->no_quorum + shop_->contended;
        if (happened == before)
            throw std::runtime_error("the sale stands still");
        before = happened;
        if (watch_until([this] { return all_ended(); }, 30s))
            break;
    }
    ended_ = steady::now();
}

void act::claim_that_books_are_right()
{
    auto const& items = shop_->items;
    bool const none_oversold = std::all_of(items.begin(), items.end(), [](auto& i) { return i.sold <= i.delivered; });
    bool const right = std::all_of(items.begin(), items.end(), [](auto& i) { return i.sold + i.stock == i.delivered; });
    progress_.claim(none_oversold,
                    fmt::format("nothing is oversold: {} sold of {}", shop_->sold(), shop_->delivered()));
    auto const of_all = shop_->kinds > 1 ? fmt::format(" of all {} items", shop_->kinds) : "";
    progress_.claim(right, fmt::format("the books{} are right: {} left", of_all, shop_->stock()));
}

act_result act::result(std::string name, std::size_t buyers) const
{
    auto const sold = shop_->sold();
    auto const delivered = shop_->delivered();
    return {.name = std::move(name),
            .buyers = buyers,
            .delivered = delivered,
            .sold = sold,
            .oversold = std::max<std::int64_t>(sold - delivered, 0),
            .sent_away = shop_->sent_away,
            .no_quorum = shop_->no_quorum,
            .seconds = std::chrono::duration<double>(ended_ - opened_).count()};
}

bool act::all_ended()
{
    std::size_t running = 0;
    for (auto& p : processes_) {
        auto const end = p.ended();
        if (end && end->status != 0)
            throw std::runtime_error("a process of buyers " + end->in_words());
        running += !end;
    }
    return running == 0;
}

}  // namespace redlock::demo
