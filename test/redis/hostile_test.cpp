// A server that sends wrong replies during or after a correct greeting. Two other servers grant the locks.

#include "support/fake_redis.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(hostile_server)

namespace {

using namespace std::string_literals;

// Two real servers and a hostile one, and two managers that acquire the same locks.
struct hostile_setup {
    explicit hostile_setup(manager_options special = {.node_timeout = busy_timeout}) : settings(std::move(special))
    {
        settings.nodes = {hostile.url(), r[0].url(), r[1].url()};
        hostile.uptime = "1";  // as young as the others, which would otherwise seem restarted
        settings.log = [this](log_level, std::string_view line) { said += line; };
    }

    /// Acquires three locks in one batch. The other manager must not get them meanwhile.
    void acquire_and_release()
    {
        std::array<real_servers::outcome, 3> won;
        std::string const names[] = {"left", "middle", "right"};
        for (std::size_t i = 0; i < won.size(); ++i)
            r.start_acquire(won[i], *locks, names[i], {.wait = 5s});
        BOOST_TEST_REQUIRE(r.run_to([&] { return won[0].done && won[1].done && won[2].done; }));
        for (std::size_t i = 0; i < won.size(); ++i) {
            BOOST_TEST_REQUIRE(!won[i].ec, won[i].ec.message());
            // Only the real servers count: the hostile server grants the lock to both managers.
            BOOST_TEST(r.run_to([&] { return r.keys("lock:" + names[i]) == 2; }));
            BOOST_TEST((r.acquire(*other, names[i]).ec == errc::contended));
            r.release(won[i].held);
        }
    }

    /// The hostile server replies @p bytes to all commands about one of the locks.
    void replies_about_middle(std::string bytes)
    {
        hostile.answer = [bytes = std::move(bytes)](fake_redis::command const& c) {
            return std::ranges::find(c, "lock:middle") == c.end() ? std::nullopt : std::optional(bytes);
        };
    }

    bool has_answered_about_middle(std::ptrdiff_t times) const
    {
        auto const about_it = [](auto& c) { return std::ranges::find(c, "lock:middle") != c.end(); };
        return std::ranges::count_if(hostile.commands, about_it) >= times;
    }

    /// Whether the node of the hostile server reported this error with these words.
    bool says(errc e, std::string const& words) const
    {
        auto const n = locks->stats().nodes[0];
        return n.last_error == e && (said + n.last_message).find(words) != std::string::npos;
    }

    /// Connects both managers to all servers. Then calls @p begin, and acquires locks until @p done.
    void lock_during(std::function<void()> const& begin, std::function<bool()> const& done)
    {
        locks.emplace(r.context, settings);
        other.emplace(r.context, settings);
        r.connect(*locks);
        r.connect(*other);
        said.clear();
        begin();
        BOOST_TEST(r.run_to([&] {
            acquire_and_release();
            return done();
        }));
        hostile.answer = [](fake_redis::command const&) { return std::nullopt; };
        hostile.first_words.clear();
        for (auto* const m : {&*locks, &*other})
            shut_down_and_skip_time(r, *m);
        locks.reset();
        other.reset();
        BOOST_TEST(r[0].count_keys() == "0");
        BOOST_TEST(r[1].count_keys() == "0");
    }

    real_servers r{2};
    fake_redis hostile{r.context};
    std::string said;  ///< log lines of both managers
    manager_options settings;
    std::optional<lock_manager> locks, other;
};

struct bad_reply {
    std::string reply;  ///< to commands about the lock in the middle
    std::string words;  ///< expected in the node's message
};

bad_reply const bad_replies[] = {
    {"$-1zzz\r\n", "its reply is malformed"},
    {"*99999999999999999999\r\n", "its reply is malformed"},
    {"%9223372036854775808\r\n", "its reply is malformed"},
    {"*20000\r\n", "its reply is malformed"},
    {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "its reply is malformed"},
    {"$2000000000\r\n", "its reply is malformed"},
    {"*2\r\n:1\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n:1\r\n", "its reply is malformed"},
    {"$" + std::string(100, '0') + "\r\n\r\n", "its reply is malformed"},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", "its reply is malformed"},
    {"+OK\r\n+OK\r\n", "it sent a reply without a request"},
    {"*3\r\n+OK\r\n*1\r\n+OK\r\n+OK\r\n", ""},
};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_with_a_malformed_reply_reports_unexpected_reply)
{
    hostile_setup s;
    for (auto const& a : bad_replies) {
        BOOST_TEST_CONTEXT(a.reply.substr(0, 50)) {
            s.lock_during([&] { s.replies_about_middle(a.reply); },
                          [&] { return s.says(errc::unexpected_reply, a.words); });
        }
    }
}

