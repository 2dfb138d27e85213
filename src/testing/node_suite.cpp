#include <redlock/testing/node_suite.hpp>

#include "fair_shares.hpp"
#include "node_client.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <utility>
#include <vector>

namespace redlock::inline v1::testing {

namespace {

/// A key of @p k that no client has ever used.
std::string new_key(node_kind const& k)
{
    static std::atomic<std::uint64_t> last{(std::uint64_t(std::random_device{}()) << 24)};
    return k.prefix + "suite:" + std::to_string(++last);
}

node_command contending(std::string_view who, handovers h = handovers::end, bool watch = false)
{
    return {.what = commands::acquire{.handed_on = h, .watch = watch, .contender = who}, .ttl = long_ttl};
}

node_command replacement(std::string_view former, mode how = mode::exclusive)
{
    return {.what = commands::replace{.former = former}, .mode = how, .ttl = long_ttl};
}

node_command fenced(kind what, std::uint64_t fence)
{
    node_command c{.what = command_of(what), .ttl = long_ttl};
    set_fence(c, fence);
    return c;
}

node_command shared(kind what, std::chrono::milliseconds ttl = long_ttl)
{
    return {.what = command_of(what), .mode = mode::shared, .ttl = ttl};
}

node_command any(node_command c = {.what = commands::acquire{}, .ttl = long_ttl})
{
    c.as<commands::acquire>().any = true;
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
bool replaces(node_kind const& k) { return k.replaces; }
bool does_not_replace(node_kind const& k) { return !k.replaces; }
bool several_and_replaces(node_kind const& k) { return k.locks_several && k.replaces; }
bool sharing_and_replaces(node_kind const& k) { return k.shares && k.replaces; }
bool sharing_with_tokens(node_kind const& k) { return k.shares && k.fences; }
bool sharing_and_healing(node_kind const& k) { return k.shares && k.heals; }
bool sharing_and_contention(node_kind const& k) { return k.shares && k.contends; }
bool growth(node_kind const& k) { return k.locks_several && k.contends && k.heals; }

/// Three keys that no client has ever used, in the order of their bytes.
std::array<std::string, 3> new_keys(node_kind const& k)
{
    auto const key = new_key(k);
    return {key, key + "b", key + "c"};
}

/// A case with one client and one key that no client has ever used.
template <class Case>
constexpr auto one_key(Case)
{
    return +[](node_kind const& k) {
        client c(k);
        Case()(c, new_key(k));
    };
}

constexpr node_case all[] = {
    {"the node has a name without a user and a password", always,
     [](node_kind const& k) {
         client c(k);
         expect(!c.node().name().empty() && c.node().name().find('@') == std::string::npos,
                "the name of the node is empty, or contains a user");
     }},
    {"the node reports its server before the first reply", always,
     [](node_kind const& k) {
         client c(k);
         expect(c.acquires(new_key(k), "v", c.short_ttl()) && c.connections > 0,
                "the node sent a reply before the event connected");
     }},

    // Acquisition.
    {"an acquisition of a free key is granted", always,
     one_key([](client& c, std::string const& key) {
         expect(c.acquires(key, "v"), "an acquisition of a free key was denied");
         c.releases(key, "v");
     })},
    {"an acquisition of a taken key with another value is denied", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(!c.acquires(key, "w"), "a key was granted twice");
         c.releases(key, "v");
     })},
    {"an acquisition of a taken key with the same value is denied", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(!c.acquires(key, "v"), "an acquisition extended a lock");
         c.releases(key, "v");
     })},
    {"an acquisition of a taken key by another client is denied", always,
     [](node_kind const& k) {
         client a(k), b(k);
         auto const key = new_key(k);
         a.acquires(key, "v");
         expect(!b.acquires(key, "w"), "two clients hold one key");
         a.releases(key, "v");
         expect(b.acquires(key, "w"), "a released key was denied to another client");
         b.releases(key, "w");
     }},
    {"keys are locked independently", always,
     [](node_kind const& k) {
         client c(k);
         auto const one = new_key(k), two = new_key(k);
         expect(c.acquires(one, "v") && c.acquires(two, "v"), "a lock on one key locked another key");
         expect(c.releases(one, "v") && !c.acquires(two, "w"), "the release of one key freed another key");
         c.releases(two, "v");
     }},
    {"keys and values may contain any bytes", always,
     [](node_kind const& k) {
         client c(k);
         auto const start = new_key(k);
         for (auto const& rest : {std::string("a b"), std::string("\0\r\n\xff", 4), std::string("'\"\\%_$"),
                                  std::string("\xc3\xa4"), std::string(400, 'k')}) {
             auto const value = rest + "value";
             expect(c.acquires(start + rest, value), "an acquisition was denied because of the bytes of its key");
             expect(!c.releases(start + rest, rest), "a release with a part of the value was granted");
             expect(c.releases(start + rest, value), "a release was denied because of the bytes of its value");
         }
     }},

    // Expiry.
    {"a key expires after its ttl", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key exists longer than its ttl");
         c.releases(key, "w");
     })},
    {"a key does not expire before the promised time", always,
     one_key([](client& c, std::string const& key) {
         auto const begun = clock::now();
         auto const granted = c.ask({.what = commands::acquire{}, .ttl = c.short_ttl()}, key, "v");
         auto const promised = begun + std::min(granted.good_for, c.short_ttl()) - 2ms;
         expect(granted.good_for.count() > 0, "a grant has good_for = 0");
         c.run_to([&] { return c.acquires(key, "w"); }, "a key exists longer than its ttl");
         expect(clock::now() >= promised, "a key expired before the promised time");
         c.releases(key, "w");
     })},
    {"an extension of an expired key is denied", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.inspect(key).vote == vote::denied; }, "a key exists longer than its ttl");
         expect(!c.extends(key, "v"), "an extension of an expired key was granted");
         expect(c.acquires(key, "w"), "a denied extension set the key");
         c.releases(key, "w");
     })},
    {"a release of an expired lock does not delete the next lock", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key exists longer than its ttl");
         expect(!c.releases(key, "v"), "a release deleted the lock of another value");
         expect(c.releases(key, "w"), "a lock does not exist any more");
     })},

    // Extension.
    {"an extension by the owner is granted", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v", long_ttl / 2);
         auto const before = c.inspect(key).remaining;
         auto const extended = c.ask({.what = commands::extend{}, .ttl = long_ttl}, key, "v");
         expect(extended.vote == vote::granted, "an extension by the owner was denied");
         expect(c.inspect(key).remaining > before || extended.good_for < long_ttl,
                "an extension did not raise the remaining time");
         c.releases(key, "v");
     })},
    {"an extension with another value is denied", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "value", c.short_ttl());
         for (auto const* const foreign : {"w", "", "valu", "value ", "VALUE"})
             expect(!other.extends(key, foreign), "an extension with another value was granted");
         c.run_to([&] { return c.acquires(key, "w"); }, "a denied extension raised the remaining time");
         c.releases(key, "w");
     }},
    {"an extension of a missing key is denied", always,
     one_key([](client& c, std::string const& key) {
         expect(!c.extends(key, "v"), "an extension of a missing key was granted");
         expect(c.acquires(key, "w"), "a denied extension set the key");
         c.releases(key, "w");
     })},
    {"an extension does not shorten the remaining time", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const before = c.inspect(key).remaining;
         expect(c.extends(key, "v", c.short_ttl()), "an extension by the owner was denied");
         auto const after = c.inspect(key).remaining;
         expect(after > c.short_ttl() || before <= c.short_ttl(), "an extension shortened the remaining time");
         c.releases(key, "v");
     })},

    // Release.
    {"a release by the owner is granted once", always,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         expect(c.releases(key, "v"), "a release by the owner was denied");
         expect(!c.releases(key, "v"), "a second release was granted");
         expect(c.acquires(key, "w"), "a released key is still taken");
         c.releases(key, "w");
     })},
    {"a release with another value is denied", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "value");
         for (auto const* const foreign : {"w", "", "valu", "value ", "VALUE"})
             expect(!other.releases(key, foreign), "a release with another value was granted");
         expect(!other.acquires(key, "w"), "a denied release deleted the key");
         expect(c.releases(key, "value"), "a lock does not exist any more");
     }},
    {"a release of a missing key is denied", always,
     [](node_kind const& k) {
         client c(k);
         expect(!c.releases(new_key(k), "v"), "a release of a missing key was granted");
     }},

    // Inspection.
    {"an inspection returns value and remaining time", always,
     one_key([](client& c, std::string const& key) {
         expect(c.inspect(key).vote == vote::denied, "an inspection of a free key was granted");
         auto const granted = c.ask({.what = commands::acquire{}, .ttl = long_ttl}, key, "v");
         auto const seen = c.inspect(key);
         expect(seen.vote == vote::granted && seen.text == "v", "an inspection does not return the value");
         expect(seen.remaining.count() > 0 && seen.remaining <= long_ttl,
                "an inspection does not return the remaining time");
         expect(seen.remaining > long_ttl / 2 || granted.good_for < long_ttl,
                "a key lives shorter than its ttl, and good_for does not say so");
         c.releases(key, "v");
     })},

    // Order and completion.
    {"operations on one key are carried out in the order of their submission", always,
     one_key([](client& c, std::string const& key) {
         std::vector<std::shared_ptr<request>> all;
         for (int i = 0; i < 20; ++i) {
             auto const value = std::to_string(i);
             all.push_back(c.put({.what = commands::acquire{}, .ttl = long_ttl}, key, value));
             all.push_back(c.put({.what = commands::release{}}, key, value));
         }
         for (auto const& r : all)
             expect(c.answer_of(r).vote == vote::granted, "an operation overtook an earlier operation on the same key");
     })},
    {"the node completes each operation once", always,
     [](node_kind const& k) {
         client c(k);
         std::vector<std::shared_ptr<request>> all;
         auto const key = new_key(k);
         for (int i = 0; i < 200; ++i)
             all.push_back(c.put({.what = command_of(i % 3 == 2 ? kind::release : kind::acquire), .ttl = long_ttl},
                                 key + std::to_string(i / 3), "v"));
         for (auto const& r : all)
             c.answer_of(r);
         c.run_for(20ms);
         expect(std::all_of(all.begin(), all.end(), [](auto& r) { return r->answers == 1; }),
                "an operation is completed more than once");
         expect(std::none_of(all.begin(), all.end(), [](auto& r) { return r->sent_after_answer; }),
                "the node sent an operation after its completion");
         for (int i = 0; i < 70; ++i)
             c.releases(key + std::to_string(i), "v");
     }},
    {"the node does not send a withdrawn operation", always,
     one_key([](client& c, std::string const& key) {
         auto const r = std::make_shared<request>(node_command{.what = commands::acquire{}, .ttl = long_ttl}, key, "v");
         r->is_withdrawn = true;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched && r->sent_on() == 0,
                "the node sent a withdrawn operation");
         expect(c.acquires(key, "w"), "the server carried out a withdrawn operation");
         c.releases(key, "w");
     })},
    {"the node does not send an operation after its deadline", always,
     one_key([](client& c, std::string const& key) {
         auto const r = std::make_shared<request>(node_command{.what = commands::acquire{}, .ttl = long_ttl}, key, "v");
         r->not_after = clock::now() - 1s;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched, "the node sent an operation after its deadline");
         expect(c.acquires(key, "w"), "the server carried out an operation after its deadline");
         c.releases(key, "w");
     })},
    {"close completes all pending operations", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         std::vector<std::shared_ptr<request>> all;
         for (int i = 0; i < 5; ++i)
             all.push_back(c.put({.what = commands::acquire{}, .ttl = c.short_ttl()}, key, std::to_string(i)));
         c.close();
         for (auto const& r : all) {
             expect(r->answers == 1, "close completed an operation twice, or never");
             expect(r->reply.vote != vote::unknown || r->reply.error.failed(), "an unknown vote has no reason");
             expect(r->sent_on() != 0 || r->reply.untouched,
                    "untouched is false although the operation was never sent");
         }
         expect(!c.node().ready(), "a node is ready after close");
         other.run_to([&] { return other.acquires(key, "w"); }, "a key exists longer than its ttl");
         other.releases(key, "w");
     }},
    {"an abandoned node completes no more operations", always,
     [](node_kind const& k) {
         auto context = std::make_unique<asio::io_context>();
         auto const n = k.make();
         n->start(context->get_executor(),
                  {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
         node_command const acquire{.what = commands::acquire{}, .ttl = 1s};
         auto const r = std::make_shared<request>(acquire, new_key(k), "v");
         n->submit(r);
         context->run_one_for(1ms);
         auto const before = r->answers;
         n->abandon();
         auto const after = r->answers;
         context.reset();
         expect(after <= 1 && r->answers == after && before <= after,
                "an abandoned node completed an operation afterwards, or twice");
     }},

    // Healing.
    {"an extension that heals sets a missing key and is denied", healing,
     one_key([](client& c, std::string const& key) {
         auto const healed = c.ask({.what = commands::extend{.heal = true}, .ttl = long_ttl}, key, "v");
         expect(healed.vote == vote::denied && healed.healed,
                "an extension did not set the missing key, or was granted");
         expect(c.extends(key, "v", long_ttl, true), "the next extension of a healed key was denied");
         expect(!c.acquires(key, "w"), "a healed key does not exist");
         c.releases(key, "v");
     })},
    {"an extension that heals does not replace the lock of another value", healing,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "w");
         auto const denied = c.ask({.what = commands::extend{.heal = true}, .ttl = long_ttl}, key, "v");
         expect(denied.vote == vote::denied && !denied.healed, "an extension replaced the lock of another value");
         expect(c.releases(key, "w"), "an extension replaced the lock of another value");
     })},
    {"a tombstone prevents healing with its own value only", healing,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const r = std::make_shared<request>(node_command{.what = commands::release{}, .ttl = long_ttl}, key, "v");
         r->unanswered = 0xffff'fffe;  // a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "a release by the owner was denied");
         expect(!c.ask({.what = commands::extend{.heal = true}, .ttl = long_ttl}, key, "v").healed,
                "an extension set a key again after its release");
         expect(c.ask({.what = commands::extend{.heal = true}, .ttl = long_ttl}, key, "w").healed,
                "a tombstone prevented healing with another value");
         c.releases(key, "w");
     })},

    // Another process takes a lock over.
    {"the node says that it cannot replace the value of a key", does_not_replace,
     [](node_kind const& k) {
         std::array const keys{new_key(k)};
         expect(!k.make()->can({.what = commands::replace{}, .keys = keys}),
                "a node that cannot replace a value says that it can");
     }},
    {"a replacement gives the key to the new value only", replaces,
     one_key([](client& c, std::string const& key) {
         std::array const keys{key};
         expect(c.node().can({.what = commands::replace{}, .keys = keys}),
                "a node that can replace a value says that it cannot");
         expect(!c.vote_of(replacement("v"), key, "w") && c.inspect(key).vote == vote::denied,
                "a replacement of a free key was granted, or has set the key");
         c.acquires(key, "v");
         expect(!c.vote_of(replacement("u"), key, "w"), "a replacement of another value was granted");
         expect(c.vote_of(replacement("v"), key, "w") && c.inspect(key).text == "w",
                "a replacement of the holder's value was denied, or did not set the value");
         expect(c.vote_of(replacement("v"), key, "w"), "a repeated replacement was denied");
         expect(!c.extends(key, "v", long_ttl, true) && !c.releases(key, "v") && !c.vote_of(replacement("v"), key, "x"),
                "the former value still holds the key");
         expect(c.extends(key, "w") && c.releases(key, "w"), "the new value does not hold the key");
     })},
    {"a replacement raises the time to live and never shortens it", replaces,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         bool const ends_with_session = c.inspect(key).remaining < 10 * c.short_ttl();
         c.releases(key, "v");
         if (ends_with_session)
             return;
         c.acquires(key, "v", c.short_ttl());
         expect(c.vote_of(replacement("v"), key, "w") && c.inspect(key).remaining > c.short_ttl(),
                "a replacement was denied, or did not raise the time to live");
         auto shorter = replacement("w");
         shorter.ttl = c.short_ttl();
         expect(c.vote_of(shorter, key, "x") && c.inspect(key).remaining > c.short_ttl(),
                "a replacement shortened the time to live");
         c.releases(key, "x");
     })},
    {"a tombstone prevents a replacement by its own value only", replaces,
     one_key([](client& c, std::string const& key) {
         auto const r = std::make_shared<request>(node_command{.what = commands::release{}, .ttl = long_ttl}, key, "w");
         r->unanswered = 0xffff'fffe;  // a connection that has ended
         c.answer_of(c.put(r));
         c.acquires(key, "v");
         expect(!c.vote_of(replacement("v"), key, "w") && c.inspect(key).text == "v",
                "a value replaced another one after its release");
         expect(c.vote_of(replacement("v"), key, "x") && c.releases(key, "x"),
                "a tombstone prevented a replacement by another value");
     })},
    {"a replacement of several keys replaces all or none", several_and_replaces,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.acquires(keys, "v");
         c.releases(keys.front(), "v");
         expect(!c.vote_of(replacement("v"), keys, "w") && c.inspect(keys.back()).text == "v",
                "a replacement replaced one of several keys, or was granted");
         c.acquires(keys.front(), "v");
         expect(c.vote_of(replacement("v"), keys, "w") && !c.releases(keys, "v"),
                "a replacement of several keys was denied, or left one");
         expect(c.extends(keys, "w") && c.releases(keys, "w"), "the new value does not hold all keys");
     }},
    {"a replacement of a reader leaves the other readers alone", sharing_and_replaces,
     one_key([](client& c, std::string const& key) {
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::acquire), key, "r2");
         expect(!c.vote_of(replacement("r3", mode::shared), key, "r4"), "a replacement of no reader was granted");
         expect(!c.vote_of(replacement("r1"), key, "w"), "a reader became an exclusive holder");
         expect(c.vote_of(replacement("r1", mode::shared), key, "r4"), "a replacement of a reader was denied");
         expect(c.vote_of(replacement("r1", mode::shared), key, "r4"), "a repeated replacement was denied");
         expect(!c.vote_of(shared(kind::extend), key, "r1") && !c.vote_of(shared(kind::release), key, "r1"),
                "the former reader still shares the key");
         expect(c.vote_of(shared(kind::extend), key, "r2") && c.vote_of(shared(kind::extend), key, "r4"),
                "a reader does not share the key after a replacement");
         expect(c.vote_of(shared(kind::release), key, "r2") && !c.acquires(key, "w")
                    && c.vote_of(shared(kind::release), key, "r4") && c.acquires(key, "w"),
                "the key is not free after the last release, or was free before");
         c.releases(key, "w");
     })},

    // Fencing tokens.
    {"an acquisition with a higher proposal raises the counter", fencing,
     one_key([](client& c, std::string const& key) {
         auto const granted = c.ask(fenced(kind::acquire, 100), key, "v");
         expect(granted.vote == vote::granted && granted.fence >= 100, "the counter did not take a higher proposal");
         c.releases(key, "v");
     })},
    {"an acquisition with a proposal that is not higher is granted", fencing,
     one_key([](client& c, std::string const& key) {
         c.ask(fenced(kind::acquire, 100), key, "v");
         c.releases(key, "v");
         for (std::uint64_t const low : {100u, 99u, 1u}) {
             auto const granted = c.ask(fenced(kind::acquire, low), key, "w");
             expect(granted.vote == vote::granted, "an acquisition was denied because of its proposal");
             expect(granted.fence == 0 || granted.fence > 100, "the counter took a proposal that is not higher");
             c.releases(key, "w");
         }
     })},
    {"raise adds one to the higher one of counter and proposal", fencing,
     one_key([](client& c, std::string const& key) {
         c.ask(fenced(kind::acquire, 100), key, "v");
         auto const low = c.ask(fenced(kind::raise, 50), key, "v");
         expect(low.vote == vote::granted && low.fence == 101, "raise did not add one to the counter");
         expect(c.ask(fenced(kind::raise, 500), key, "v").fence == 501, "raise did not add one to the proposal");
         c.releases(key, "v");
     })},
    {"a counter keeps its value after the release of its lock", fencing,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(fenced(kind::acquire, 100), key, "v");
         c.releases(key, "v");
         expect(other.ask(fenced(kind::raise, 1), key, "w").fence == 101, "a release deleted the counter");
     }},
    {"each key has its own counter", fencing,
     [](node_kind const& k) {
         client c(k);
         auto const one = new_key(k), two = new_key(k);
         c.ask(fenced(kind::raise, 1000), one, "v");
         expect(c.ask(fenced(kind::raise, 10), two, "v").fence == 11, "two keys share a counter");
     }},
    {"a counter is exact up to 2^53", fencing,
     one_key([](client& c, std::string const& key) {
         std::uint64_t const high = (std::uint64_t(1) << 53) - 10;
         expect(c.ask(fenced(kind::raise, high), key, "v").fence == high + 1, "the node rounded a high counter");
         expect(c.ask(fenced(kind::raise, 1), key, "v").fence == high + 2, "the node rounded a high counter");
     })},

    // Contention.
    {"a denied contender gets the remaining time", contention,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const denied = c.ask(contending("me"), key, "w");
         expect(denied.vote == vote::denied && denied.remaining.count() > 0 && denied.remaining <= long_ttl,
                "a denied contender does not get the remaining time");
         expect(!denied.handed_on, "handed_on is true without hand-overs");
         c.releases(key, "v");
     })},
    {"a denied contender gets the holder's value or nothing", contention,
     one_key([](client& c, std::string const& key) {
         c.acquires(key, "v");
         auto const denied = c.ask(contending("me"), key, "w");
         expect(denied.text.empty() || denied.text == "v", "a denied contender gets a text that is not the value");
         c.releases(key, "v");
     })},
    {"an inspection lists the clients that wait, or says that it does not", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto asks = contending("them");
         set_note(asks, "a note");
         other.ask(asks, key, "w");
         auto const waiters = [&] {
             auto const details = c.inspect(key).details;
             return details && details->knows_waiters ? std::optional(details->waiters) : std::nullopt;
         };
         if (auto const while_held = waiters()) {
             expect(while_held->size() == 1, "an inspection does not list the one client that waits");
             auto const& w = while_held->front();
             expect(w.contender == "them" && !w.shares, "an inspection lists another client than the one that waits");
             expect(w.note.empty() || w.note == "a note", "an inspection lists another note than that of the client");
         }
         c.vote_of({.what = commands::withdraw{.contender = "them"}}, key, {});
         if (auto const then = waiters())
             expect(then->empty(), "an inspection lists a client that has withdrawn");
         c.releases(key, "v");
     }},
    {"scans list each key once or more, or the node says that it cannot", always,
     [](node_kind const& k) {
         client c(k);
         std::set<std::string> mine, found;
         auto const prefix = new_key(k) + '-';
         for (int i = 0; i < 10; ++i)
             mine.insert(prefix + std::to_string(i));
         for (auto const& key : mine)
             c.acquires(key, "v");
         std::string place;
         for (int scans = 0; scans == 0 || !place.empty(); ++scans) {
             auto const page = c.answer_of(c.put({.what = commands::scan{.limit = 3}}, prefix, place));
             if (scans == 0 && page.error == errc::unsupported)
                 break;
             expect(page.vote == vote::granted && page.details != nullptr, "a scan was not granted");
             expect(scans < 10'000, "scans do not end");
             for (auto const& key : page.details->keys)
                 found.insert(key);
             place = page.text;
         }
         if (!found.empty())
             expect(std::ranges::includes(found, mine), "scans do not list all keys with their prefix");
         for (auto const& key : mine)
             c.releases(key, "v");
     }},
    {"an inspection that watches is notified of the next change", always,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         auto const look = [&](char const* what, auto change) {
             auto const seen = other.ask({.what = commands::inspect{.watch = true}}, key, {});
             change();
             if (seen.watched)
                 other.run_to([&] { return std::ranges::count(other.changes, key) > 0; }, what);
             other.changes.clear();
         };
         look("the node does not notify of an acquisition", [&] { c.acquires(key, "v"); });
         look("the node does not notify of a release", [&] { c.releases(key, "v"); });
     }},
    {"a granted contender gets whether others want the lock", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         auto const alone = c.ask(contending("me"), key, "v");
         expect(alone.vote == vote::granted && !alone.wanted, "wanted is true although no other client was denied");
         other.ask(contending("them"), key, "w");
         c.releases(key, "v");
         auto const wanted = c.ask(contending("me"), key, "x");
         expect(wanted.vote == vote::granted && wanted.wanted, "the node forgot a denied contender at once");
         c.releases(key, "x");
     }},
    {"a granted contender does not count as wanting the lock", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         other.ask(contending("them"), key, "w");
         c.releases(key, "v");
         auto const won = other.ask(contending("them"), key, "x");
         expect(won.vote == vote::granted && !won.wanted, "a granted contender counts as wanting the lock");
         other.releases(key, "x");
     }},
    {"a denied contender gets whether the lock is handed over", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(contending("me", handovers::follow), key, "v");
         auto const begun = clock::now();
         bool const told = other.ask(contending("them"), key, "w").handed_on;
         expect(told || clock::now() - begun > 500ms, "a denied contender does not get that the lock is handed over");
         expect(c.vote_of({.what = commands::release{.handed_on = handovers::end}}, key, "v"),
                "a release by the owner was denied");
         auto const won = other.ask(contending("them"), key, "x");
         expect(won.vote == vote::granted, "a released key is still taken");
         other.releases(key, "x");
     }},
    {"a watching contender is notified of a release", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         expect(denied.watched == other.node().notifies(), "watched and node::notifies differ");
         c.releases(key, "v");
         if (denied.watched)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; },
                          "the node does not notify of a release");
     }},
    {"a release during a denied acquisition is notified after the answer", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         for (int i = 0; i < 50; ++i) {
             auto const key = new_key(k), who = "them" + std::to_string(i);
             c.acquires(key, "v");
             auto const asked = other.put(contending(who, handovers::end, true), key, "w");
             other.run_for(i * 50us);
             auto const given_back = c.put({.what = commands::release{}}, key, "v");
             c.run_for(200us);
             auto const answer = other.answer_of(asked);
             c.answer_of(given_back);
             if (answer.vote == vote::granted)
                 other.releases(key, "w");
             else if (answer.watched)
                 other.run_to([&] { return other.was_told_after(*asked, key); },
                              "the node does not notify, after its answer, of a release before it");
         }
     }},
    {"a contender denied during a release still counts as wanting the lock", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         bool const also_several = k.locks_several;
         for (int i = 0; i < (also_several ? 40 : 20); ++i) {
             auto const key = new_key(k);
             auto const keys = i % 2 == 0 || !also_several ? resource_set(key) : resource_set(key, key + "b");
             c.acquires(key, "v");
             auto const asked = other.put(contending("them"), keys, "w");
             other.run_to([&] { return asked->sent_on() != 0; }, "the node does not send an acquisition");
             for (int step = 0; step < i / 2; ++step)
                 other.run_for(0s);
             c.releases(key, "v");
             auto const answer = other.answer_of(asked);
             if (answer.vote == vote::granted) {
                 other.releases(keys, "w");
                 continue;
             }
             expect(keys.size() == 1 || !answer.taken.empty(),
                    "the node denies several keys without the list of taken keys");
             expect(c.ask(contending("me"), key, "x").wanted,
                    "the node forgot a contender that was denied during a release");
             c.releases(key, "x");
         }
     }},
    {"a denied release does not end a watch", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         expect(!other.releases(key, "late"), "a release deleted the lock of another value");
         c.releases(key, "v");
         if (denied.watched)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; },
                          "a denied release ended a watch");
     }},
    {"two contending managers get equal shares of a lock", contention,
     [](node_kind const& k) {
         auto const make = [&](std::string_view, manager_options const&, store_context const&) { return k.make(); };
         expect_fair_shares({.nodes = {"suite://server"},
                             .stores = {{.schemes = {"suite"}, .make = make}},
                             .prefix = k.prefix,
                             .node_timeout = 3s,
                             .restart_guard = restart_guard::off});
     }},
    {"a watching contender is notified of the end of hand-overs", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(contending("me", handovers::follow), key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         c.vote_of({.what = commands::release{.handed_on = handovers::end}}, key, "v");
         // A key with a hash tag needs no other tag.
         auto const end = key + ":=turn" + (k.prefix.find('{') == std::string::npos ? ":{" + key + "}" : "");
         if (denied.watched && denied.handed_on)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), end) > 0; },
                          "the node does not notify of the end of hand-overs");
     }},

    {"a withdrawn writer does not keep readers out", sharing_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         other.ask(contending("writer"), key, "w");
         expect(!c.vote_of(shared(kind::acquire), key, "r2"), "a late reader was granted although a writer waits");
         other.vote_of({.what = commands::withdraw{.contender = "writer"}}, key, {});
         expect(c.vote_of(shared(kind::acquire), key, "r2"), "a reader was denied because of a withdrawn writer");
         c.vote_of(shared(kind::release), key, "r1");
         c.vote_of(shared(kind::release), key, "r2");
     }},

    // Features that the node does not have.
    {"the node says that it cannot draw tokens", no_tokens,
     [](node_kind const& k) {
         expect(!k.make()->can(fenced(kind::raise, 1)), "a node without tokens says that it can raise a counter");
     }},
    {"the node says that it cannot lock several keys", one_at_a_time,
     [](node_kind const& k) {
         auto const keys = new_keys(k);
         expect(!k.make()->can({.what = commands::acquire{}, .keys = keys}),
                "a node for single keys says that it can lock several keys");
     }},
    {"the node says that it cannot choose from several keys", no_choice,
     [](node_kind const& k) {
         auto const keys = new_keys(k);
         expect(!k.make()->can({.what = commands::acquire{.any = true}, .keys = keys}),
                "a node that does not choose from keys says that it can");
     }},
    {"the node says that it cannot share keys", no_sharing,
     [](node_kind const& k) {
         std::array const keys{new_key(k)};
         expect(!k.make()->can({.what = commands::acquire{}, .mode = mode::shared, .keys = keys}),
                "a node that cannot share keys says that it can");
     }},

    {"the node says that it cannot upgrade shared keys", no_upgrades,
     [](node_kind const& k) {
         std::array const keys{new_key(k)};
         expect(!k.make()->can({.what = commands::upgrade{}, .mode = mode::shared, .keys = keys}),
                "a node that cannot upgrade says that it can");
     }},

    // Several keys at once.
    {"an acquisition of several keys sets all or none", several,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         expect(c.node().can({.what = commands::acquire{}, .keys = keys}),
                "a node for several keys says that it cannot lock them");
         expect(c.acquires(keys, "v"), "an acquisition of several free keys was denied");
         for (auto const& key : keys)
             expect(!c.acquires(key, "w") && c.inspect(key).text == "v",
                    "an acquisition did not set one of several keys");
         expect(!c.extends(keys, "w") && c.extends(keys, "v"),
                "an extension of several keys was granted to another value, or denied to their own");
         expect(c.releases(keys, "v"), "a release of several keys was denied");
         c.acquires(keys[1], "w");
         expect(!c.acquires(keys, "v"), "an acquisition of several keys was granted although one is taken");
         for (auto const& key : {keys[0], keys[2]})
             expect(c.inspect(key).vote == vote::denied, "a denied acquisition of several keys set some of them");
         c.releases(keys[1], "w");
     }},
    {"a release of several keys deletes the keys that hold the value", several,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.acquires(resource_set{keys[0], keys[2]}, "v");
         c.acquires(keys[1], "w");
         auto const released = c.ask({.what = commands::release{}}, keys, "v");
         expect(released.vote == vote::denied && released.ours == 2,
                "a release does not return the number of deleted keys");
         expect(c.inspect(keys[1]).text == "w", "a release deleted the key of another value");
         expect(c.acquires(resource_set{keys[0], keys[2]}, "x"),
                "a release did not delete all keys that hold the value");
         c.releases(resource_set{keys[0], keys[2]}, "x");
         c.releases(keys[1], "w");
     }},
    {"a denied contender for several keys gets the list of taken keys", growth,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.acquires(keys[1], "w");
         auto const denied = c.ask(contending("me"), keys, "v");
         expect(denied.vote == vote::denied && denied.taken.size() == 1 && denied.taken[0].index == 1,
                "the node does not return which of several keys is taken");
         expect(denied.taken[0].remaining > 0ms && denied.taken[0].remaining <= long_ttl,
                "the node does not return for how long a key is taken");
         c.releases(keys[1], "w");
     }},
    {"an acquisition that grows keeps the keys before the first taken one", growth,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         auto grow = contending("me");
         grow.as<commands::acquire>().grows = true;
         c.acquires(keys[2], "w");
         auto const denied = c.ask(grow, keys, "v");
         expect(denied.vote == vote::denied && denied.ours == 2, "the keys before the first taken one were not set");
         expect(c.inspect(keys[0]).text == "v" && c.inspect(keys[1]).text == "v",
                "the keys before the first taken one were not set");
         c.releases(keys[2], "w");
         expect(c.ask(grow, keys, "v").vote == vote::granted, "an acquisition that grows did not add the released key");
         node_command const release{.what = commands::release{}, .ttl = long_ttl};
         auto const r = std::make_shared<request>(release, keys, "v");
         r->unanswered = 0xffff'fffe;  // a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "a release of several keys was denied");
         expect(c.ask(grow, keys, "v").vote == vote::denied && c.inspect(keys[0]).vote == vote::denied,
                "an acquisition that grows set keys again after their release");
     }},
    {"raise sets the counters of several keys to one number", several_with_tokens,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         expect(c.ask(fenced(kind::raise, 100), keys[1], "v").fence == 101, "raise did not raise a counter");
         auto const granted = c.ask(fenced(kind::acquire, 100), keys, "v");
         expect(granted.vote == vote::granted && granted.fence == 0,
                "a proposal became the token although one of several counters is higher");
         expect(c.ask(fenced(kind::raise, 7), keys, "v").fence == 102,
                "raise did not set several counters beyond the highest of them");
         expect(c.ask(fenced(kind::raise, 7), keys[0], "v").fence == 103,
                "raise did not raise all of several counters");
         c.releases(keys, "v");
         expect(c.ask(fenced(kind::acquire, 200), keys, "w").fence == 200,
                "several counters did not take a higher proposal");
         c.releases(keys, "w");
     }},

    // Any one of several keys.
    {"an acquisition of any key sets only the first free key", choice,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         expect(c.node().can({.what = commands::acquire{.any = true}, .keys = keys})
                    && c.node().can({.what = commands::release{}, .keys = keys}),
                "a node that chooses from several keys says that it cannot");
         for (std::uint32_t i = 0; i < 3; ++i) {
             auto const won = (i == 1 ? other : c).ask(any(), keys, "v" + std::to_string(i));
             expect(won.vote == vote::granted && won.chosen == i,
                    "the node did not choose the first free key, or returned another index");
             for (std::uint32_t at = 0; at < 3; ++at)
                 expect((c.inspect(keys[at]).vote == vote::granted) == (at <= i),
                        "the node set another key than the chosen one, or none");
             expect(c.inspect(keys[i]).text == "v" + std::to_string(i), "the chosen key holds another value");
         }
         auto const denied = c.ask(any(), keys, "w");
         expect(denied.vote == vote::denied && denied.taken.size() == 3,
                "an acquisition of taken keys was granted, or has no list of taken keys");
         for (std::uint32_t i = 0; i < 3; ++i)
             expect(denied.taken[i].index == i && denied.taken[i].remaining > 0ms
                        && denied.taken[i].remaining <= long_ttl,
                    "the node does not return for how long each of several keys is taken");
         expect(c.extends(keys[1], "v1") && c.releases(keys[1], "v1"),
                "an extension or a release of a chosen key was denied");
         expect(c.ask(any(), keys, "w").chosen == 1, "the node did not choose a released key");
         expect(c.ask({.what = commands::release{}}, keys, "w").ours == 1,
                "a release of several keys did not delete the chosen one");
         c.releases(keys[0], "v0");
         c.releases(keys[2], "v2");
         auto const reversed = c.answer_of(c.put(std::make_shared<request>(any(), std::vector{keys[2], keys[0]}, "w")));
         expect(reversed.vote == vote::granted && reversed.chosen == 0 && c.inspect(keys[2]).text == "w",
                "the node did not choose the first key of the caller's order");
         auto const given_back = c.answer_of(c.put(
             std::make_shared<request>(node_command{.what = commands::release{}}, std::vector{keys[2], keys[0]}, "w")));
         expect(given_back.ours == 1 && c.inspect(keys[2]).vote == vote::denied,
                "a release of keys in another order did not delete the chosen one");
     }},
    {"an expired key can be chosen again", choice,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         auto brief = any({.what = commands::acquire{}, .ttl = c.short_ttl()});
         for (auto const* value : {"v", "w", "x"})
             expect(c.vote_of(brief, keys, value), "an acquisition of a free key was denied");
         c.run_to([&] { return c.ask(any(), keys, "y").vote == vote::granted; },
                  "a chosen key exists longer than its ttl");
         c.ask({.what = commands::release{}}, keys, "y");
     }},
    {"only the counter of the chosen key takes the proposal", choice_with_tokens,
     [](node_kind const& k) {
         client c(k);
         auto const keys = new_keys(k);
         c.ask(fenced(kind::raise, 500), keys[1], "v");
         auto const first = c.ask(any(fenced(kind::acquire, 100)), keys, "v"),
                    second = c.ask(any(fenced(kind::acquire, 100)), keys, "w");
         expect(first.vote == vote::granted && first.fence == 100,
                "the counter of the chosen key did not take the proposal");
         expect(second.vote == vote::granted && second.fence == 0,
                "a proposal became the token although the counter is higher");
         expect(c.ask(fenced(kind::raise, 1), keys[2], "x").fence == 2, "the node raised the counter of another key");
         expect(c.ask(fenced(kind::raise, 1), keys[0], "v").fence == 101,
                "the node did not raise the counter of the chosen key");
         c.releases(keys[0], "v");
         c.releases(keys[1], "w");
     }},
    {"a contender for any key gets whether others want it", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         auto const alone = c.ask(any(contending("me")), keys, "v");
         expect(alone.vote == vote::granted && !alone.wanted, "wanted is true although no other client was denied");
         c.acquires(keys[1], "w");
         c.acquires(keys[2], "x");
         expect(other.ask(any(contending("them")), keys, "y").taken.size() == 3,
                "a denied contender does not get the list of all taken keys");
         c.releases(keys[1], "w");
         auto const wanted = c.ask(any(contending("me")), keys, "w");
         expect(wanted.vote == vote::granted && wanted.wanted, "the node forgot a denied contender at once");
         c.releases(keys[2], "x");
         expect(!other.ask(any(contending("them")), keys, "y").wanted,
                "a granted contender counts as wanting the lock");
         c.releases(keys[1], "w");
         expect(!c.ask(contending("me"), keys[1], "w").wanted,
                "a contender that got one of several keys still counts as wanting the others");
         c.releases(keys[0], "v");
         c.releases(keys[1], "w");
         other.releases(keys[2], "y");
     }},
    {"a contender that watches several keys is notified of each release", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         for (auto const& key : keys)
             c.acquires(key, "v");
         for (auto const& key : keys) {
             auto const denied = other.ask(any(contending("them", handovers::end, true)), keys, "w");
             expect(denied.watched == other.node().notifies(), "watched and node::notifies differ");
             c.releases(key, "v");
             if (denied.watched)
                 other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), key) > 0; },
                              "the node does not notify of a release");
             c.acquires(key, "v");
         }
         c.ask({.what = commands::release{}}, keys, "v");
     }},
    {"a denied contender gets which of several keys is handed over", choice_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const keys = new_keys(k);
         auto const begun = clock::now();
         expect(c.ask(any(contending("me", handovers::follow)), keys, "v").vote == vote::granted,
                "an acquisition of a free key was denied");
         c.acquires(keys[1], "w");
         c.acquires(keys[2], "x");
         auto const denied = other.ask(any(contending("them")), keys, "y");
         bool const told = denied.taken.size() == 3 && denied.taken[0].handed_on && !denied.taken[1].handed_on;
         expect(told || clock::now() - begun > 500ms,
                "a denied contender does not get which of several keys is handed over");
         expect(c.vote_of({.what = commands::release{.handed_on = handovers::end}}, keys[0], "v"),
                "a release by the owner was denied");
         c.releases(keys[1], "w");
         c.releases(keys[2], "x");
     }},

    // Readers and writers.
    {"readers share a key and exclude writers", sharing,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         std::array const keys{key};
         expect(c.node().can({.what = commands::acquire{}, .mode = mode::shared, .keys = keys}),
                "a node that can share keys says that it cannot");
         expect(c.vote_of(shared(kind::acquire), key, "r1") && other.vote_of(shared(kind::acquire), key, "r2"),
                "a shared acquisition was denied");
         expect(!other.acquires(key, "w"), "an exclusive acquisition of a shared key was granted");
         expect(!c.extends(key, "r1") && !c.releases(key, "r1"), "an exclusive command of a reader was granted");
         expect(c.inspect(key).text == ":=shared", "a shared key does not hold the value :=shared");
         expect(c.vote_of(shared(kind::release), key, "r1") && !other.acquires(key, "w"),
                "the release of one of two readers was denied, or freed the key");
         expect(other.vote_of(shared(kind::release), key, "r2") && c.acquires(key, "w"),
                "the release of the last reader was denied, or did not free the key");
         expect(!other.vote_of(shared(kind::acquire), key, "r3"),
                "a shared acquisition of an exclusive key was granted");
         expect(!other.vote_of(shared(kind::extend), key, "r1") && !other.vote_of(shared(kind::release), key, "r1"),
                "a command of a reader that has released was granted");
         c.releases(key, "w");
     }},
    {"an inspection lists the readers, or says that it does not", sharing,
     one_key([](client& c, std::string const& key) {
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::acquire), key, "r2");
         if (auto const details = c.inspect(key).details; details && details->knows_readers) {
             auto readers = details->readers;
             std::sort(readers.begin(), readers.end(), [](auto& a, auto& b) { return a.value < b.value; });
             expect(readers.size() == 2 && readers[0].value == "r1" && readers[1].value == "r2",
                    "an inspection does not list the readers");
             for (auto const& r : readers)
                 expect(r.remaining.count() > 0 && r.remaining <= long_ttl,
                        "an inspection does not return the remaining time of a reader");
         }
         c.vote_of(shared(kind::release), key, "r1");
         c.vote_of(shared(kind::release), key, "r2");
     })},
    {"each reader of a key has its own ttl", sharing,
     one_key([](client& c, std::string const& key) {
         expect(c.vote_of(shared(kind::acquire), key, "long"), "a shared acquisition was denied");
         if (c.inspect(key).remaining < 10 * c.short_ttl())
             return;  // the key ends with a session
         expect(c.vote_of(shared(kind::acquire, c.short_ttl()), key, "short"), "a shared acquisition was denied");
         expect(c.inspect(key).remaining > c.short_ttl(), "a later reader shortened the time of the key");
         expect(c.vote_of(shared(kind::extend, c.short_ttl()), key, "long"), "an extension by a reader was denied");
         expect(c.inspect(key).remaining > c.short_ttl(), "the extension of one reader shortened the time of the key");
         c.run_for(2 * c.short_ttl());
         expect(!c.vote_of(shared(kind::extend), key, "short") && !c.vote_of(shared(kind::release), key, "short"),
                "a reader did not expire");
         expect(c.vote_of(shared(kind::release), key, "long") && c.acquires(key, "w"),
                "an expired reader kept the key taken");
         c.releases(key, "w");
     })},
    {"a shared extension that heals enters a missing reader", sharing_and_healing,
     one_key([](client& c, std::string const& key) {
         auto heal = shared(kind::extend);
         set_heal(heal, true);
         auto const healed = c.ask(heal, key, "r1");
         expect(healed.vote == vote::denied && healed.healed,
                "an extension did not enter the missing reader, or was granted");
         expect(c.vote_of(shared(kind::extend), key, "r1") && !c.acquires(key, "w"),
                "a healed reader does not hold the key");
         auto const r = std::make_shared<request>(shared(kind::release), key, "r1");
         r->unanswered = 0xffff'fffe;  // a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "a release by a healed reader was denied");
         expect(!c.ask(heal, key, "r1").healed && c.acquires(key, "w"),
                "an extension entered a reader after its release");
         expect(!c.ask(heal, key, "r2").healed, "an extension entered a reader beside an exclusive holder");
         c.releases(key, "w");
     })},
    {"an upgrade of the only reader is granted and can be downgraded", upgrades,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::acquire), key, "r2");
         std::array const keys{key};
         expect(c.node().can({.what = commands::upgrade{}, .mode = mode::shared, .keys = keys})
                && c.node().can({.what = commands::downgrade{}, .mode = mode::shared, .keys = keys}),
                "a node that can upgrade says that it cannot");
         auto const denied = c.ask(shared(kind::upgrade), key, "r1");
         expect(denied.vote == vote::denied && denied.ours == 1 && denied.remaining > 0ms,
                "an upgrade beside other readers was granted, or its reply has ours = 0 or no remaining time");
         expect(c.ask(shared(kind::upgrade), key, "r3").ours == 0,
                "an upgrade by another value was answered as if it were a reader");
         c.vote_of(shared(kind::release), key, "r2");
         expect(c.vote_of(shared(kind::upgrade), key, "r1") && c.inspect(key).text == "r1",
                "an upgrade by the only reader was denied");
         expect(c.vote_of(shared(kind::upgrade), key, "r1"), "a second upgrade of an exclusive holder was denied");
         expect(!other.vote_of(shared(kind::acquire), key, "r2") && !other.acquires(key, "w"),
                "another client got an exclusive key");
         auto alone = shared(kind::extend);
         alone.as<commands::extend>().alone = true;
         expect(c.vote_of(alone, key, "r1") && c.vote_of(shared(kind::extend), key, "r1"),
                "an extension after an upgrade was denied");
         expect(c.vote_of(shared(kind::downgrade), key, "r1") && c.vote_of(shared(kind::downgrade), key, "r1"),
                "a downgrade was denied");
         expect(!c.vote_of(alone, key, "r1"), "an extension with alone was granted to a reader");
         expect(other.vote_of(shared(kind::acquire), key, "r2") && !other.acquires(key, "w"),
                "a downgraded key is not shared");
         expect(c.vote_of(shared(kind::release), key, "r1") && other.vote_of(shared(kind::release), key, "r2"),
                "a release after a downgrade was denied");
         expect(!c.vote_of(shared(kind::upgrade), key, "r1") && !c.vote_of(shared(kind::downgrade), key, "r1"),
                "an upgrade or a downgrade after a release was granted");
         expect(c.acquires(key, "w") && c.releases(key, "w"), "a key is still taken after all releases");
     }},
    {"an upgraded holder may release and is healed as an exclusive holder", upgrades,
     one_key([](client& c, std::string const& key) {
         c.vote_of(shared(kind::acquire), key, "r1");
         c.vote_of(shared(kind::upgrade), key, "r1");
         expect(c.vote_of(shared(kind::release), key, "r1") && c.inspect(key).vote == vote::denied,
                "a release after an upgrade was denied");
         auto heal = shared(kind::extend);
         heal.what = commands::extend{.heal = true, .alone = true};
         auto const healed = c.ask(heal, key, "r2");
         expect(healed.vote == vote::denied && (!healed.healed || c.inspect(key).text == "r2"),
                "an extension healed an upgraded holder as a reader");
         c.vote_of(shared(kind::release), key, "r2");
     })},
    {"readers pass a waiting writer only with passes", sharing_and_contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.vote_of(shared(kind::acquire), key, "r1");
         other.ask(contending("writer"), key, "w");
         auto late = shared(kind::acquire);
         auto const denied = c.ask(late, key, "r2");
         expect(denied.vote == vote::denied && denied.behind_writer && denied.remaining > 0ms,
                "a late reader was granted although a writer waits");
         set_contender(late, "writer");
         auto const own = c.ask(late, key, "r3");
         expect(own.vote == vote::granted && !own.wanted, "a reader was denied because of its own waiting writer");
         other.ask(contending("writer"), key, "w");
         set_contender(late, "reader");
         late.as<commands::acquire>().passes = true;
         auto const passed = c.ask(late, key, "r4");
         expect(passed.vote == vote::granted && passed.wanted,
                "a reader with passes was denied, or does not get that a writer waits");
         for (auto const* value : {"r1", "r3", "r4"})
             c.vote_of(shared(kind::release), key, value);
         expect(other.ask(contending("writer"), key, "w").vote == vote::granted,
                "a key is still taken after all readers have released it");
         auto const kept_out = c.ask(late, key, "r5");
         expect(kept_out.vote == vote::denied && !kept_out.behind_writer && kept_out.remaining > 0ms
                    && kept_out.remaining <= long_ttl,
                "a reader denied by an exclusive holder does not get the remaining time");
         other.releases(key, "w");
     }},
    {"a reader gets the counter of its key", sharing_with_tokens,
     one_key([](client& c, std::string const& key) {
         auto share = shared(kind::acquire), raise = shared(kind::raise);
         set_fence(share, 1);
         set_fence(raise, 70);
         expect(c.ask(share, key, "r1").fence == 0, "a counter exists although no client has raised it");
         expect(c.ask(raise, key, "r1").fence == 70 && c.ask(share, key, "r2").fence == 70,
                "raise did not set the counter to the number of the reader");
         set_fence(raise, 7);
         expect(c.ask(raise, key, "r1").vote == vote::granted && c.ask(share, key, "r3").fence == 70,
                "raise lowered a counter");
         for (auto const* value : {"r1", "r2", "r3"})
             c.vote_of(shared(kind::release), key, value);
     })},
};

}  // namespace

std::span<node_case const> node_cases() { return all; }

}  // namespace redlock::testing
