// Plays every small world: up to three servers and two clients, in one round. The worlds differ in:
// - the order in which the servers carry out the requests, and the order of the answers;
// - answers that are late, that are lost with their connection, or that never come;
// - a cancellation after any number of answers;
// - an expiry before, at or after the attempt of the second client.
// The shipped code makes the decisions.

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/option_parser.hpp"
#include "stores/memory/lock_table.hpp"
#include "support/balance.hpp"
#include "support/stated.hpp"
#include "support/virtual_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace redlock;
using namespace redlock::test;

/// How one client's request to one server is delivered.
struct delivery {
    enum class kind : std::uint8_t { answered, late, broken, silent } what = kind::answered;
    std::uint8_t place = 0;  ///< of an answer, among those that come in time

    friend bool operator==(delivery, delivery) = default;
};

enum class start : std::uint8_t { together, before_expiry, after_expiry };
enum class winner_action : std::uint8_t { holds, extends, releases };

/// One world.
struct plan {
    std::size_t servers = 1;
    std::array<std::vector<delivery>, 2> deliveries;  ///< of each client's request to each server
    std::array<std::optional<unsigned>, 2> cancel;    ///< the number of answers before it
    unsigned second_first = 0;                        ///< bit i: at server i the second client's request comes first
    start second = start::together;
    winner_action winner = winner_action::holds;
    bool slow = false;  ///< the last answer comes when the validity is over

    std::string describe() const
    {
        std::string text = fmt::format("{} servers, {} answers, second client {}, the winner {}", servers,
                                       slow ? "slow" : "fast",
                                       second == start::together        ? "at once"
                                       : second == start::before_expiry ? "just before the expiry"
                                                                        : "just after the expiry",
                                       winner == winner_action::holds     ? "holds"
                                       : winner == winner_action::extends ? "extends"
                                                                          : "releases");
        for (std::size_t c = 0; c < 2; ++c) {
            text += fmt::format("; client {}:", c + 1);
            for (std::size_t i = 0; i < servers; ++i) {
                auto const f = deliveries[c][i];
                text += f.what == delivery::kind::answered ? fmt::format(" answer {}", f.place + 1)
                        : f.what == delivery::kind::late   ? " late"
                        : f.what == delivery::kind::broken ? " broken"
                                                           : " silent";
                if (c == 1 && (second_first >> i & 1))
                    text += " (first)";
            }
            if (cancel[c])
                text += fmt::format(", cancelled after {}", *cancel[c]);
        }
        return text;
    }
};

constexpr std::chrono::milliseconds ttl = 52ms;
constexpr std::chrono::milliseconds node_timeout = 50ms;

class small_world;

/// A client's connection to a server. The plan decides about the first acquisition. Everything else is fast and in
/// order.
class planned_node final : public node, public std::enable_shared_from_this<planned_node> {
public:
    planned_node(small_world& w, std::size_t client, std::size_t server)
        : world_(w), client_(client), server_(server), name_(fmt::format("s{}", server))
    {
    }

    std::string const& name() const noexcept override { return name_; }
    bool ready() const noexcept override { return true; }
    void start(asio::any_io_executor executor, node_events) override { executor_ = std::move(executor); }
    void submit(std::shared_ptr<node_operation> o) override;
    void close() override
    {
        closed_ = true;
        for (auto const& o : std::exchange(pending_, {}))
            o->complete({.untouched = o->sent_on() == 0, .error = errc::node_closed});
        executor_ = {};
    }
    void abandon() override
    {
        closed_ = true;
        pending_.clear();
        executor_ = {};
    }

private:
    void send(std::shared_ptr<node_operation> const&);
    void answer_at(clock::time_point, std::shared_ptr<node_operation> const&, node_reply);

    small_world& world_;
    std::size_t const client_, server_;
    std::string const name_;
    asio::any_io_executor executor_;
    std::vector<std::shared_ptr<node_operation>> pending_;
    std::uint32_t connection_ = 1;
    clock::time_point last_arrival_{};
    bool first_delivered_ = false;
    bool closed_ = false;
};

