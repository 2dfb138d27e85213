#include <redlock/testing/node_suite.hpp>

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

namespace redlock::testing {

namespace {

using namespace std::chrono_literals;
using kind = node_command::kind;
using handovers = node_command::handovers;

constexpr auto patience = 20s;  // until something that should happen counts as missing
constexpr std::chrono::milliseconds long_ttl = 60s;

void expect(bool yes, char const* what)
{
    if (!yes)
        throw std::runtime_error(what);
}

/// A command that keeps what it views, and what becomes of it.
class request final : public node_operation {
public:
    explicit request(node_command c, std::string key, std::string value)
        : command_(c), key_(std::move(key)), value_(std::move(value))
    {
        command_.keys = {&key_, 1};
        command_.value = value_;
        not_after = clock::now() + patience;
    }

    node_command const& command() const noexcept override { return command_; }
    bool withdrawn() const noexcept override { return is_withdrawn; }
    void mark_sent(std::uint32_t connection) noexcept override
    {
        sent_after_answer = sent_after_answer || answers > 0;
        sent_on_ = connection;
    }
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override { return unanswered; }
    void complete(node_reply r) override
    {
        ++answers;
        within_submit = within_submit || submitting;
        reply = std::move(r);
        order = ++*clock;
    }

    node_reply reply;
    int answers = 0;
    int order = 0;  // among the answers of a client
    std::shared_ptr<int> clock = std::make_shared<int>(0);
    bool submitting = false, within_submit = false, sent_after_answer = false, is_withdrawn = false;
    std::uint32_t unanswered = 0;

private:
    node_command command_;
    std::string const key_;
    std::string const value_;
    std::uint32_t sent_on_ = 0;
};

/// A node in an event loop.
class client {
public:
    explicit client(node_kind const& k) : node_(k.make()), limits_(node_->limits())
    {
        node_->start(context_.get_executor(), {.connected = [this](server_identity const&) { ++connections; },
                                               .changed = [this](std::string_view key) { changes.emplace_back(key); }});
        try {
            auto const ready = put(node_command(), "", "");
            run_to([&] { return ready->answers > 0; }, "a command to connect is never answered");
            expect(ready->reply.vote == vote::granted && node_->ready(), "a node that can be connected to does not grant that");
        } catch (...) {
            close();
            throw;
        }
    }

    ~client()
    {
        if (!closed_)
            close();
    }

    std::shared_ptr<request> put(node_command c, std::string key, std::string value)
    {
        auto r = std::make_shared<request>(c, std::move(key), std::move(value));
        r->clock = answered_;
        return put(std::move(r));
    }

    std::shared_ptr<request> put(std::shared_ptr<request> r)
    {
        r->submitting = true;
        node_->submit(r);
        r->submitting = false;
        return r;
    }

    template <class Condition>
    void run_to(Condition done, char const* what)
    {
        for (auto const end = clock::now() + patience; !done();) {
            expect(clock::now() < end, what);
            context_.restart();
            context_.run_one_for(10ms);
        }
    }

    void run_for(clock::duration d)
    {
        for (auto const end = clock::now() + d; clock::now() < end;) {
            context_.restart();
            context_.run_one_for(1ms);
        }
    }

    node_reply answer_of(std::shared_ptr<request> const& r)
    {
        run_to([&] { return r->answers > 0; }, "an operation is never completed");
        expect(r->answers == 1, "an operation is completed more than once");
        expect(!r->within_submit, "an operation is completed from within submit");
        return r->reply;
    }

    node_reply ask(node_command c, std::string const& key, std::string const& value)
    {
        auto const r = put(c, key, value);
        auto reply = answer_of(r);
        expect(reply.vote != vote::unknown || reply.error.failed(), "an unknown vote has no reason");
        expect(r->sent_on() != 0, "an operation was sent, and not marked so");
        return reply;
    }

    bool acquires(std::string const& key, std::string const& value, std::chrono::milliseconds ttl = long_ttl)
    {
        return vote_of({.what = kind::acquire, .ttl = ttl}, key, value);
    }
    bool extends(std::string const& key, std::string const& value, std::chrono::milliseconds ttl = long_ttl, bool heal = false)
    {
        return vote_of({.what = kind::extend, .heal = heal, .ttl = ttl}, key, value);
    }
    bool releases(std::string const& key, std::string const& value) { return vote_of({.what = kind::release}, key, value); }
    node_reply inspect(std::string const& key) { return ask({.what = kind::inspect}, key, {}); }

    bool vote_of(node_command c, std::string const& key, std::string const& value)
    {
        auto const v = ask(c, key, value).vote;
        expect(v != vote::unknown, "a healthy server's vote is unknown");
        return v == vote::granted;
    }

