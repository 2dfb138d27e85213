#include <redlock/testing/node_suite.hpp>

#include "fair_shares.hpp"
#include "node_client.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace redlock::inline v0::testing {

namespace {

/// A key that nobody has ever used, of what @p k has.
std::string new_key(node_kind const& k)
{
    static std::atomic<std::uint64_t> last{(std::uint64_t(std::random_device{}()) << 24)};
    return k.prefix + "suite:" + std::to_string(++last);
}

node_command contending(std::string_view who, handovers h = handovers::end, bool watch = false)
{
    return {.what = kind::acquire, .handed_on = h, .watch = watch, .contender = who, .ttl = long_ttl};
}

node_command fenced(kind what, std::uint64_t fence) { return {.what = what, .ttl = long_ttl, .fence = fence}; }

node_command shared(kind what, std::chrono::milliseconds ttl = long_ttl)
{
    return {.what = what, .mode = mode::shared, .ttl = ttl};
}

node_command any(node_command c = {.what = kind::acquire, .ttl = long_ttl})
{
    c.any = true;
    return c;
}

bool always(node_kind const&) { return true; }
bool fencing(node_kind const& k) { return k.fences; }
bool healing(node_kind const& k) { return k.heals; }
bool contention(node_kind const& k) { return k.contends; }
bool several(node_kind const& k) { return k.locks_several; }
bool no_tokens(node_kind const& k) { return !k.fences; }
bool one_at_a_time(node_kind const& k) { return !k.locks_several; }
bool several_with_tokens(node_kind const& k) { return k.locks_several && k.fences; }
bool choice(node_kind const& k) { return k.locks_any; }
bool no_choice(node_kind const& k) { return !k.locks_any; }
bool choice_with_tokens(node_kind const& k) { return k.locks_any && k.fences; }
bool choice_and_contention(node_kind const& k) { return k.locks_any && k.contends; }
bool no_sharing(node_kind const& k) { return !k.shares; }
bool sharing(node_kind const& k) { return k.shares; }
bool upgrades(node_kind const& k) { return k.shares && k.upgrades; }
bool no_upgrades(node_kind const& k) { return !upgrades(k); }
bool sharing_with_tokens(node_kind const& k) { return k.shares && k.fences; }
bool sharing_and_healing(node_kind const& k) { return k.shares && k.heals; }
bool sharing_and_contention(node_kind const& k) { return k.shares && k.contends; }
bool growth(node_kind const& k) { return k.locks_several && k.contends && k.heals; }

/// Three keys that nobody has ever used. Their first is the shortest: keys stand in the order of their bytes.
std::array<std::string, 3> new_keys(node_kind const& k)
{
    auto const key = new_key(k);
    return {key, key + "b", key + "c"};
}

/// The case of one client and a key that nobody has ever used.
template <class Case>
constexpr auto one_key(Case)
{
    return +[](node_kind const& k) {
        client c(k);
        Case()(c, new_key(k));
    };
}

constexpr node_case all[] = {
    {"it has a name, without a password", always,
     [](node_kind const& k) {
         client c(k);
         expect(!c.node().name().empty() && c.node().name().find('@') == std::string::npos, "its name is empty, or holds a user");
     }},
    {"it tells of its server before the first reply", always,
     [](node_kind const& k) {
         client c(k);
         expect(c.acquires(new_key(k), "v", c.short_ttl()) && c.connections > 0, "a reply came before the event connected");
     }},

    // Acquisition
    {"a free key is granted", always,
     one_key([](client& c, std::string const& key) {
         expect(c.acquires(key, "v"), "a free key was denied");
         c.releases(key, "v");
     })},
    {"a taken key is denied to another value", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(!c.acquires(key, "w"), "a key was granted twice");
         c.releases(key, "v");
     })},
    {"a taken key is denied to its own value", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(!c.acquires(key, "v"), "an acquisition extended a lock");
         c.releases(key, "v");
     })},
    {"a taken key is denied to another client", always,
     [](node_kind const& k) {
         client a(k), b(k);
         auto const key = new_key(k);
         a.acquires(key, "v");
         expect(!b.acquires(key, "w"), "two clients have one key");
         a.releases(key, "v");
         expect(b.acquires(key, "w"), "a released key was denied to another client");
         b.releases(key, "w");
     }},
    {"keys are locked by themselves", always,
     [](node_kind const& k) {
         client c(k);
         auto const one = new_key(k), two = new_key(k);
         expect(c.acquires(one, "v") && c.acquires(two, "v"), "one key keeps another");
         expect(c.releases(one, "v") && !c.acquires(two, "w"), "the release of a key freed another");
         c.releases(two, "v");
     }},
    {"any bytes are a key and a value", always,
     [](node_kind const& k) {
         client c(k);
         auto const start = new_key(k);
         for (auto const& rest : {std::string("a b"), std::string("\0\r\n\xff", 4), std::string("'\"\\%_$"), std::string("\xc3\xa4"), std::string(400, 'k')}) {
             auto const value = rest + "value";
             expect(c.acquires(start + rest, value), "a key of any bytes was denied");
             expect(!c.releases(start + rest, rest), "a value was compared in part");
             expect(c.releases(start + rest, value), "a value of any bytes was not found again");
         }
     }},

    // Time
    {"a key expires by itself", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         c.releases(key, "w");
     })},
    {"a key does not go before what was promised", always,
     one_key([](client& c, std::string const& key) {
         auto const begun = clock::now();
         auto const granted = c.ask({.what = kind::acquire, .ttl = c.short_ttl()}, key, "v");
         auto const promised = begun + std::min(granted.good_for, c.short_ttl()) - 2ms;
         expect(granted.good_for.count() > 0, "a grant promises nothing");
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         expect(clock::now() >= promised, "a key went earlier than was promised");
         c.releases(key, "w");
     })},
    {"what has expired is not extended", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.inspect(key).vote == vote::denied; }, "a key outlived its ttl");
         expect(!c.extends(key, "v"), "a key that had gone was extended");
         expect(c.acquires(key, "w"), "an extension in vain set the key");
         c.releases(key, "w");
     })},
    {"what has expired is not released from another", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         expect(!c.releases(key, "v"), "somebody else's lock was released");
         expect(c.releases(key, "w"), "a lock was not there any more");
     })},

    // Extension
    {"the owner extends", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", long_ttl / 2);
         auto const before = c.inspect(key).remaining;
         auto const extended = c.ask({.what = kind::extend, .ttl = long_ttl}, key, "v");
         expect(extended.vote == vote::granted, "the owner could not extend");
         expect(c.inspect(key).remaining > before || extended.good_for < long_ttl, "an extension did not extend");
         c.releases(key, "v");
     })},
    {"nobody else extends", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "value", c.short_ttl());
         for (auto const* const foreign : {"w", "", "valu", "value ", "VALUE"})
             expect(!other.extends(key, foreign), "a foreign lock was extended");
         c.run_to([&] { return c.acquires(key, "w"); }, "an extension that was denied extended");
         c.releases(key, "w");
     }},
    {"a key that is not there is not extended", always,
     one_key([](client& c, std::string const& key) {
         expect(!c.extends(key, "v"), "a key that is not there was extended");
         expect(c.acquires(key, "w"), "an extension in vain set the key");
         c.releases(key, "w");
     })},
    {"an extension never shortens", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const before = c.inspect(key).remaining;
         expect(c.extends(key, "v", c.short_ttl()), "the owner could not extend");
         auto const after = c.inspect(key).remaining;
         expect(after > c.short_ttl() || before <= c.short_ttl(), "an extension cut a lock off");
         c.releases(key, "v");
     })},

    // Release
    {"the owner releases, once", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(c.releases(key, "v"), "the owner could not release");
         expect(!c.releases(key, "v"), "a lock was released twice");
         expect(c.acquires(key, "w"), "a released key is not free");
         c.releases(key, "w");
     })},
    {"nobody else releases", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "value");
         for (auto const* const foreign : {"w", "", "valu", "value ", "VALUE"})
             expect(!other.releases(key, foreign), "a foreign lock was released");
         expect(!other.acquires(key, "w"), "a release that was denied released");
         expect(c.releases(key, "value"), "a lock was not there any more");
     }},
    {"a key that is not there is not released", always,
     [](node_kind const& k) {
         client c(k);
         expect(!c.releases(new_key(k), "v"), "a key that is not there was released");
     }},

    // Inspection
    {"an inspection tells value and time", always,
     one_key([](client& c, std::string const& key) {
         expect(c.inspect(key).vote == vote::denied, "a free key was taken for locked");
         auto const granted = c.ask({.what = kind::acquire, .ttl = long_ttl}, key, "v");
         auto const seen = c.inspect(key);
         expect(seen.vote == vote::granted && seen.text == "v", "an inspection does not tell the value");
         expect(seen.remaining.count() > 0 && seen.remaining <= long_ttl, "an inspection does not tell the time that is left");
         expect(seen.remaining > long_ttl / 2 || granted.good_for < long_ttl, "a key lives for less than its ttl, and nobody said so");
         c.releases(key, "v");
     })},

    // Order and completion
    {"what is asked on a key is carried out in its order", always,
     one_key([](client& c, std::string const& key) {
         std::vector<std::shared_ptr<request>> all;
         for (int i = 0; i < 20; ++i) {
             auto const value = std::to_string(i);
             all.push_back(c.put({.what = kind::acquire, .ttl = long_ttl}, key, value));
             all.push_back(c.put({.what = kind::release}, key, value));
         }
         for (auto const& r : all)
             expect(c.answer_of(r).vote == vote::granted, "a release overtook its acquisition, or the next acquisition the release");
     })},
    {"each operation is completed once", always,
     [](node_kind const& k) {
         client c(k);
         std::vector<std::shared_ptr<request>> all;
         auto const key = new_key(k);
         for (int i = 0; i < 200; ++i)
             all.push_back(c.put({.what = i % 3 == 2 ? kind::release : kind::acquire, .ttl = long_ttl}, key + std::to_string(i / 3), "v"));
         for (auto const& r : all)
             c.answer_of(r);
         c.run_for(20ms);
         expect(std::all_of(all.begin(), all.end(), [](auto& r) { return r->answers == 1; }), "an operation is completed more than once");
         expect(std::none_of(all.begin(), all.end(), [](auto& r) { return r->sent_after_answer; }), "an operation was sent after its completion");
         for (int i = 0; i < 70; ++i)
             c.releases(key + std::to_string(i), "v");
     }},
    {"what is withdrawn is not sent", always,
     one_key([](client& c, std::string const& key) {
         auto const r = std::make_shared<request>(node_command{.what = kind::acquire, .ttl = long_ttl}, key, "v");
         r->is_withdrawn = true;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched && r->sent_on() == 0, "a withdrawn operation was sent");
         expect(c.acquires(key, "w"), "a withdrawn operation was carried out");
         c.releases(key, "w");
     })},
    {"what comes too late to be sent is not sent", always,
     one_key([](client& c, std::string const& key) {
         auto const r = std::make_shared<request>(node_command{.what = kind::acquire, .ttl = long_ttl}, key, "v");
         r->not_after = clock::now() - 1s;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched, "an operation was sent after its time");
         expect(c.acquires(key, "w"), "an operation was carried out after its time");
         c.releases(key, "w");
     })},
    {"the end of a node completes what is pending", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         std::vector<std::shared_ptr<request>> all;
         for (int i = 0; i < 5; ++i)
             all.push_back(c.put({.what = kind::acquire, .ttl = c.short_ttl()}, key, std::to_string(i)));
         c.close();
         for (auto const& r : all) {
             expect(r->answers == 1, "an operation is not completed by the end of its node, or twice");
             expect(r->reply.vote != vote::unknown || r->reply.error.failed(), "an unknown vote has no reason");
             expect(r->sent_on() != 0 || r->reply.untouched, "what was never sent is not certain to have had no effect");
         }
         expect(!c.node().ready(), "a node is ready after its end");
         other.run_to([&] { return other.acquires(key, "w"); }, "a key outlived its ttl");
         other.releases(key, "w");
     }},
    {"a node that is abandoned with its context says nothing more", always,
     [](node_kind const& k) {
         auto context = std::make_unique<asio::io_context>();
         auto const n = k.make();
         n->start(context->get_executor(), {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
         auto const r = std::make_shared<request>(node_command{.what = kind::acquire, .ttl = 1s}, new_key(k), "v");
         n->submit(r);
         context->run_one_for(1ms);
         auto const before = r->answers;
         n->abandon();
         auto const after = r->answers;
         context.reset();
         expect(after <= 1 && r->answers == after && before <= after, "an abandoned node completed an operation later, or twice");
     }},

    // Healing
    {"a renewal that heals sets a key that is missing, and does not count", healing,
     one_key([](client& c, std::string const& key) {
         auto const healed = c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v");
         expect(healed.vote == vote::denied && healed.healed, "a missing key was not set again, or counts");
         expect(c.extends(key, "v", long_ttl, true), "a healed key does not count from the next time on");
         expect(!c.acquires(key, "w"), "a healed key is not there");
         c.releases(key, "v");
     })},
    {"a renewal that heals leaves the lock of another alone", healing,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "w");
         auto const denied = c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v");
         expect(denied.vote == vote::denied && !denied.healed, "the lock of another was replaced");
         expect(c.releases(key, "w"), "the lock of another was replaced");
     })},
    {"a tombstone keeps a key from being healed, for its value only", healing,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const r = std::make_shared<request>(node_command{.what = kind::release, .ttl = long_ttl}, key, "v");
         r->unanswered = 0xffff'fffe;  // on a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "the owner could not release");
         expect(!c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v").healed, "a key was set again after its release");
         expect(c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "w").healed, "a tombstone is about another value, too");
         c.releases(key, "w");
     })},

    // Tokens
    {"a proposal that is higher is taken", fencing,
     one_key([](client& c, std::string const& key) {
         auto const granted = c.ask(fenced(kind::acquire, 100), key, "v");
         expect(granted.vote == vote::granted && granted.fence >= 100, "a proposal was not taken");
         c.releases(key, "v");
     })},
    {"a proposal that is not higher is not taken, and the key is", fencing,
     one_key([](client& c, std::string const& key) {
         c.ask(fenced(kind::acquire, 100), key, "v");
         c.releases(key, "v");
         for (std::uint64_t const low : {100u, 99u, 1u}) {
             auto const granted = c.ask(fenced(kind::acquire, low), key, "w");
             expect(granted.vote == vote::granted, "a key was denied for its proposal");
             expect(granted.fence == 0 || granted.fence > 100, "a proposal was taken that was not higher");
             c.releases(key, "w");
         }
     })},
    {"a second trip counts on from the highest", fencing,
     one_key([](client& c, std::string const& key) {
         c.ask(fenced(kind::acquire, 100), key, "v");
         auto const low = c.ask(fenced(kind::raise, 50), key, "v");
         expect(low.vote == vote::granted && low.fence == 101, "a counter does not count on from where it is");
         expect(c.ask(fenced(kind::raise, 500), key, "v").fence == 501, "a counter does not count on from what was proposed");
         c.releases(key, "v");
     })},
    {"a counter outlives its lock", fencing,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(fenced(kind::acquire, 100), key, "v");
         c.releases(key, "v");
         expect(other.ask(fenced(kind::raise, 1), key, "w").fence == 101, "a counter went with its lock");
     }},
    {"each key has a counter of its own", fencing,
     [](node_kind const& k) {
         client c(k);
         auto const one = new_key(k), two = new_key(k);
         c.ask(fenced(kind::raise, 1000), one, "v");
         expect(c.ask(fenced(kind::raise, 10), two, "v").fence == 11, "two keys have one counter");
     }},
    {"a counter is exact up to its end", fencing,
     one_key([](client& c, std::string const& key) {
         std::uint64_t const high = (std::uint64_t(1) << 53) - 10;
         expect(c.ask(fenced(kind::raise, high), key, "v").fence == high + 1, "a high number was rounded");
         expect(c.ask(fenced(kind::raise, 1), key, "v").fence == high + 2, "a high number was rounded");
     })},

    // Contention
    {"who contends and is denied hears for how long", contention,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const denied = c.ask(contending("me"), key, "w");
         expect(denied.vote == vote::denied && denied.remaining.count() > 0 && denied.remaining <= long_ttl, "who is denied does not hear for how long");
         expect(!denied.handed_on, "a lock is handed on that nobody hands on");
         c.releases(key, "v");
     })},
    {"who contends and wins hears whether others want it", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         auto const alone = c.ask(contending("me"), key, "v");
         expect(alone.vote == vote::granted && !alone.wanted, "others want a lock that nobody has asked for");
         other.ask(contending("them"), key, "w");
         c.releases(key, "v");
         auto const wanted = c.ask(contending("me"), key, "x");
         expect(wanted.vote == vote::granted && wanted.wanted, "who was denied is forgotten at once");
         c.releases(key, "x");
     }},
    {"who wins does not wait for itself", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         other.ask(contending("them"), key, "w");
         c.releases(key, "v");
         auto const won = other.ask(contending("them"), key, "x");
         expect(won.vote == vote::granted && !won.wanted, "a client is kept waiting by itself");
         other.releases(key, "x");
     }},
    {"hand-overs are told to who is denied", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(contending("me", handovers::follow), key, "v");
         auto const begun = clock::now();
         bool const told = other.ask(contending("them"), key, "w").handed_on;
         expect(told || clock::now() - begun > 500ms, "who is denied does not hear that a lock is handed on");
         expect(c.vote_of({.what = kind::release, .handed_on = handovers::end}, key, "v"), "the owner could not release");
         auto const won = other.ask(contending("them"), key, "x");
         expect(won.vote == vote::granted, "a released key is not free");
         other.releases(key, "x");
     }},
    {"who watches is notified of a release", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         expect(denied.watched == other.node().notifies(), "what a node says of notifying and what it does differ");
         c.releases(key, "v");
         if (denied.watched)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; }, "a node does not notify of a release");
     }},
    {"what is released while it is asked for is told after the answer", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         for (int i = 0; i < 50; ++i) {
             auto const key = new_key(k), who = "them" + std::to_string(i);
             c.acquires(key, "v");
             auto const asked = other.put(contending(who, handovers::end, true), key, "w");
             other.run_for(i * 50us);
             auto const given_back = c.put({.what = kind::release}, key, "v");
             c.run_for(200us);
             auto const answer = other.answer_of(asked);
             c.answer_of(given_back);
             if (answer.vote == vote::granted)
                 other.releases(key, "w");
             else if (answer.watched)
                 other.run_to([&] { return other.was_told_after(*asked, key); }, "a node does not notify, after its answer, of a release that came meanwhile");
         }
     }},
    {"who is denied what is released meanwhile is wanted all the same", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         bool const also_several = k.locks_several;
         for (int i = 0; i < (also_several ? 40 : 20); ++i) {
             auto const key = new_key(k);
             auto const keys = i % 2 == 0 || !also_several ? resource_set(key) : resource_set(key, key + "b");
             c.acquires(key, "v");
             auto const asked = other.put(contending("them"), keys, "w");
             other.run_to([&] { return asked->sent_on() != 0; }, "an acquisition is not sent");
             for (int step = 0; step < i / 2; ++step)
                 other.run_for(0s);
             c.releases(key, "v");
             auto const answer = other.answer_of(asked);
             if (answer.vote == vote::granted) {
                 other.releases(keys, "w");
                 continue;
             }
             expect(keys.size() == 1 || !answer.taken.empty(), "a node denies several keys, and does not tell which of them are taken");
             expect(c.ask(contending("me"), key, "x").wanted, "who was denied a key that was released meanwhile is forgotten");
             c.releases(key, "x");
         }
     }},
    {"who watches is notified of a release after one of its own that was in vain", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         expect(!other.releases(key, "late"), "somebody else's lock was released");
         c.releases(key, "v");
         if (denied.watched)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; }, "a release in vain ends a watch");
     }},
    {"two managers that want one lock share it equally", contention,
     [](node_kind const& k) {
         auto const make = [&](std::string_view, config const&, store_context const&) { return k.make(); };
         expect_fair_shares({.nodes = {"suite://server"},
                             .stores = {{.schemes = {"suite"}, .make = make}},
                             .prefix = k.prefix,
                             .node_timeout = 3s,
                             .restart_guard = restart_guard::off});
     }},
    {"who watches is notified of the end of hand-overs", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(contending("me", handovers::follow), key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         c.vote_of({.what = kind::release, .handed_on = handovers::end}, key, "v");
         auto const end = key + ":=turn" + (k.prefix.find('{') == std::string::npos ? ":{" + key + "}" : "");  // a key with a hash tag has it already
         if (denied.watched && denied.handed_on)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), end) > 0; }, "a node does not notify of the end of hand-overs");
     }},

    {"who does not wait any more keeps nobody from sharing", sharing_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         other.ask(contending("writer"), key, "w");
         expect(!c.vote_of(shared(kind::acquire), key, "r2"), "who comes late passes one who waits to have the key alone");
         other.vote_of({.what = kind::withdraw, .contender = "writer"}, key, {});
         expect(c.vote_of(shared(kind::acquire), key, "r2"), "who does not wait any more keeps others from sharing");
         c.vote_of(shared(kind::release), key, "r1");
         c.vote_of(shared(kind::release), key, "r2");
     }},

    // What it leaves out
    {"it says that it draws no tokens", no_tokens,
     [](node_kind const& k) {
         expect(!k.make()->can(fenced(kind::raise, 1)), "a node that draws no tokens says that it can");
     }},
    {"it says that it locks one key at a time", one_at_a_time,
     [](node_kind const& k) {
         auto const keys = new_keys(k);
         expect(!k.make()->can({.what = kind::acquire, .keys = keys}), "a node that locks one key at a time says that it can lock several");
     }},
    {"it says that it does not choose from several keys", no_choice,
     [](node_kind const& k) {
         auto const keys = new_keys(k);
         expect(!k.make()->can({.what = kind::acquire, .any = true, .keys = keys}), "a node that does not choose says that it can");
     }},
    {"it says that nobody shares its keys", no_sharing,
     [](node_kind const& k) {
         std::array const keys{new_key(k)};
         expect(!k.make()->can({.what = kind::acquire, .mode = mode::shared, .keys = keys}), "a node whose keys nobody shares says that it can");
     }},

    {"it says that it upgrades nothing that is shared", no_upgrades,
     [](node_kind const& k) {
         std::array const keys{new_key(k)};
         expect(!k.make()->can({.what = kind::upgrade, .mode = mode::shared, .keys = keys}), "a node that upgrades nothing says that it can");
     }},

    // Several keys at once
    {"several keys are set together, or none of them", several,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         expect(c.node().can({.what = kind::acquire, .keys = keys}), "a node that locks several keys says that it cannot");
         expect(c.acquires(keys, "v"), "free keys were not set");
         for (auto const& key : keys)
             expect(!c.acquires(key, "w") && c.inspect(key).text == "v", "one of several keys was not set");
         expect(!c.extends(keys, "w") && c.extends(keys, "v"), "several keys were extended for another value, or not for theirs");
         expect(c.releases(keys, "v"), "several keys were not released");
         c.acquires(keys[1], "w");
         expect(!c.acquires(keys, "v"), "keys of which one is taken were set");
         for (auto const& key : {keys[0], keys[2]})
             expect(c.inspect(key).vote == vote::denied, "some keys were set, though one of them is taken");
         c.releases(keys[1], "w");
     }},
    {"a release deletes of several keys those that hold the value", several,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.acquires(resource_set{keys[0], keys[2]}, "v");
         c.acquires(keys[1], "w");
         auto const released = c.ask({.what = kind::release}, keys, "v");
         expect(released.vote == vote::denied && released.ours == 2, "a release does not tell how many of several keys it has deleted");
         expect(c.inspect(keys[1]).text == "w", "a release deleted the key of another");
         expect(c.acquires(resource_set{keys[0], keys[2]}, "x"), "a release left some of several keys");
         c.releases(resource_set{keys[0], keys[2]}, "x");
         c.releases(keys[1], "w");
     }},
    {"who contends for several keys is told which of them are taken", growth,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.acquires(keys[1], "w");
         auto const denied = c.ask(contending("me"), keys, "v");
         expect(denied.vote == vote::denied && denied.taken.size() == 1 && denied.taken[0].index == 1,
                "a node does not tell which of several keys is taken");
         expect(denied.taken[0].remaining > 0ms && denied.taken[0].remaining <= long_ttl, "a node does not tell for how long a key is taken");
         c.releases(keys[1], "w");
     }},
    {"who grows keeps the keys before the first that is taken, and adds to them", growth,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         auto grow = contending("me");
         grow.grows = true;
         c.acquires(keys[2], "w");
         auto const denied = c.ask(grow, keys, "v");
         expect(denied.vote == vote::denied && denied.ours == 2, "the keys before the first that is taken were not set");
         expect(c.inspect(keys[0]).text == "v" && c.inspect(keys[1]).text == "v", "the keys before the first that is taken were not set");
         c.releases(keys[2], "w");
         expect(c.ask(grow, keys, "v").vote == vote::granted, "keys that are held by the value are not added to");
         auto const r = std::make_shared<request>(node_command{.what = kind::release, .ttl = long_ttl}, keys, "v");
         r->unanswered = 0xffff'fffe;  // on a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "several keys were not released");
         expect(c.ask(grow, keys, "v").vote == vote::denied && c.inspect(keys[0]).vote == vote::denied, "keys were set again after their release");
     }},
    {"the counters of several keys come to one number", several_with_tokens,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         expect(c.ask(fenced(kind::raise, 100), keys[1], "v").fence == 101, "a counter was not raised");
         auto const granted = c.ask(fenced(kind::acquire, 100), keys, "v");
         expect(granted.vote == vote::granted && granted.fence == 0, "a proposal counts that one of several counters did not take");
         expect(c.ask(fenced(kind::raise, 7), keys, "v").fence == 102, "several counters were not raised beyond the highest of them");
         expect(c.ask(fenced(kind::raise, 7), keys[0], "v").fence == 103, "several counters were not raised together");
         c.releases(keys, "v");
         expect(c.ask(fenced(kind::acquire, 200), keys, "w").fence == 200, "a proposal was not taken by several counters");
         c.releases(keys, "w");
     }},

    // Any one of several keys
    {"of several keys the first that is free is set, and no other", choice,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         expect(c.node().can({.what = kind::acquire, .any = true, .keys = keys}) && c.node().can({.what = kind::release, .keys = keys}),
                "a node that chooses from several keys says that it cannot");
         for (std::uint32_t i = 0; i < 3; ++i) {
             auto const won = (i == 1 ? other : c).ask(any(), keys, "v" + std::to_string(i));
             expect(won.vote == vote::granted && won.chosen == i, "it is not the first of several keys that is chosen, or not what the node says");
             for (std::uint32_t at = 0; at < 3; ++at)
                 expect((c.inspect(keys[at]).vote == vote::granted) == (at <= i), "another key than the chosen one was set, or none");
             expect(c.inspect(keys[i]).text == "v" + std::to_string(i), "the chosen key holds another value");
         }
         auto const denied = c.ask(any(), keys, "w");
         expect(denied.vote == vote::denied && denied.taken.size() == 3, "keys that are all taken were granted, or the node does not tell that they are");
         for (std::uint32_t i = 0; i < 3; ++i)
             expect(denied.taken[i].index == i && denied.taken[i].remaining > 0ms && denied.taken[i].remaining <= long_ttl,
                    "a node does not tell for how long each of several keys is taken");
         expect(c.extends(keys[1], "v1") && c.releases(keys[1], "v1"), "a chosen key is no key like others");
         expect(c.ask(any(), keys, "w").chosen == 1, "a key that was given back is not chosen");
         expect(c.ask({.what = kind::release}, keys, "w").ours == 1, "a release of several keys did not find the one that was chosen");
         c.releases(keys[0], "v0");
         c.releases(keys[2], "v2");
         auto const reversed = c.answer_of(c.put(std::make_shared<request>(any(), std::vector{keys[2], keys[0]}, "w")));
         expect(reversed.vote == vote::granted && reversed.chosen == 0 && c.inspect(keys[2]).text == "w", "of several keys it is not the first that is chosen");
         auto const given_back = c.answer_of(c.put(std::make_shared<request>(node_command{.what = kind::release}, std::vector{keys[2], keys[0]}, "w")));
         expect(given_back.ours == 1 && c.inspect(keys[2]).vote == vote::denied, "keys are not given back, if they stand in another order");
     }},
    {"a chosen key expires, and then is chosen again", choice,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         auto brief = any({.what = kind::acquire, .ttl = c.short_ttl()});
         for (auto const* value : {"v", "w", "x"})
             expect(c.vote_of(brief, keys, value), "a free key was denied");
         c.run_to([&] { return c.ask(any(), keys, "y").vote == vote::granted; }, "a chosen key outlived its ttl");
         c.ask({.what = kind::release}, keys, "y");
     }},
    {"only the counter of the chosen key takes the proposal", choice_with_tokens,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.ask(fenced(kind::raise, 500), keys[1], "v");
         auto const first = c.ask(any(fenced(kind::acquire, 100)), keys, "v"), second = c.ask(any(fenced(kind::acquire, 100)), keys, "w");
         expect(first.vote == vote::granted && first.fence == 100, "a proposal was not taken by the counter of the chosen key");
         expect(second.vote == vote::granted && second.fence == 0, "a proposal counts that the counter of the chosen key did not take");
         expect(c.ask(fenced(kind::raise, 1), keys[2], "x").fence == 2, "the counter of a key was raised that was not chosen");
         expect(c.ask(fenced(kind::raise, 1), keys[0], "v").fence == 101, "the counter of the chosen key was not raised");
         c.releases(keys[0], "v");
         c.releases(keys[1], "w");
     }},
    {"who contends for any of several keys hears of others, and they of it", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         auto const alone = c.ask(any(contending("me")), keys, "v");
         expect(alone.vote == vote::granted && !alone.wanted, "others want a lock that nobody has asked for");
         c.acquires(keys[1], "w");
         c.acquires(keys[2], "x");
         expect(other.ask(any(contending("them")), keys, "y").taken.size() == 3, "who is denied is not told of all keys");
         c.releases(keys[1], "w");
         auto const wanted = c.ask(any(contending("me")), keys, "w");
         expect(wanted.vote == vote::granted && wanted.wanted, "who was denied is forgotten at once");
         c.releases(keys[2], "x");
         expect(!other.ask(any(contending("them")), keys, "y").wanted, "who wins waits for itself");
         c.releases(keys[1], "w");
         expect(!c.ask(contending("me"), keys[1], "w").wanted, "who has won one of several keys is said to want the others still");
         c.releases(keys[0], "v");
         c.releases(keys[1], "w");
         other.releases(keys[2], "y");
     }},
    {"who watches any of several keys is notified of the release of each", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         for (auto const& key : keys)
             c.acquires(key, "v");
         for (auto const& key : keys) {
             auto const denied = other.ask(any(contending("them", handovers::end, true)), keys, "w");
             expect(denied.watched == other.node().notifies(), "what a node says of notifying and what it does differ");
             c.releases(key, "v");
             if (denied.watched)
                 other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; }, "a node does not notify of a release");
             c.acquires(key, "v");
         }
         c.ask({.what = kind::release}, keys, "v");
     }},
    {"hand-overs of a chosen key are told to who is denied", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         auto const begun = clock::now();
         expect(c.ask(any(contending("me", handovers::follow)), keys, "v").vote == vote::granted, "a free key was denied");
         c.acquires(keys[1], "w");
         c.acquires(keys[2], "x");
         auto const denied = other.ask(any(contending("them")), keys, "y");
         bool const told = denied.taken.size() == 3 && denied.taken[0].handed_on && !denied.taken[1].handed_on;
         expect(told || clock::now() - begun > 500ms, "who is denied does not hear which of several keys is handed on");
         expect(c.vote_of({.what = kind::release, .handed_on = handovers::end}, keys[0], "v"), "the owner could not release");
         c.releases(keys[1], "w");
         c.releases(keys[2], "x");
     }},

    // Sharing
    {"who shares a key has it together with others, and nobody alone", sharing,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         std::array const keys{key};
         expect(c.node().can({.what = kind::acquire, .mode = mode::shared, .keys = keys}), "a node that lets keys be shared says that it does not");
         expect(c.vote_of(shared(kind::acquire), key, "r1") && other.vote_of(shared(kind::acquire), key, "r2"), "a key could not be shared");
         expect(!other.acquires(key, "w"), "a key that is shared was set by one alone");
         expect(!c.extends(key, "r1") && !c.releases(key, "r1"), "who shares a key has it alone");
         expect(c.inspect(key).text == ":=shared", "a key that is shared holds another word");
         expect(c.vote_of(shared(kind::release), key, "r1") && !other.acquires(key, "w"), "the first that went took the key along");
         expect(other.vote_of(shared(kind::release), key, "r2") && c.acquires(key, "w"), "the last that went left the key");
         expect(!other.vote_of(shared(kind::acquire), key, "r3"), "a key that one has alone was shared");
         expect(!other.vote_of(shared(kind::extend), key, "r1") && !other.vote_of(shared(kind::release), key, "r1"), "who has left shares a key still");
         c.releases(key, "w");
     }},
    {"each that shares a key has a ttl of its own", sharing,
     one_key([](client& c, std::string const& key) {
         expect(c.vote_of(shared(kind::acquire), key, "long"), "a key could not be shared");
         if (c.inspect(key).remaining < 10 * c.short_ttl())
             return;  // it ends with a session
         expect(c.vote_of(shared(kind::acquire, c.short_ttl()), key, "short"), "a key could not be shared");
         expect(c.inspect(key).remaining > c.short_ttl(), "who came later shortened what the first has");
         expect(c.vote_of(shared(kind::extend, c.short_ttl()), key, "long"), "who shares a key could not extend");
         expect(c.inspect(key).remaining > c.short_ttl(), "an extension shortened what others have");
         c.run_for(2 * c.short_ttl());
         expect(!c.vote_of(shared(kind::extend), key, "short") && !c.vote_of(shared(kind::release), key, "short"), "a share did not end");
         expect(c.vote_of(shared(kind::release), key, "long") && c.acquires(key, "w"), "who had ended kept the key from being free");
         c.releases(key, "w");
     })},
    {"who shares a key again after a while is entered again", sharing_and_healing,
     one_key([](client& c, std::string const& key) {
         auto heal = shared(kind::extend);
         heal.heal = true;
         auto const healed = c.ask(heal, key, "r1");
         expect(healed.vote == vote::denied && healed.healed, "who is missing was not entered again, or counts as if it had been there");
         expect(c.vote_of(shared(kind::extend), key, "r1") && !c.acquires(key, "w"), "who was entered again is not there");
         auto const r = std::make_shared<request>(shared(kind::release), key, "r1");
         r->unanswered = 0xffff'fffe;  // on a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "who was entered again could not leave");
         expect(!c.ask(heal, key, "r1").healed && c.acquires(key, "w"), "who had left was entered again");
         expect(!c.ask(heal, key, "r2").healed, "somebody was entered beside one who has the key alone");
         c.releases(key, "w");
     })},
    {"who shares a key has it alone if nobody else does, and shares it again", upgrades,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::acquire), key, "r2");
         std::array const keys{key};
         expect(c.node().can({.what = kind::upgrade, .mode = mode::shared, .keys = keys}) && c.node().can({.what = kind::downgrade, .mode = mode::shared, .keys = keys}), "a node that upgrades says that it does not");
         auto const denied = c.ask(shared(kind::upgrade), key, "r1");
         expect(denied.vote == vote::denied && denied.ours == 1 && denied.remaining > 0ms, "a key that others share was given to one, or it is not told that it shares it still");
         expect(c.ask(shared(kind::upgrade), key, "r3").ours == 0, "who does not share a key is told that it does");
         c.vote_of(shared(kind::release), key, "r2");
         expect(c.vote_of(shared(kind::upgrade), key, "r1") && c.inspect(key).text == "r1", "the only one that shares a key does not get it alone");
         expect(c.vote_of(shared(kind::upgrade), key, "r1"), "who has a key alone is not told so when it asks again");
         expect(!other.vote_of(shared(kind::acquire), key, "r2") && !other.acquires(key, "w"), "others got a key that one has alone");
         auto alone = shared(kind::extend);
         alone.alone = true;
         expect(c.vote_of(alone, key, "r1") && c.vote_of(shared(kind::extend), key, "r1"), "who has a key alone could not extend");
         expect(c.vote_of(shared(kind::downgrade), key, "r1") && c.vote_of(shared(kind::downgrade), key, "r1"), "a key was not shared again");
         expect(!c.vote_of(alone, key, "r1"), "who shares a key counts as having it alone");
         expect(other.vote_of(shared(kind::acquire), key, "r2") && !other.acquires(key, "w"), "a key that is shared again is not shared");
         expect(c.vote_of(shared(kind::release), key, "r1") && other.vote_of(shared(kind::release), key, "r2"), "who shares a key again could not leave");
         expect(!c.vote_of(shared(kind::upgrade), key, "r1") && !c.vote_of(shared(kind::downgrade), key, "r1"), "who has left got the key");
         expect(c.acquires(key, "w") && c.releases(key, "w"), "a key stayed behind");
     }},
    {"who has a key alone may leave, and is set again as such", upgrades,
     one_key([](client& c, std::string const& key) {
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::upgrade), key, "r1");
         expect(c.vote_of(shared(kind::release), key, "r1") && c.inspect(key).vote == vote::denied, "who had a key alone could not leave");
         auto heal = shared(kind::extend);
         heal.alone = heal.heal = true;
         auto const healed = c.ask(heal, key, "r2");
         expect(healed.vote == vote::denied && (!healed.healed || c.inspect(key).text == "r2"), "who had a key alone was set again as one of several");
         c.vote_of(shared(kind::release), key, "r2");
     })},
    {"who waits to have a key alone is passed by those only who may", sharing_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         other.ask(contending("writer"), key, "w");
         auto late = shared(kind::acquire);
         auto const denied = c.ask(late, key, "r2");
         expect(denied.vote == vote::denied && denied.behind_writer && denied.remaining > 0ms, "who comes late passes one who waits to have the key alone");
         late.contender = "writer";
         auto const own = c.ask(late, key, "r3");
         expect(own.vote == vote::granted && !own.wanted, "a client keeps itself waiting");
         other.ask(contending("writer"), key, "w");
         late.contender = "reader";
         late.passes = true;
         auto const passed = c.ask(late, key, "r4");
         expect(passed.vote == vote::granted && passed.wanted, "who may pass did not, or does not hear who waits");
         for (auto const* value : {"r1", "r3", "r4"})
             c.vote_of(shared(kind::release), key, value);
         expect(other.ask(contending("writer"), key, "w").vote == vote::granted, "a key that nobody shares any more is not free");
         auto const kept_out = c.ask(late, key, "r5");
         expect(kept_out.vote == vote::denied && !kept_out.behind_writer && kept_out.remaining > 0ms && kept_out.remaining <= long_ttl,
                "who is kept out by one who has the key alone does not hear for how long");
         other.releases(key, "w");
     }},
    {"who shares a key reads its counter", sharing_with_tokens,
     one_key([](client& c, std::string const& key) {
         auto share = shared(kind::acquire), raise = shared(kind::raise);
         share.fence = 1;
         raise.fence = 70;
         expect(c.ask(share, key, "r1").fence == 0, "a counter is there that nobody has raised");
         expect(c.ask(raise, key, "r1").fence == 70 && c.ask(share, key, "r2").fence == 70, "a counter was not set to what was asked for");
         raise.fence = 7;
         expect(c.ask(raise, key, "r1").vote == vote::granted && c.ask(share, key, "r3").fence == 70, "a counter was set back");
         for (auto const* value : {"r1", "r2", "r3"})
             c.vote_of(shared(kind::release), key, value);
     })},
};

}  // namespace

std::span<node_case const> node_cases() { return all; }

}  // namespace redlock::testing