/// Plays one plan.
class small_world : public virtual_world {
public:
    explicit small_world(plan const& p) : the_plan(p), tables(p.servers), begin(now + 1s) {}

    std::string run()
    {
        for (std::size_t c = 0; c < 2; ++c)
            clients_[c].emplace(*this, c);
        each_step = [this] { check(); };
        for (std::size_t c = 0; c < 2; ++c)
            at(starts(c), [this, c] { clients_[c]->acquire(); });
        run_until(begin + 1s);
        if (wrong_.empty())
            check_end();
        return wrong_;
    }

    clock::time_point starts(std::size_t client) const
    {
        if (client == 0 || the_plan.second == start::together)
            return begin;
        return begin + 100us + ttl + (the_plan.second == start::before_expiry ? -300us : 300us);
    }

    // When a server carries out the request of client @p c.
    clock::time_point carried_out(std::size_t c, std::size_t server) const
    {
        auto const f = the_plan.deliveries[c][server];
        bool const first = c == 1 && (the_plan.second_first >> server & 1);
        auto const quick = starts(c) + (c == 0 ? 100us : first ? 50us : 200us);
        return f.what == delivery::kind::broken ? quick + 20ms : quick;
    }

    clock::time_point answer_comes(std::size_t c, unsigned place) const
    {
        auto const gap = the_plan.slow ? clock::duration(49'400us) / static_cast<int>(the_plan.servers)
                                       : clock::duration(1ms);
        return starts(c) + 300us + gap * static_cast<int>(place + 1);
    }

    void blame(std::string why)
    {
        if (wrong_.empty())
            wrong_ = std::move(why);
    }

    plan const& the_plan;
    std::vector<stores::memory::lock_table> tables;
    clock::time_point const begin;

private:
    struct client {
        client(small_world& w, std::size_t n) : world(w), number(n)
        {
            std::vector<std::shared_ptr<node>> nodes;
            manager_options settings{.owner = "c", .node_timeout = node_timeout};
            for (std::size_t i = 0; i < w.the_plan.servers; ++i) {
                nodes.push_back(std::make_shared<planned_node>(w, n, i));
                settings.nodes.push_back(nodes.back()->name());
            }
            state = locks::manager_state::make(w.context.get_executor(), std::make_shared<virtual_runtime>(w),
                                               std::move(settings), std::move(nodes));
            locks.emplace(detail::access::make_manager<lock_manager>(state));
            state->quorum.nodes.set_met();
        }

        void acquire()
        {
            locks->async_acquire("r", {.ttl = ttl},
                                 asio::bind_cancellation_slot(cancel.slot(), [this](error_code ec, lock l) {
                                     ++completions;
                                     result = ec;
                                     completed = world.now;
                                     held = std::move(l);
                                     if (!ec)
                                         use();
                                 }));
            if (auto const k = world.the_plan.cancel[number]) {
                auto const when = *k == 0 ? world.starts(number) + 30us : world.answer_comes(number, *k - 1) + 100us;
                world.at(when, [this] { cancel.emit(asio::cancellation_type::terminal); });
            }
        }

        void use()
        {
            if (!held.held())
                world.blame("a lock was handed out that is not held");
            held.async_wait_lost([this](error_code ec) {
                ++waits_over;
                if (ec == errc::lost && world.now >= held.valid_until())
                    world.blame("a loss was reported when the validity was over");
            });
            switch (world.the_plan.winner) {
            case winner_action::holds:
                return;
            case winner_action::extends:
                return held.async_extend(ttl, [this](error_code) { ++extended; });
            case winner_action::releases:
                return held.async_release([this](error_code) { ++released; });
            }
        }

        small_world& world;
        std::size_t const number;
        std::shared_ptr<locks::manager_state> state;
        std::optional<lock_manager> locks;
        asio::cancellation_signal cancel;
        lock held;
        error_code result;
        clock::time_point completed;
        int completions = 0, waits_over = 0, extended = 0, released = 0;
    };

    void check()
    {
        if (clients_[0]->held.held() && clients_[1]->held.held())
            blame("both clients hold the lock");
    }

    void check_end()
    {
        for (auto& c : clients_) {
            auto const who = fmt::format("client {}: ", c->number + 1);
            if (c->completions != 1)
                return blame(fmt::format("{}the acquisition completed {} times", who, c->completions));
            if (c->completed > starts(c->number) + node_timeout + 1ms)
                return blame(who + "the acquisition took too long");
            if (c->result && c->result != asio::error::operation_aborted && c->result != errc::contended
                && c->result != errc::no_quorum && c->result != errc::validity_exhausted)
                return blame(who + c->result.message());
            if (!c->result
                && (c->waits_over != 1 || c->extended != (the_plan.winner == winner_action::extends)
                    || c->released != (the_plan.winner == winner_action::releases)))
                return blame(who + "an operation on the lock did not complete once");
            if (c->held.held())
                return blame(who + "the lock is still held a second later");
            if (!the_plan.cancel[c->number]) {
                check_decision(*c, who);
                check_answers(*c, who);
            }
            c->held = {};
        }
        run_until(now + 1s);
        for (std::size_t i = 0; i < tables.size(); ++i) {
            if (tables[i].find("lock:r", now))
                return blame(fmt::format("a key is left on server {}", i + 1));
        }
        for (auto& c : clients_) {
            auto const s = c->locks->stats();
            if (s.held + s.running + s.cleaning > 0)
                return blame("a lock, an operation or a clean-up is left");
            if (!test::is_balanced(s))
                return blame("the counters do not balance");
        }
    }

    // A round ends with the vote that decides it.
    void check_decision(client const& c, std::string const& who)
    {
        auto const majority = tables.size() / 2 + 1;
        std::size_t granted = 0, against = 0;
        std::vector<std::pair<clock::time_point, bool>> answers;
        for (std::size_t i = 0; i < tables.size(); ++i) {
            auto const f = the_plan.deliveries[c.number][i];
            if (f.what == delivery::kind::broken)
                answers.emplace_back(starts(c.number) + 150us, false);
            else if (f.what == delivery::kind::answered)
                answers.emplace_back(answer_comes(c.number, f.place), votes[c.number][i] == vote::granted);
        }
        std::sort(answers.begin(), answers.end());
        for (auto const& [when, yes] : answers) {
            ++(yes ? granted : against);
            if ((granted >= majority || against > tables.size() - majority) && c.completed > when)
                return blame(who + "the round went on after the vote that decided it");
        }
    }

    // The outcome must fit the votes.
    void check_answers(client const& c, std::string const& who)
    {
        std::size_t granted = 0, denied = 0, broken = 0;
        for (std::size_t i = 0; i < tables.size(); ++i) {
            auto const what = the_plan.deliveries[c.number][i].what;
            if (what == delivery::kind::broken)
                ++broken;
            else if (what == delivery::kind::answered)
                ++(votes[c.number][i] == vote::granted ? granted : denied);
        }
        auto const majority = tables.size() / 2 + 1;
        auto const spare = tables.size() - majority;
        // The round is decided before the timeout, or by the nodes that have not answered until then.
        auto const missing = broken + denied > spare ? broken : tables.size() - granted - denied;
        if (!c.result && granted < majority)
            return blame(fmt::format("{}won with {} of {} votes", who, granted, tables.size()));
        if (c.result == errc::contended && missing > spare)
            return blame(who + "contended, although too few nodes had answered");
        if (c.result == errc::no_quorum && missing <= spare)
            return blame(who + "no quorum, although enough nodes had answered");
        if (c.result && c.result != errc::validity_exhausted && granted >= majority)
            return blame(fmt::format("{}\"{}\" with {} of {} votes", who, c.result.message(), granted, tables.size()));
        if (c.result == errc::validity_exhausted && (!the_plan.slow || granted < majority))
            return blame(who + "validity exhausted");
    }

    friend class planned_node;
    std::array<std::array<vote, 3>, 2> votes{};
    std::array<std::optional<client>, 2> clients_;
    std::string wrong_;
};

void planned_node::submit(std::shared_ptr<node_operation> o)
{
    pending_.push_back(o);
    asio::post(executor_, [self = shared_from_this(), o] { self->send(o); });
}

void planned_node::send(std::shared_ptr<node_operation> const& o)
{
    if (closed_)
        return;
    if (o->withdrawn() || world_.now > o->not_after) {
        if (std::erase(pending_, o) > 0)
            o->complete({.untouched = true, .error = errc::node_unreachable});
        return;
    }
    o->mark_sent(connection_);
    auto const self = shared_from_this();
    auto const carry_out = [self, o] {
        return self->world_.tables[self->server_].carry_out(o->command(), self->world_.now,
                                                            o->leaves_tombstone(o->sent_on()));
    };
    if (o->command().which() == node_command::kind::acquire && !std::exchange(first_delivered_, true)) {
        auto const f = world_.the_plan.deliveries[client_][server_];
        auto const when = world_.carried_out(client_, server_);
        last_arrival_ = when;
        switch (f.what) {
        case delivery::kind::answered:
            return void(world_.at(when, [self, o, f, carry_out] {
                auto const reply = carry_out();
                self->world_.votes[self->client_][self->server_] = reply.vote;
                self->answer_at(self->world_.answer_comes(self->client_, f.place), o, reply);
            }));
        case delivery::kind::late:
            return void(world_.at(when, [self, o, carry_out] {
                self->answer_at(self->world_.starts(self->client_) + node_timeout + 10ms, o, carry_out());
            }));
        case delivery::kind::broken:  // later requests take another connection, and may overtake this one
            ++connection_;
            last_arrival_ = {};
            world_.at(when, [carry_out] { carry_out(); });
            return answer_at(world_.now + 150us, o, {.error = errc::connection_lost});
        case delivery::kind::silent:
            return void(world_.at(when, [carry_out] { carry_out(); }));
        }
    }
    last_arrival_ = std::max(last_arrival_, world_.now + 20us);
    world_.at(last_arrival_, [self, o, carry_out] { self->answer_at(self->world_.now + 20us, o, carry_out()); });
}

void planned_node::answer_at(clock::time_point when, std::shared_ptr<node_operation> const& o, node_reply reply)
{
    world_.at(when, [self = shared_from_this(), o, reply] {
        if (self->closed_)
            return;
        asio::post(self->executor_, [self, o, reply] {
            if (std::erase(self->pending_, o) > 0)
                o->complete(reply);
        });
    });
}

// All deliveries of one client's requests to @p servers servers.
std::vector<std::vector<delivery>> all_deliveries(std::size_t servers)
{
    std::vector<std::vector<delivery>> all;
    std::vector<delivery> one(servers);
    auto const choose = [&](auto const& self, std::size_t i, unsigned taken) -> void {
        if (i == servers) {
            // Places have no gap. Only their order matters, so a plan with a gap would repeat another plan.
            unsigned const answered = static_cast<unsigned>(
                std::count_if(one.begin(), one.end(), [](delivery f) { return f.what == delivery::kind::answered; }));
            if (taken == (1u << answered) - 1)
                all.push_back(one);
            return;
        }
        for (std::uint8_t place = 0; place < servers; ++place) {
            if (taken >> place & 1)
                continue;
            one[i] = {delivery::kind::answered, place};
            self(self, i + 1, taken | 1u << place);
        }
        for (auto what : {delivery::kind::late, delivery::kind::broken, delivery::kind::silent}) {
            if (what == delivery::kind::silent && servers == 3)
                continue;  // differs from late only in the clean-up, which worlds of two servers test
            one[i] = {what, 0};
            self(self, i + 1, taken);
        }
    };
    choose(choose, 0, 0);
    return all;
}

std::vector<plan> all_plans(std::size_t servers)
{
    std::vector<plan> all;
    auto const deliveries = all_deliveries(servers);
    for (auto const& first : deliveries)
        for (auto const& second : deliveries)
            for (unsigned first_cancel = 0; first_cancel <= servers + 1; ++first_cancel)
                for (unsigned second_cancel = 0; second_cancel <= (servers < 3 ? servers + 1 : 1); ++second_cancel)
                    for (auto begins : {start::together, start::before_expiry, start::after_expiry})
                        for (unsigned order = 0; order < (begins == start::together ? 1u << servers : 1u); ++order)
                            for (auto winner : {winner_action::holds, winner_action::extends, winner_action::releases})
                                for (bool slow : {false, true}) {
                                    plan p;
                                    p.servers = servers;
                                    p.deliveries = {first, second};
                                    // 0: not cancelled; then after 0, 1, … answers
                                    p.cancel = {first_cancel ? std::optional(first_cancel - 1) : std::nullopt,
                                                second_cancel ? std::optional(second_cancel - 1) : std::nullopt};
                                    p.second_first = order;
                                    p.second = begins;
                                    p.winner = winner;
                                    p.slow = slow;
                                    all.push_back(std::move(p));
                                }
    return all;
}

void tell(std::size_t servers, std::size_t number, std::string const& wrong, plan const& p)
{
    fmt::print("{}\n  {}\n  once more: redlock_small_worlds --world {} {}\n", wrong, p.describe(), servers, number);
}

int play_one(cli::option_parser const& line, std::size_t servers, std::size_t number)
{
    auto const plans = servers >= 1 && servers <= 3 ? all_plans(servers) : std::vector<plan>{};
    if (number < 1 || number > plans.size())
        line.refuse(fmt::format("there is no world {} with {} servers", number, servers));
    auto const& p = plans[number - 1];
    auto const wrong = small_world(p).run();
    if (wrong.empty())
        return 0;
    tell(servers, number, wrong, p);
    return 1;
}

int play_all(std::size_t every)
{
    std::atomic<int> failures{0};
    std::mutex mutex;
    std::size_t total = 0;
    for (std::size_t servers = 1; servers <= 3; ++servers) {
        auto const plans = all_plans(servers);
        std::atomic<std::size_t> next{0};
        auto const play = [&] {
            for (std::size_t i; failures == 0 && (i = every * next++) < plans.size();) {
                auto const wrong = small_world(plans[i]).run();
                if (wrong.empty())
                    continue;
                std::lock_guard guard(mutex);
                ++failures;
                tell(servers, i + 1, wrong, plans[i]);
            }
        };
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); ++i)
            threads.emplace_back(play);
        for (auto& t : threads)
            t.join();
        if (failures > 0)
            return 1;
        auto const played = (plans.size() + every - 1) / every;
        fmt::print("{} server{}, 2 clients: {} worlds, {}\n", servers, servers > 1 ? "s" : "", played,
                   every == 1 ? "all of them" : fmt::format("of {}", plans.size()));
        total += played;
    }
    fmt::print("{} worlds in all\n", total);
    return test::stated(test::grouped(total) + " worlds") ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv)
{
    std::pair<std::size_t, std::size_t> one;
    std::size_t every = 1;
    cli::option_parser line("redlock_small_worlds", "Plays every small world.");
    line.add_option("--world", one, "plays only this world: its number of servers, and its number")
        ->type_name("SERVERS NUMBER");
    line.add_number("--every", every, 1, 1'000'000, "plays only one of so many worlds, for slow builds");
    try {
        line.read({argv + 1, argv + argc});
        return line.count("--world") > 0 ? play_one(line, one.first, one.second) : play_all(every);
    } catch (cli::early_exit const& e) {
        return e.tell();
    }
}
