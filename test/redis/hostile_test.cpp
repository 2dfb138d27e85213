// A server that is hostile after, or during, a correct greeting. The two other servers carry the locks.

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

// Two real servers and a hostile one, and two managers that want the same lock.
struct siege {
    explicit siege(config special = {.node_timeout = patience}) : settings(std::move(special))
    {
        settings.nodes = {enemy.url(), r[0].url(), r[1].url()};
        enemy.uptime = "1";  // else the others, which are new, would seem to have been restarted
        settings.log = [this](log_level, std::string_view line) { said += line; };
    }

    /// Three locks are acquired in one batch, and the other manager acquires none of them meanwhile.
    void acquire_and_release()
    {
        std::array<real_servers::outcome, 3> won;
        std::string const names[] = {"left", "middle", "right"};
        for (std::size_t i = 0; i < won.size(); ++i)
            r.start_acquire(won[i], *locks, names[i], {.wait = 5s});
        BOOST_TEST_REQUIRE(r.run_to([&] { return won[0].done && won[1].done && won[2].done; }));
        for (std::size_t i = 0; i < won.size(); ++i) {
            BOOST_TEST_REQUIRE(!won[i].ec, won[i].ec.message());
            BOOST_TEST(r.run_to([&] { return r.keys("lock:" + names[i]) == 2; }));  // the enemy grants it to both
            BOOST_TEST((r.acquire(*other, names[i]).ec == errc::contended));
            r.release(won[i].held);
        }
    }

    /// The server replies this to all that is asked about one of the locks.
    void replies_about_middle(std::string bytes)
    {
        enemy.answer = [bytes = std::move(bytes)](fake_redis::command const& c) {
            return std::ranges::find(c, "lock:middle") == c.end() ? std::nullopt : std::optional(bytes);
        };
    }

    bool has_answered_about_middle(std::ptrdiff_t times) const
    {
        auto const about_it = [](auto& c) { return std::ranges::find(c, "lock:middle") != c.end(); };
        return std::ranges::count_if(enemy.commands, about_it) >= times;
    }

    /// Whether the node of the hostile server gave this reason.
    bool says(errc e, std::string const& words) const
    {
        auto const n = locks->stats().nodes[0];
        return n.last_error == e && (said + n.last_message).find(words) != std::string::npos;
    }

    /// Both managers are connected to all servers; then @p begin begins, and locks are acquired until @p done.
    void fight(std::function<void()> const& begin, std::function<bool()> const& done)
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
        enemy.answer = [](fake_redis::command const&) { return std::nullopt; };
        enemy.first_words.clear();
        for (auto* const m : {&*locks, &*other})
            shut_down_without_patience(r, *m);
        locks.reset();
        other.reset();
        BOOST_TEST(r[0].count_keys() == "0");
        BOOST_TEST(r[1].count_keys() == "0");
    }

    real_servers r{2};
    fake_redis enemy{r.context};
    std::string said;  ///< by both managers
    config settings;
    std::optional<lock_manager> locks, other;
};

struct attack {
    std::string reply;  ///< to what is asked about the lock in the middle
    std::string words;  ///< that the node says of it
};

attack const attacks[] = {
    {"$-1zzz\r\n", "its reply is malformed"},
    {"*99999999999999999999\r\n", "its reply is malformed"},
    {"%9223372036854775808\r\n", "its reply is malformed"},
    {"*20000\r\n", "its reply is malformed"},
    {"*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", "its reply is malformed"},
    {"$2000000000\r\n", "its reply is malformed"},
    {"*2\r\n:1\r\n>2\r\n$10\r\ninvalidate\r\n_\r\n:1\r\n", "its reply is malformed"},
    {"$" + std::string(100, '0') + "\r\n\r\n", "its reply is malformed"},
    {"HTTP/1.1 400 Bad Request\r\n\r\n", "its reply is malformed"},
    {"+OK\r\n+OK\r\n", "it answered what nobody had asked"},
    {"*3\r\n+OK\r\n*1\r\n+OK\r\n+OK\r\n", ""},
};

}  // namespace

