#include "sim/gallery/trial.hpp"

#include "sim/gallery/lines.hpp"
#include "sim/gallery/unused.hpp"
#include "sim/gallery/visitor.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"

#include <boost/asio/co_spawn.hpp>

#include <algorithm>
#include <exception>
#include <memory>
#include <string_view>
#include <utility>

namespace redlock::sim::gallery {

namespace {

// Time in which restarted servers take part again, and each client that can gets the lock once more.
constexpr auto quiet_time = 10s;
constexpr auto time_to_expire = 12s;  // after all clients have died; longer than a clock is ever set back

/// Extracts from the history of a deadlock the last grant, and what happened to the client that got it.
std::vector<std::string> last_grant(std::string const& trace)
{
    constexpr std::string_view before_client = " carries out for ";
    auto const all = lines_of(trace);
    std::vector<std::string> lines;
    auto granted = all.size();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].find(before_client) != all[i].npos
            && (all[i].ends_with("→ 1") || all[i].ends_with("→ OK") || all[i].ends_with("→ INSERT 0 1")))
            granted = i;
    }
    if (granted == all.size())
        return lines;
    auto const at = all[granted].find(before_client) + before_client.size();
    auto const client = all[granted].substr(at, all[granted].find(": ", at) - at);
    auto const process = client.substr(0, client.find('/'));
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const text = std::string_view(all[i]).substr(time_width);
        bool const fails = text.ends_with(" tries") || text.ends_with("→ 0") || text.ends_with("→ duplicate key");
        bool const of_client = i >= granted && all[i].find(client) != all[i].npos && !fails;
        if (of_client || text == process + " ends")  // a request of a dead client may still arrive
            lines.push_back(replaced(replaced(all[i], client, "A"), process, "A's process"));
    }
    lines.push_back("             … and no client gets the lock any more");
    return lines;
}

/// Extracts from a history what concerns two visits, each since the attempt by which it got the lock. It keeps what the
/// visitors did, and what happened to their processes and the servers. It also keeps the commands of other clients that
/// deleted or overwrote a key without comparing its owner.
class extract {
public:
    extract(visit const& there, visit const& between) : there_(there), between_(between) {}

    std::vector<std::string> from(std::string const& trace)
    {
        auto const all = lines_of(trace);
        std::vector<std::string> lines;
        auto const of_there = last_attempt(all, there_), of_between = last_attempt(all, between_);
        for (auto i = std::min(of_there, of_between); i < all.size(); ++i) {
            bool const of_one = (i >= of_there && concerns(all[i], there_))
                                || (i >= of_between && concerns(all[i], between_));
            if (!of_one && !concerns_all(all[i]))
                continue;
            auto said = in_words(all[i].substr(time_width));
            if (lines.empty() || lines.back().substr(time_width) != said)
                lines.push_back(all[i].substr(0, time_width) + said);
        }
        return lines;
    }

private:
    static std::size_t last_attempt(std::vector<std::string> const& all, visit const& v)
    {
        auto const last = [&](std::string const& what, std::size_t before) {
            while (before > 0 && all[before - 1].substr(time_width) != what)
                --before;
            return before;
        };
        auto const has_it = last(v.who + " has the lock", all.size());
        auto const tries = last(v.who + " tries", has_it);
        // An attempt that is not in the history begins with its success.
        return tries > last(v.who + " is done", has_it) ? tries : has_it - 1;
    }

    static bool concerns(std::string const& line, visit const& v)
    {
        auto const text = std::string_view(line).substr(time_width);
        bool const of_process = text.starts_with(v.process + " stands still")
                                || text.starts_with(v.process + " goes on");
        return of_process || (line.find(v.who) != line.npos && !text.ends_with(" tries"));
    }

    static bool concerns_all(std::string const& line)
    {
        auto const text = std::string_view(line).substr(time_width);
        auto const says = [&](auto const&... words) { return ((text.find(words) != text.npos) || ...); };
        return text.starts_with("s")
               && says(": DEL ", ": GETSET ", " crashes", " is back", " jumps", " stands still", " goes on",
                       " promoted");
    }

