#pragma once

#include "core/key.hpp"
#include "stores/memory/lock_table.hpp"
#include "support/long_proof.hpp"
#include "testing/node_client.hpp"

#include <redlock/node.hpp>
#include <redlock/resource_set.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// The commands that the nodes know.
enum class repertoire {
    all,
    session,  ///< nodes with a session: without shared locks, any one of several, healing and tombstones
};

/// A fixed sequence of random commands of all kinds, with four keys, three values and three contenders. Labels and
/// notes have every byte.
class random_steps {
public:
    using kind = node_command::kind;
    using handovers = commands::handovers;

    struct step {
        node_command command;
        std::vector<std::string> keys;
        std::string value, contender, note;
        bool tombstone = false;
    };

    explicit random_steps(repertoire r) : all_(r == repertoire::all) {}

    unsigned below(unsigned n) { return random_() % n; }

    step next()
    {
        static std::string const names[] = {"lock:a", "lock:d", "lock:e", "lock:{b}c"};
        step s;
        if (below(2) == 0)
            s.keys = {names[below(4)]};
        else
            std::sample(std::begin(names), std::end(names), std::back_inserter(s.keys), 2 + below(3), random_);
        s.value = values_[below(3)];
        s.contender = contenders_[below(3)];
        s.note = below(2) == 0 ? std::string() : bytes(below(200));
        auto& c = s.command;
        c.ttl = std::chrono::hours(1) + std::chrono::seconds(below(3));
        bool const several = s.keys.size() > 1;
        kind const kinds[] = {kind::acquire, kind::acquire, kind::raise,   kind::extend,   kind::release,
                              kind::release, kind::inspect, kind::upgrade, kind::downgrade};
        c.what = testing::command_of(below(20) == 0 ? kind::withdraw : kinds[below(several ? 6 : all_ ? 9 : 7)]);
        bool const acquires = c.which() == kind::acquire, upgrades = c.which() == kind::upgrade;
        bool const contends = (acquires || upgrades) && below(2) == 0;
        if (c.which() != kind::withdraw && c.which() != kind::inspect && !several
            && (upgrades || c.which() == kind::downgrade || maybe(2)))
            c.mode = mode::shared;
        if (c.which() == kind::raise || ((acquires || upgrades) && below(3) != 0))
            testing::set_fence(c, below(3) == 0 ? 1'795'000'000'000'000 + below(1000)
                                                : 1 + below(1000) * (1 + below(1000)));
        if (!contends && c.which() != kind::withdraw)
            s.contender.clear();
        if (acquires) {
            auto& a = c.as<commands::acquire>();
            a.passes = c.is_shared() && below(2) == 0;
            a.any = several && maybe(2);
            if (a.any)
                std::shuffle(s.keys.begin(), s.keys.end(), random_);
            a.grows = contends && several && !a.any && below(2) == 0;
        }
        if (c.which() == kind::extend && maybe(3)) {
            c.what = commands::replace{.former = values_[below(3)]};
        }
        if (c.which() == kind::extend) {
            bool const heals = maybe(2);
            c.what = commands::extend{.heal = heals, .alone = c.is_shared() && below(3) == 0};
        }
        s.tombstone = c.which() == kind::release && maybe(20);
        if (!c.is_shared() && acquires && contends)
            testing::set_handed_on(c,
                                   below(2) == 0 && (!several || c.wants_any()) ? handovers::follow : handovers::end);
        else if (!c.is_shared() && c.which() == kind::release && below(2) == 0)
            testing::set_handed_on(c, handovers::end);
        return s;
    }

private:
    std::string bytes(std::size_t count)
    {
        std::string all;
        while (all.size() < count)
            all += static_cast<char>(last_++);
        return all;
    }

    /// True once in @p n calls, and only if the nodes know all commands.
    bool maybe(unsigned n) { return all_ && below(n) == 0; }

    bool const all_;
    std::mt19937 random_{all_ ? 21u : 20u};
    unsigned char last_ = 0;
    std::string const values_[3] = {core::make_token(1, 2, {bytes(256), bytes(200), 3}), "v\n2",
                                    core::make_token(1, 3, {"v1\n3\\n", bytes(200), 3})};
    std::string const contenders_[3] = {core::make_contender(1, bytes(238)), core::make_contender(2, bytes(18)),
                                        "0000000000000003"};
};

/// The parts of a reply that all implementations have in common; times only roughly.
inline std::string in_words(node_command const& c, node_reply const& r)
{
    auto words = fmt::format("{} {} {} {} {} {} ours {}", to_string(r.vote), r.fence, r.wanted ? "wanted" : "",
                             r.handed_on ? "handed on" : "", r.healed ? "healed" : "",
                             r.behind_writer ? "behind a writer" : "", r.ours);
    if (c.wants_any() && r.vote == vote::granted)
        words += fmt::format(" number {}", r.chosen);
    for (auto const& k : r.taken)
        words += fmt::format(", {}{}", k.index, k.handed_on ? " handed on" : "");
    bool const tells_time = r.vote == vote::denied && c.contends() && r.taken.empty()
                            && (c.which() == node_command::kind::acquire || r.ours == 1);
    if (tells_time)  // a lock lasts an hour; a turn and a wanted mark are shorter
        words += r.remaining > std::chrono::seconds(3000) ? " long" : r.remaining.count() > 0 ? " short" : " none";
    return words;
}