BOOST_AUTO_TEST_CASE(bad_reply_within_a_batch_gives_unexpected_reply_alone)
{
    siege s;
    for (auto const& a : attacks) {
        BOOST_TEST_CONTEXT(a.reply.substr(0, 50)) {
            s.fight([&] { s.replies_about_middle(a.reply); }, [&] { return s.says(errc::unexpected_reply, a.words); });
        }
    }
}

BOOST_AUTO_TEST_CASE(reply_that_nobody_asked_for_gives_unexpected_reply_alone)
{
    siege s;
    s.fight([&] { s.enemy.say("+OK\r\n"); },
            [&] { return s.says(errc::unexpected_reply, "it answered what nobody had asked"); });
}

// It would be taken for the reply to the first command of the greeting, and each reply for that to the next one.
BOOST_AUTO_TEST_CASE(reply_before_the_greeting_gives_unexpected_reply_alone)
{
    siege s;
    for (auto const* const words : {"+OK\r\n", "*0\r\n", "\r\n", "$-1zzz\r\n"}) {
        BOOST_TEST_CONTEXT(words) {
            s.fight(
                [&] {
                    s.enemy.first_words = words;
                    s.enemy.hang_up_all();
                },
                [&] { return s.says(errc::unexpected_reply, ""); });
        }
    }
}

BOOST_AUTO_TEST_CASE(server_that_stops_answering_is_given_up_alone)
{
    siege s;
    s.fight([&] { s.enemy.stand_still(); },
            [&] {
                skip_time(1s);  // the connection is looked at
                return s.said.find("it has stopped answering") != s.said.npos;
            });
}

BOOST_AUTO_TEST_CASE(slow_greeting_gives_node_unreachable_alone)
{
    siege s({.node_timeout = patience, .connect_timeout = 200ms});
    s.fight(
        [&] {
            s.enemy.byte_pause = 5ms;
            s.enemy.hang_up_all();
        },
        [&] { return s.says(errc::node_unreachable, "it accepts connections but does not answer"); });
}

BOOST_AUTO_TEST_CASE(replies_byte_by_byte_are_read)
{
    siege s;
    s.fight([&] { s.enemy.byte_pause = 1ms; }, [&] { return s.has_answered_about_middle(3); });
    BOOST_TEST(s.enemy.connections == 2);
}

// It may be the value of another holder.
BOOST_AUTO_TEST_CASE(reply_of_megabytes_is_read)
{
    siege s;
    constexpr std::size_t size = 3'000'000;
    s.fight([&] { s.replies_about_middle(bulk_string(std::string(size, 'x'))); },
            [&] { return s.has_answered_about_middle(3); });
    BOOST_TEST(s.enemy.connections == 2);
}

BOOST_AUTO_TEST_CASE(forged_pushes_do_not_disturb)
{
    siege s;
    auto many = ">2\r\n" + bulk_string("invalidate") + "*10000\r\n";
    for (int i = 0; i < 10000; ++i)
        many += bulk_string("lock:left");
    std::string const pushes[] = {invalidation_of("lock:left"), invalidation_of(""), ">1\r\n$10\r\ninvalidate\r\n",
                                  ">3\r\n$7\r\nmessage\r\n$1\r\na\r\n*1\r\n*1\r\n:1\r\n", many};
    s.fight(
        [&] {
            s.enemy.answer = [&](fake_redis::command const& c) {
                s.enemy.say(pushes[s.enemy.commands.size() % std::size(pushes)]);
                return c[0] == "PING" ? std::optional("+PONG\r\n"s) : std::nullopt;
            };
        },
        [&] { return s.has_answered_about_middle(20); });
    BOOST_TEST(s.enemy.connections == 2);
}

BOOST_AUTO_TEST_SUITE_END()
