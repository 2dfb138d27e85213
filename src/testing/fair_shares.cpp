#include "fair_shares.hpp"

#include "node_client.hpp"

#include <redlock/lock_manager.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>

namespace redlock::inline v1::testing {

namespace {

constexpr auto no_throw = asio::as_tuple(asio::deferred);
constexpr std::size_t clients = 4, stretch = 100, locks_min = 6 * stretch, locks_max = 30 * stretch, run_max = 150;
constexpr int attempts = 3;

std::string in_words(clock::duration d)
{
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

struct shares {
    std::array<std::size_t, 2> of{};
    std::size_t longest_run = 0;                       ///< of one manager
    clock::duration fastest = clock::duration::max();  ///< of all runs of 100 locks, because the machine may be busy

    std::size_t all() const { return of[0] + of[1]; }
    bool are_fair() const { return 10 * std::min(of[0], of[1]) >= 4 * all(); }

    std::string words() const
    {
        return std::to_string(of[0]) + " and " + std::to_string(of[1]) + " locks, up to " + std::to_string(longest_run)
               + " in a row, a hundred in " + in_words(fastest);
    }
};

// Managers in one event loop. Like processes, they communicate only through their nodes.
class contenders {
public:
    explicit contenders(manager_options const& settings)
        : managers_{lock_manager(context_, settings), lock_manager(context_, settings)}
    {
    }

    ~contenders()
    {
        running_ = managers_.size();
        for (auto& m : managers_)
            m.async_shutdown([this](error_code) { --running_; });
        run_until_idle();
        context_.restart();
        context_.run_for(1s);  // until no work is left
    }

    /// All clients use the first manager.
    shares alone()
    {
        return run(1, [](auto&) { return true; });
    }

    /// The length of a turn and the next manager depend on chance. So this goes on until the shares are fair, for up to
    /// 3,000 locks.
    shares together(clock::duration longest)
    {
        return run(managers_.size(), [=](auto& s) { return s.are_fair() && s.fastest <= longest; });
    }

private:
    shares run(std::size_t managers, std::function<bool(shares const&)> is_enough)
    {
        now_ = {};
        is_enough_ = std::move(is_enough);
        is_over_ = false;
        name_ = "fair shares " + std::to_string(++names_);
        run_ = 0;
        begun_ = since_ = clock::now();
        running_ = clients;
        for (std::size_t i = 0; i < clients; ++i)
            asio::co_spawn(context_, want(i % managers), asio::detached);
        run_until_idle();
        if (now_.all() < locks_min)
            throw std::runtime_error("managers that want one lock get it too rarely: " + now_.words() + trouble_);
        return now_;
    }

    asio::awaitable<void> want(std::size_t who)
    {
        asio::steady_timer hold(context_);
        while (!is_over_) {
            acquire_options const o{.ttl = long_ttl, .wait = 4 * event_timeout};
            auto [ec, held] = co_await managers_[who].async_acquire(name_, o, no_throw);
            if (ec)
                trouble_ = ": " + ec.message();
            else if (!is_over_)
                note(who);
            hold.expires_after(1ms);
            co_await hold.async_wait(no_throw);
            co_await held.async_release(no_throw);
        }
        --running_;
    }

    void note(std::size_t who)
    {
        ++now_.of[who];
        run_ = who == last_ ? run_ + 1 : 1;
        last_ = who;
        now_.longest_run = std::max(now_.longest_run, run_);
        if (now_.all() % stretch != 0)
            return;
        now_.fastest = std::min(now_.fastest, clock::now() - std::exchange(since_, clock::now()));
        is_over_ = now_.all() >= locks_max || (now_.all() >= locks_min && is_enough_(now_));
    }

    void run_until_idle()
    {
        context_.restart();
        while (running_ > 0) {
            context_.run_one_for(10ms);
            is_over_ = is_over_ || clock::now() > begun_ + 3 * event_timeout;
        }
    }

    asio::io_context context_;
    std::array<lock_manager, 2> managers_;
    std::function<bool(shares const&)> is_enough_;
    std::string name_, trouble_;
    std::size_t names_ = 0, running_ = 0, last_ = 0, run_ = 0;
    bool is_over_ = false;
    clock::time_point begun_, since_;
    shares now_;
};

}  // namespace

void expect_fair_shares(manager_options const& settings)
{
    contenders managers(settings);
    for (int i = 1;; ++i) {
        auto const alone = managers.alone();
        auto const together = managers.together(2 * alone.fastest);
        if (together.are_fair() && together.longest_run <= run_max && together.fastest <= 2 * alone.fastest)
            return;
        if (i == attempts)
            throw std::runtime_error("two managers that want one lock do not share it: " + together.words()
                                     + ", and one alone in " + in_words(alone.fastest));
    }
}

}  // namespace redlock::testing
