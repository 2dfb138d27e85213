#include "locks/check.hpp"

#include <boost/test/unit_test.hpp>

#include <limits>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(checks)

namespace {

manager_options good() { return {.nodes = {"redis://localhost"}}; }

bool mentions(std::string const& text, std::string const& a, std::string const& b, std::string const& c = "")
{
    return text.find(a) != text.npos && text.find(b) != text.npos && text.find(c) != text.npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(check_of_the_defaults_finds_nothing)
{
    BOOST_TEST(locks::check(good()) == "");
    BOOST_TEST(locks::check(acquire_options{}, good()) == "");
    BOOST_TEST(locks::check(acquire_options{.wait = wait_forever}, good()) == "");
}

BOOST_AUTO_TEST_CASE(check_of_config_names_each_wrong_field_with_value_and_limit)
{
    BOOST_TEST(mentions(locks::check(manager_options()), "nodes", "empty"));
    BOOST_TEST(mentions(locks::check({.nodes = std::vector<std::string>(100, "x")}), "nodes", "100", "99"));

    auto const check = [](manager_options c) {
        c.nodes = {"redis://localhost"};
        return locks::check(c);
    };
    BOOST_TEST(mentions(check({.node_timeout = 0ms}), "node_timeout", "0 ms", "1 to 60000"));
    BOOST_TEST(mentions(check({.connect_timeout = 61s}), "connect_timeout", "61000", "60000"));
    BOOST_TEST(mentions(check({.drift_factor = 0.6}), "drift_factor", "0.6", "0.5"));
    BOOST_TEST(mentions(check({.drift_factor = std::numeric_limits<double>::quiet_NaN()}), "drift_factor", "nan"));
    BOOST_TEST(mentions(check({.max_ttl = 10ms}), "max_ttl", "10 ms", "20"));
    BOOST_TEST(mentions(check({.max_ttl = 40ms}), "node_timeout", "50 ms", "40"));
    BOOST_TEST(mentions(check({.prefix = std::string(257, 'p')}), "prefix", "257", "256"));
    BOOST_TEST(mentions(check({.prefix = "x:=gone:"}), "prefix", ":=gone"));
    BOOST_TEST(mentions(check({.owner = std::string(257, 'o')}), "owner", "257", "256"));
    BOOST_TEST(mentions(check({.tls = {.certificate_file = "client.pem"}}), "tls.private_key_file", "empty"));
}

BOOST_AUTO_TEST_CASE(check_of_options_names_each_wrong_one_with_value_and_limit)
{
    auto const c = good();
    BOOST_TEST(mentions(locks::check(acquire_options{.ttl = 19ms}, c), "ttl", "19 ms", "20 ms"));
    BOOST_TEST(mentions(locks::check(acquire_options{.ttl = 60'001ms}, c), "ttl", "60001", "max_ttl, which is 60000"));
    BOOST_TEST(mentions(locks::check(acquire_options{.ttl = 50ms}, c), "ttl is 50 ms", "node_timeout, which is 50 ms"));
    BOOST_TEST(mentions(locks::check(acquire_options{.wait = -1ms}, c), "wait", "-1"));
    BOOST_TEST(mentions(locks::check(acquire_options{.max_hold = -5ms}, c), "max_hold", "-5"));
    BOOST_TEST(mentions(locks::check(acquire_options{.max_hold = 19ms}, c), "max_hold", "20"));
    BOOST_TEST(locks::check(acquire_options{.max_hold = 20ms}, c).empty());
    BOOST_TEST(
        mentions(locks::check("stock", {.mode = mode(77)}, c), "mode is 77", "exclusive, shared or upgradeable"));
    BOOST_TEST(
        mentions(locks::check(acquire_options{.renew = renewal(7)}, c), "renew is 7", "none, automatic or unset"));
    BOOST_TEST(locks::check("stock", {.mode = mode::shared}, c).empty());
    BOOST_TEST(locks::check("stock", {.mode = mode::shared, .passes_writers = true}, c).empty());
    BOOST_TEST(mentions(locks::check("stock", {.passes_writers = true}, c), "passes_writers is true", "exclusive"));
    BOOST_TEST(
        mentions(locks::check(resource_set{"a", "b"}, {.mode = mode::shared}, c), "mode is shared", "2 resources"));
    auto const any_of = [&](std::size_t count, acquire_options o = {}) {
        return locks::check(detail::selection::any_of(slots("s", count)), o, c);
    };
    BOOST_TEST(any_of(1) == "");
    BOOST_TEST(any_of(64) == "");
    BOOST_TEST(mentions(any_of(0), "0 resources", "1 to 64"));
    BOOST_TEST(mentions(any_of(65), "65 resources", "1 to 64"));
    BOOST_TEST(mentions(any_of(2, {.mode = mode::shared}), "mode is shared", "locked exclusively"));
    BOOST_TEST(mentions(any_of(1, {.mode = mode::shared}), "mode is shared", "locked exclusively"));
    BOOST_TEST(locks::check(slots("s", 256), {}, c) == "");
    BOOST_TEST(mentions(locks::check(slots("s", 257), {}, c), "257 resources", "1 to 256"));
    BOOST_TEST(mentions(locks::check("stock", {.ttl = 19ms}, c), "ttl", "19 ms"));
    auto const once = [&](std::chrono::milliseconds wait) {
        return locks::check(detail::selection("stock").tried_once(), {.wait = wait}, c);
    };
    BOOST_TEST(once(0ms) == "");
    BOOST_TEST(
        mentions(once(2s), "wait is 2000 ms, but must be 0", "async_try_acquire", "to wait, call async_acquire"));
    BOOST_TEST(mentions(once(wait_forever), "wait is wait_forever, but must be 0", "async_try_acquire"));
    BOOST_TEST(mentions(locks::check_resource("", "lock:"), "resource", "empty", "512"));
    BOOST_TEST(mentions(locks::check_resource(std::string(513, 'r'), "lock:"), "resource", "513", "512"));
    BOOST_TEST(locks::check_resource(std::string(512, '\0'), "lock:") == "");
    BOOST_TEST(mentions(locks::check_resource("a:=fence", "lock:"), "resource", ":=fence"));
    // The key contains the prefix.
    BOOST_TEST(mentions(locks::check_resource("=turn", "lock:"), "resource", ":=turn"));
    BOOST_TEST(locks::check_resource("=turn", "") == "");
    BOOST_TEST(locks::check_resource("{a}:fence", "lock:") == "");
}

BOOST_AUTO_TEST_CASE(check_of_elect_options_names_each_wrong_one_with_value_and_limit)
{
    auto const check = [](elect_options const& o) { return locks::check(o, good()); };
    BOOST_TEST(check({}) == "");
    BOOST_TEST(check({.pause_min = 1ms, .pause_max = 1ms, .stable = 0ms, .at_least = 10s}) == "");
    BOOST_TEST(mentions(check({.ttl = 61s}), "ttl", "61000", "60000"));
    BOOST_TEST(mentions(check({.pause_min = 0ms}), "pause_min", "0 ms", "pause_max, which is 60000"));
    BOOST_TEST(mentions(check({.pause_min = 2min}), "pause_min", "120000", "pause_max, which is 60000"));
    BOOST_TEST(mentions(check({.pause_min = 0ms, .pause_max = 0ms}), "pause_max", "0 ms", "1 to 86400000"));
    BOOST_TEST(mentions(check({.pause_max = 25h}), "pause_max", "90000000", "86400000"));
    BOOST_TEST(mentions(check({.stable = -1ms}), "stable", "-1"));
    BOOST_TEST(mentions(check({.note = "a\nb"}), "note has the byte", "0x0a"));
    BOOST_TEST(mentions(check({.at_least = -1ms}), "at_least", "-1", "0"));
    BOOST_TEST(mentions(check({.at_least = 10'001ms}), "at_least", "10001", "ttl, which is 10000"));
}

// A larger duration would overflow when it is added to a time.
BOOST_AUTO_TEST_CASE(check_of_a_duration_above_100_years_names_value_and_limit)
{
    auto const c = good();
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24) * 36'525,
                                        endless = std::chrono::milliseconds::max();
    BOOST_TEST(locks::check(acquire_options{.wait = longest, .max_hold = longest}, c) == "");
    BOOST_TEST(locks::check(elect_options{.stable = longest}, c) == "");
    BOOST_TEST(mentions(locks::check(acquire_options{.wait = longest + 1ms}, c), "wait is 3155760000001 ms",
                        "0 to 3155760000000 ms", "or wait_forever"));
    BOOST_TEST(mentions(locks::check(acquire_options{.wait = endless - 1ms}, c), "wait is", "3155760000000"));
    BOOST_TEST(mentions(locks::check(acquire_options{.max_hold = endless}, c), "max_hold is 9223372036854775807 ms",
                        "20 to 3155760000000 ms", "or 0"));
    BOOST_TEST(mentions(locks::check(elect_options{.stable = endless}, c), "stable is 9223372036854775807 ms",
                        "0 to 3155760000000 ms"));
    BOOST_TEST(mentions(locks::check(elect_options{.max_hold = endless}, c), "max_hold", "3155760000000"));
    BOOST_TEST(mentions(locks::check(elect_options{.pause_min = endless}, c), "pause_min", "pause_max"));
    BOOST_TEST(mentions(locks::check(elect_options{.at_least = endless}, c), "at_least", "ttl"));
    BOOST_TEST(mentions(locks::check_wait(endless - 1ms), "wait", "3155760000000"));
}

BOOST_AUTO_TEST_CASE(check_of_a_ticket_with_an_unknown_mode_names_the_mode)
{
    lock_ticket const t{.resources = "stock", .token = "t", .mode = mode(9)};
    BOOST_TEST(mentions(locks::check(t, good()), "ticket.mode is 9", "exclusive or shared"));
    lock_ticket const known{.resources = "stock", .token = "t"};
    BOOST_TEST(mentions(locks::check(known, {.mode = mode(9)}, good()), "mode is 9", "ticket"));
}

BOOST_AUTO_TEST_SUITE_END()
