#pragma once

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
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

namespace redlock::test {

inline std::string in_words(node_command const& c, node_reply const& r)
{
    auto words = fmt::format("{} {} {} {} ours {}", to_string(r.vote), r.fence, r.wanted ? "wanted" : "", r.handed_on ? "handed on" : "", r.ours);
    for (auto const& k : r.taken)
        words += fmt::format(", {}{}", k.index, k.handed_on ? " handed on" : "");
    if (r.vote == vote::denied && c.contends() && r.taken.empty() && c.what == node_command::kind::acquire)  // each lock lasts an hour, hand-overs less
        words += r.remaining > std::chrono::seconds(3000) ? " long" : r.remaining.count() > 0 ? " short" : " none";
    return words;
}

/// Commands of the kinds that nodes with a session know, about four keys, three values and three contenders. The same ones each time.
class session_steps {
public:
    using kind = node_command::kind;
    using handovers = node_command::handovers;

    struct step {
        node_command command;
        std::vector<std::string> keys;
        std::string value, contender;
    };

    unsigned below(unsigned n) { return random_() % n; }

    step next()
    {
        static std::string const names[] = {"lock:a", "lock:d", "lock:e", "lock:{b}c"}, values[] = {"v1", "v\n2", "v1\n3\\n"};
        step s;
        if (below(2) == 0)
            s.keys = {names[below(4)]};
        else
            std::sample(std::begin(names), std::end(names), std::back_inserter(s.keys), 2 + below(3), random_);
        s.value = values[below(3)];
        s.contender = "c" + std::to_string(below(3));
        auto& c = s.command;
        c.ttl = std::chrono::hours(1) + std::chrono::seconds(below(3));
        bool const several = s.keys.size() > 1;
        kind const kinds[] = {kind::acquire, kind::acquire, kind::raise, kind::extend, kind::release, kind::release, kind::inspect};
        c.what = below(20) == 0 ? kind::withdraw : kinds[below(several ? 6 : 7)];
        bool const acquires = c.what == kind::acquire, contends = acquires && below(2) == 0;
        if (c.what == kind::raise || (acquires && below(3) != 0))
            c.fence = below(3) == 0 ? 1'795'000'000'000'000 + below(1000) : 1 + below(1000) * (1 + below(1000));
        if (!contends && c.what != kind::withdraw)
            s.contender.clear();
        c.grows = contends && several && below(2) == 0;
        if (contends)
            c.handed_on = below(2) == 0 && !several ? handovers::follow : handovers::end;
        else if (c.what == kind::release && below(2) == 0)
            c.handed_on = handovers::end;
        return s;
    }

private:
    std::mt19937 random_{20};
};

/// That the nodes do what the double in memory does, in any order: 1,000 steps, for a long proof 4,000. But for time: a wish lasts as long as it may, and so does a turn.
inline void compare_with_the_double_in_memory(std::function<std::shared_ptr<node>()> make)
{
    using kind = node_command::kind;
    testing::client client({.make = std::move(make)});
    session_steps steps;
    detail::lock_table model;
    auto const now = clock::now();  // nothing expires meanwhile
    int const count = pick(1'000, 4'000);
    std::size_t granted_sets = 0, grown = 0, wanted = 0, handed_on = 0, raised = 0;
    for (int i = 0; i < count; ++i) {
        auto s = steps.next();
        auto& c = s.command;
        c.keys = std::span<std::string const>(s.keys);
        c.value = s.value;
        c.contender = s.contender;
        auto const actual = client.ask(c, resource_set(s.keys), s.value);
        BOOST_REQUIRE_MESSAGE(actual.vote != vote::unknown, "step " << i << ": " << actual.text);
        auto modelled = c;
        if (c.what == kind::acquire && !c.has_several_keys() && model.find(c.key(), now))
            modelled.fence = 0;  // who is denied leaves the counter alone
        auto const reply = model.carry_out(modelled, now, false);
        BOOST_REQUIRE_MESSAGE(in_words(c, actual) == in_words(c, reply),
                              "step " << i << ", " << static_cast<int>(c.what) << ": " << in_words(c, actual) << " instead of " << in_words(c, reply));
        BOOST_REQUIRE(actual.text == reply.text);
        bool const granted = reply.vote == vote::granted;
        granted_sets += c.what == kind::acquire && c.has_several_keys() && granted;
        grown += c.grows && !granted && reply.ours > 0;
        wanted += reply.wanted;
        handed_on += reply.handed_on;
        raised += c.what == kind::raise;
    }
    for (auto const seen : {granted_sets, grown, wanted, handed_on, raised})
        BOOST_TEST(seen > pick(5u, 20u));
}

}  // namespace redlock::test