    std::string in_words(std::string line) const
    {
        line = replaced(replaced(std::move(line), there_.who, "A"), between_.who, "B");
        if (auto const other = line.find(" for p"); other != line.npos)
            line.replace(other, line.find(':') - other, " for another");
        line = replaced(std::move(line), there_.process,
                        there_.process == between_.process ? "the process of A and B" : "A's process");
        return replaced(std::move(line), between_.process, "B's process");
    }

    visit const& there_;
    visit const& between_;
};

/// One world.
class trial {
public:
    trial(exhibit const& e, conditions const& c, std::uint64_t seed)
        : exhibit_(e),
          scenario_{.servers = e.servers,
                    .fencing = e.fencing,
                    .make_server = e.make_server,
                    .program = [this](process& p) { return admit(p); }},
          premises_{.section = critical_section([this](auto& there, auto& between) { note_both(there, between); }),
                    .brief = c.brief},
          world_(c.faults, stream_of_chance(c.faults, seed), true, &scenario_),
          begin_(world_.now)
    {
        if (c.one_stopped)  // not from the beginning: new servers vote at once only if all of them answer
            world_.after(std::chrono::milliseconds(100), [this] { world_.servers.front()->pause(true); });
    }

    verdict run()
    {
        world_.begin_faults();
        world_.run_until(begin_ + time_of_faults);
        count_visits();
        if (exhibit_.shows != symptom::two_at_once && world_.conditions.name == "quiet")
            result_.unused_history = longest_unused(world_.result.trace);

        world_.end_faults();
        world_.run_until(world_.now + quiet_time / 2);
        auto const before = visits();
        world_.run_until(world_.now + quiet_time / 2);
        result_.deadlocked = visits() == before;
        if (result_.deadlocked)
            result_.deadlock_history = last_grant(world_.result.trace);

        for (auto& p : world_.processes)
            p.reset();
        world_.run_until(world_.now + time_to_expire);
        result_.left_keys = std::ranges::any_of(world_.servers, [](auto& s) {
            return std::ranges::any_of(s->keys.entries, [&](auto& e) { return e.second.expires > s->clock_now(); });
        });
        result_.violation = world_.result.violation;
        return std::move(result_);
    }

private:
    std::shared_ptr<void> admit(process& p)
    {
        auto const all = std::make_shared<std::vector<std::unique_ptr<visitor>>>();
        for (std::size_t i = 0; i < visitors_each; ++i) {
            all->push_back(std::make_unique<visitor>(world_, p, i, exhibit_, premises_));
            p.after(0ms, [&p, v = all->back().get()] {
                asio::co_spawn(p.executor(), v->run(), [](std::exception_ptr e) {
                    if (e)
                        std::rethrow_exception(e);
                });
            });
        }
        return all;
    }

    std::size_t visits() const
    {
        std::size_t all = 0;
        for (auto const& [place, count] : premises_.visits)
            all += count;
        return all;
    }

    void count_visits()
    {
        result_.visits = visits();
        auto const least = std::ranges::min_element(premises_.visits, {}, [](auto& v) { return v.second; })->second;
        if (result_.visits > 0)
            result_.least_share = static_cast<double>(least * premises_.visits.size())
                                  / static_cast<double>(result_.visits);
    }

    void note_both(visit const& there, visit const& between)
    {
        result_.broken_unpaused = result_.broken_unpaused || !(there.paused || between.paused);
        if (std::exchange(result_.broken, true))
            return;
        result_.history = extract(there, between).from(world_.result.trace);
        result_.history.push_back("             … and A works on it again: both are there");
    }

    static constexpr std::size_t visitors_each = 2;

    exhibit const& exhibit_;
    scenario const scenario_;
    verdict result_;
    premises premises_;
    world world_;
    clock::time_point const begin_;
};

}  // namespace

verdict try_out(exhibit const& e, conditions const& c, std::uint64_t seed) { return trial(e, c, seed).run(); }

}  // namespace redlock::sim::gallery