    void close()
    {
        closed_ = true;
        node_->close();
        context_.restart();
        context_.run_for(1s);  // until nothing is left to do
    }

    redlock::node& node() { return *node_; }
    std::chrono::milliseconds short_ttl() { return std::max<std::chrono::milliseconds>(300ms, limits_.ttl_min); }

    int connections = 0;
    std::vector<std::string> changes;

private:
    asio::io_context context_;
    std::shared_ptr<redlock::node> const node_;
    node_limits const limits_;
    std::shared_ptr<int> const answered_ = std::make_shared<int>(0);
    bool closed_ = false;
};

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

node_command fenced(kind what, std::uint64_t fence)
{
    return {.what = what, .ttl = long_ttl, .fence = fence};
}

bool always(node_kind const&) { return true; }
bool fencing(node_kind const& k) { return k.fences; }
bool healing(node_kind const& k) { return k.heals; }
bool contention(node_kind const& k) { return k.contends; }

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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         expect(c.acquires(key, "v"), "a free key was denied");
         c.releases(key, "v");
     }},
    {"a taken key is denied to another value", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         expect(!c.acquires(key, "w"), "a key was granted twice");
         c.releases(key, "v");
     }},
    {"a taken key is denied to its own value", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         expect(!c.acquires(key, "v"), "an acquisition extended a lock");
         c.releases(key, "v");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         c.releases(key, "w");
     }},
    {"a key does not go before what was promised", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         auto const begun = clock::now();
         auto const granted = c.ask({.what = kind::acquire, .ttl = c.short_ttl()}, key, "v");
         auto const promised = begun + std::min(granted.good_for, c.short_ttl()) - 2ms;
         expect(granted.good_for.count() > 0, "a grant promises nothing");
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         expect(clock::now() >= promised, "a key went earlier than was promised");
         c.releases(key, "w");
     }},
    {"what has expired is not extended", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.inspect(key).vote == vote::denied; }, "a key outlived its ttl");
         expect(!c.extends(key, "v"), "a key that had gone was extended");
         expect(c.acquires(key, "w"), "an extension in vain set the key");
         c.releases(key, "w");
     }},
    {"what has expired is not released from another", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v", c.short_ttl());
         c.run_to([&] { return c.acquires(key, "w"); }, "a key outlived its ttl");
         expect(!c.releases(key, "v"), "somebody else's lock was released");
         expect(c.releases(key, "w"), "a lock was not there any more");
     }},

    // Extension
    {"the owner extends", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v", long_ttl / 2);
         auto const before = c.inspect(key).remaining;
         auto const extended = c.ask({.what = kind::extend, .ttl = long_ttl}, key, "v");
         expect(extended.vote == vote::granted, "the owner could not extend");
         expect(c.inspect(key).remaining > before || extended.good_for < long_ttl, "an extension did not extend");
         c.releases(key, "v");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         expect(!c.extends(key, "v"), "a key that is not there was extended");
         expect(c.acquires(key, "w"), "an extension in vain set the key");
         c.releases(key, "w");
     }},
    {"an extension never shortens", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const before = c.inspect(key).remaining;
         expect(c.extends(key, "v", c.short_ttl()), "the owner could not extend");
         auto const after = c.inspect(key).remaining;
         expect(after > c.short_ttl() || before <= c.short_ttl(), "an extension cut a lock off");
         c.releases(key, "v");
     }},

    // Release
    {"the owner releases, once", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         expect(c.releases(key, "v"), "the owner could not release");
         expect(!c.releases(key, "v"), "a lock was released twice");
         expect(c.acquires(key, "w"), "a released key is not free");
         c.releases(key, "w");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         expect(c.inspect(key).vote == vote::denied, "a free key was taken for locked");
         auto const granted = c.ask({.what = kind::acquire, .ttl = long_ttl}, key, "v");
         auto const seen = c.inspect(key);
         expect(seen.vote == vote::granted && seen.text == "v", "an inspection does not tell the value");
         expect(seen.remaining.count() > 0 && seen.remaining <= long_ttl, "an inspection does not tell the time that is left");
         expect(seen.remaining > long_ttl / 2 || granted.good_for < long_ttl, "a key lives for less than its ttl, and nobody said so");
         c.releases(key, "v");
     }},

    // Order and completion
    {"what is asked on a key is carried out in its order", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         std::vector<std::shared_ptr<request>> all;
         for (int i = 0; i < 20; ++i) {
             auto const value = std::to_string(i);
             all.push_back(c.put({.what = kind::acquire, .ttl = long_ttl}, key, value));
             all.push_back(c.put({.what = kind::release}, key, value));
         }
         for (auto const& r : all)
             expect(c.answer_of(r).vote == vote::granted, "a release overtook its acquisition, or the next acquisition the release");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         auto const r = std::make_shared<request>(node_command{.what = kind::acquire, .ttl = long_ttl}, key, "v");
         r->is_withdrawn = true;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched && r->sent_on() == 0, "a withdrawn operation was sent");
         expect(c.acquires(key, "w"), "a withdrawn operation was carried out");
         c.releases(key, "w");
     }},
    {"what comes too late to be sent is not sent", always,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         auto const r = std::make_shared<request>(node_command{.what = kind::acquire, .ttl = long_ttl}, key, "v");
         r->not_after = clock::now() - 1s;
         auto const reply = c.answer_of(c.put(r));
         expect(reply.vote == vote::unknown && reply.untouched, "an operation was sent after its time");
         expect(c.acquires(key, "w"), "an operation was carried out after its time");
         c.releases(key, "w");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         auto const healed = c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v");
         expect(healed.vote == vote::denied && healed.healed, "a missing key was not set again, or counts");
         expect(c.extends(key, "v", long_ttl, true), "a healed key does not count from the next time on");
         expect(!c.acquires(key, "w"), "a healed key is not there");
         c.releases(key, "v");
     }},
    {"a renewal that heals leaves the lock of another alone", healing,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "w");
         auto const denied = c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v");
         expect(denied.vote == vote::denied && !denied.healed, "the lock of another was replaced");
         expect(c.releases(key, "w"), "the lock of another was replaced");
     }},
    {"a tombstone keeps a key from being healed, for its value only", healing,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const r = std::make_shared<request>(node_command{.what = kind::release, .ttl = long_ttl}, key, "v");
         r->unanswered = 0xffff'fffe;  // on a connection that has ended
         expect(c.answer_of(c.put(r)).vote == vote::granted, "the owner could not release");
         expect(!c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "v").healed, "a key was set again after its release");
         expect(c.ask({.what = kind::extend, .heal = true, .ttl = long_ttl}, key, "w").healed, "a tombstone is about another value, too");
         c.releases(key, "w");
     }},

    // Tokens
    {"a proposal that is higher is taken", fencing,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         auto const granted = c.ask(fenced(kind::acquire, 100), key, "v");
         expect(granted.vote == vote::granted && granted.fence >= 100, "a proposal was not taken");
         c.releases(key, "v");
     }},
    {"a proposal that is not higher is not taken, and the key is", fencing,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.ask(fenced(kind::acquire, 100), key, "v");
         c.releases(key, "v");
         for (std::uint64_t const low : {100u, 99u, 1u}) {
             auto const granted = c.ask(fenced(kind::acquire, low), key, "w");
             expect(granted.vote == vote::granted, "a key was denied for its proposal");
             expect(granted.fence == 0 || granted.fence > 100, "a proposal was taken that was not higher");
             c.releases(key, "w");
         }
     }},
    {"a second trip counts on from the highest", fencing,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.ask(fenced(kind::acquire, 100), key, "v");
         auto const low = c.ask(fenced(kind::raise, 50), key, "v");
         expect(low.vote == vote::granted && low.fence == 101, "a counter does not count on from where it is");
         expect(c.ask(fenced(kind::raise, 500), key, "v").fence == 501, "a counter does not count on from what was proposed");
         c.releases(key, "v");
     }},
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
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         std::uint64_t const high = (std::uint64_t(1) << 53) - 10;
         expect(c.ask(fenced(kind::raise, high), key, "v").fence == high + 1, "a high number was rounded");
         expect(c.ask(fenced(kind::raise, 1), key, "v").fence == high + 2, "a high number was rounded");
     }},

    // Contention
    {"who contends and is denied hears for how long", contention,
     [](node_kind const& k) {
         client c(k);
         auto const key = new_key(k);
         c.acquires(key, "v");
         auto const denied = c.ask(contending("me"), key, "w");
         expect(denied.vote == vote::denied && denied.remaining.count() > 0 && denied.remaining <= long_ttl, "who is denied does not hear for how long");
         expect(!denied.handed_on, "a lock is handed on that nobody hands on");
         c.releases(key, "v");
     }},
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
    {"who watches is notified of the end of hand-overs", contention,
     [](node_kind const& k) {
         client c(k), other(k);
         auto const key = new_key(k);
         c.ask(contending("me", handovers::follow), key, "v");
         auto const denied = other.ask(contending("them", handovers::end, true), key, "w");
         c.vote_of({.what = kind::release, .handed_on = handovers::end}, key, "v");
         auto const end = key + ":=turn:{" + key + "}";
         if (denied.watched && denied.handed_on)
             other.run_to([&] { return std::count(other.changes.begin(), other.changes.end(), end) > 0; }, "a node does not notify of the end of hand-overs");
     }},
};

}  // namespace

std::span<node_case const> node_cases()
{
    return all;
}

}  // namespace redlock::testing