// If a request is under way, the reply counts as its answer, and shifts all later answers. The next look notices that.
BOOST_AUTO_TEST_CASE(acquire_with_a_reply_without_request_reports_unexpected_reply)
{
    hostile_setup s;
    s.lock_during([&] { s.hostile.say("+OK\r\n"); },
                  [&] {
                      return s.says(errc::unexpected_reply, "it sent a reply without a request")
                             || s.said.find("its answer about its record is not understood") != s.said.npos;
                  });
}

// The manager would take such a reply for that of the first command of the greeting, and shift all later replies.
BOOST_AUTO_TEST_CASE(acquire_with_a_reply_before_the_greeting_reports_unexpected_reply)
{
    hostile_setup s;
    for (auto const* const words : {"+OK\r\n", "*0\r\n", "\r\n", "$-1zzz\r\n"}) {
        BOOST_TEST_CONTEXT(words) {
            s.lock_during(
                [&] {
                    s.hostile.first_words = words;
                    s.hostile.hang_up_all();
                },
                [&] { return s.says(errc::unexpected_reply, ""); });
        }
    }
}

BOOST_AUTO_TEST_CASE(acquire_with_one_server_that_stops_answering_succeeds)
{
    hostile_setup s;
    s.lock_during([&] { s.hostile.stop_answering(); },
                  [&] {
                      skip_time(1s);  // the interval of heartbeats
                      return s.said.find("it has stopped answering") != s.said.npos;
                  });
}

BOOST_AUTO_TEST_CASE(acquire_with_a_slow_greeting_reports_node_unreachable)
{
    hostile_setup s({.node_timeout = busy_timeout, .connect_timeout = 200ms});
    s.lock_during(
        [&] {
            s.hostile.byte_pause = 5ms;
            s.hostile.hang_up_all();
        },
        [&] { return s.says(errc::node_unreachable, "it accepts connections but does not answer"); });
}

BOOST_AUTO_TEST_CASE(acquire_with_replies_byte_by_byte_succeeds)
{
    hostile_setup s;
    s.lock_during([&] { s.hostile.byte_pause = 1ms; }, [&] { return s.has_answered_about_middle(3); });
    BOOST_TEST(s.hostile.connections == 2);
}

// Such a reply is valid: another client may have set the key to a long value.
BOOST_AUTO_TEST_CASE(acquire_with_a_reply_of_megabytes_succeeds)
{
    hostile_setup s;
    constexpr std::size_t size = 3'000'000;
    s.lock_during([&] { s.replies_about_middle(bulk_string(std::string(size, 'x'))); },
                  [&] { return s.has_answered_about_middle(3); });
    BOOST_TEST(s.hostile.connections == 2);
}

BOOST_AUTO_TEST_CASE(acquire_with_forged_pushes_succeeds)
{
    hostile_setup s;
    auto many = ">2\r\n" + bulk_string("invalidate") + "*10000\r\n";
    for (int i = 0; i < 10000; ++i)
        many += bulk_string("lock:left");
    std::string const pushes[] = {invalidation_of("lock:left"), invalidation_of(""), ">1\r\n$10\r\ninvalidate\r\n",
                                  ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n*1\r\n*1\r\n:1\r\n", many};
    s.lock_during(
        [&] {
            s.hostile.answer = [&](fake_redis::command const& c) {
                s.hostile.say(pushes[s.hostile.commands.size() % std::size(pushes)]);
                return c[0] == "PING" ? std::optional("+PONG\r\n"s) : std::nullopt;
            };
        },
        [&] { return s.has_answered_about_middle(20); });
    BOOST_TEST(s.hostile.connections == 2);
}

BOOST_AUTO_TEST_SUITE_END()