/// Compares the clients of a lock that a node and `lock_table` list. A node may keep labels without notes.
inline void compare_details(key_details const& actual, key_details const& expected)
{
    auto const waiters_of = [](key_details const& d, bool with_notes) {
        std::map<std::string, std::pair<bool, std::string>> all;
        for (auto const& w : d.waiters)
            all[w.contender] = {w.shares, with_notes ? w.note : std::string()};
        return all;
    };
    auto const readers_of = [](key_details const& d) {
        std::set<std::string> all;
        for (auto const& r : d.readers)
            all.insert(r.value);
        return all;
    };
    bool const has_notes = std::ranges::any_of(actual.waiters, [](auto& w) { return !w.note.empty(); });
    if (actual.knows_waiters)
        BOOST_REQUIRE((waiters_of(actual, has_notes) == waiters_of(expected, has_notes)));
    if (actual.knows_readers)
        BOOST_REQUIRE((readers_of(actual) == readers_of(expected)));
}

/// Compares the replies of a node with those of `lock_table`, for 2,500 steps, or 25,000 in a long proof. For nodes
/// with a session, there are 1,000 or 4,000 steps.
/// @p forget: deletes all data of the server; null: the data stay
inline void do_random_steps(std::function<std::shared_ptr<node>()> make, std::function<void()> const& forget,
                            repertoire r = repertoire::all)
{
    using kind = node_command::kind;
    bool const all = r == repertoire::all;
    testing::client client({.make = std::move(make)});
    random_steps steps(r);
    stores::memory::lock_table model;
    auto const now = clock::now();  // no lock expires during the test
    int const count = all ? pick(2'500, 25'000) : pick(1'000, 4'000);
    std::size_t granted_sets = 0, grown = 0, wanted = 0, handed_on = 0, raised = 0;
    std::size_t chosen = 0, shared = 0, behind = 0, upgraded = 0, downgraded = 0, dead = 0, replaced = 0;
    for (int i = 0; i < count; ++i) {
        if (forget && steps.below(50) == 0) {
            model = {};
            forget();
        }
        auto s = steps.next();
        auto& c = s.command;
        c.keys = std::span<std::string const>(s.keys);
        c.value = s.value;
        testing::set_contender(c, s.contender);
        if (c.contends())
            testing::set_note(c, s.note);
        auto const is_dead = [&](auto& key) { return model.tombstones.contains({key, s.value}); };
        if (c.wants_any() && std::any_of(s.keys.begin(), s.keys.end(), is_dead))
            continue;
        auto const request = std::make_shared<testing::request>(c, s.keys, s.value);
        request->unanswered = s.tombstone ? 1000 : 0;  // another connection than the one that it is sent on
        auto const actual = client.answer_of(client.put(request));
        BOOST_REQUIRE_MESSAGE(actual.vote != vote::unknown, "step " << i << ": " << actual.text);
        if (c.which() == kind::acquire && !c.grows() && is_dead(s.keys.front())) {  // lock_table does not check this
            ++dead;
            BOOST_REQUIRE((actual.vote == vote::denied));
            continue;
        }
        auto modelled = c;
        if (!all && c.which() == kind::acquire && !c.has_several_keys() && model.find(c.key(), now))
            testing::set_fence(modelled, 0);  // a denied acquisition does not change the counter
        auto const reply = model.carry_out(modelled, now, s.tombstone);
        BOOST_REQUIRE_MESSAGE(in_words(c, actual) == in_words(c, reply),
                              "step " << i << ", " << c.what.index() << (c.is_shared() ? " shared: " : ": ")
                                      << in_words(c, actual) << " instead of " << in_words(c, reply));
        if (c.which() == kind::inspect || !actual.text.empty())  // a node need not tell the holder to those it denies
            BOOST_REQUIRE(actual.text == reply.text);
        if (actual.details && reply.details)
            compare_details(*actual.details, *reply.details);
        bool const granted = reply.vote == vote::granted, acquires = c.which() == kind::acquire;
        granted_sets += acquires && c.has_several_keys() && !c.wants_any() && granted;
        grown += c.grows() && !granted && reply.ours > 0;
        wanted += reply.wanted;
        handed_on += reply.handed_on;
        raised += c.which() == kind::raise;
        chosen += c.wants_any() && granted && reply.chosen > 0;
        shared += c.is_shared() && acquires && granted;
        behind += reply.behind_writer;
        upgraded += c.which() == kind::upgrade && granted;
        downgraded += c.which() == kind::downgrade && granted;
        replaced += c.which() == kind::replace && c.as<commands::replace>().former != c.value && granted;
    }
    for (auto const seen : {granted_sets, grown, wanted, handed_on, raised})
        BOOST_TEST(seen > (all ? pick(5u, 50u) : pick(5u, 20u)));
    for (auto const seen : {chosen, shared, behind, upgraded, downgraded, dead})
        BOOST_TEST((!all || seen > pick(5u, 50u)));
}

}  // namespace redlock::test
