#include "core/told_time.hpp"
#include "net/secrets.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/decoder.hpp"
#include "testing/command_parts.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using stores::redis::decode_error;
using redlock::stores::redis::resp::type;
using kind = node_command::kind;

BOOST_AUTO_TEST_SUITE(decoded_replies)

namespace {

stores::redis::reply make(stores::redis::resp::type t, std::string text, std::vector<std::string> elements = {})
{
    return {t, std::move(text), std::move(elements)};
}

node_command question(kind what, std::uint64_t fence = 0, bool heal = false)
{
    node_command c{.what = testing::command_of(what)};
    testing::set_heal(c, heal);
    testing::set_fence(c, fence);
    return c;
}

node_reply answer(kind what, stores::redis::reply const& r, std::uint64_t fence = 0, bool heal = false)
{
    return stores::redis::decode(question(what, fence, heal), {&r, 1});
}

node_reply answer_of_two(kind what, stores::redis::reply const& first, stores::redis::reply const& second,
                         std::uint64_t fence)
{
    stores::redis::reply const both[] = {first, second};
    return stores::redis::decode(question(what, fence), both);
}

}  // namespace

BOOST_AUTO_TEST_CASE(decode_of_expected_replies_gives_a_vote)
{
    BOOST_TEST((answer(kind::acquire, make(stores::redis::resp::type::simple_string, "OK")).vote == vote::granted));
    BOOST_TEST((answer(kind::acquire, make(stores::redis::resp::type::null, "")).vote == vote::denied));
    for (auto k : {kind::extend, kind::replace, kind::release}) {
        BOOST_TEST((answer(k, make(stores::redis::resp::type::number, "1")).vote == vote::granted));
        BOOST_TEST((answer(k, make(stores::redis::resp::type::number, "0")).vote == vote::denied));
    }
}

BOOST_AUTO_TEST_CASE(decode_of_scan_gives_keys_and_the_next_cursor)
{
    auto const scanned = [](std::vector<std::string> elements) {
        return answer(kind::scan, make(stores::redis::resp::type::array, "", std::move(elements)));
    };
    auto const some = scanned({"17", "2", "lock:a", "lock:b"}), last = scanned({"0", "0"});
    BOOST_TEST((some.vote == vote::granted && some.text == "17"));
    BOOST_TEST(some.details->keys == (std::vector<std::string>{"lock:a", "lock:b"}), boost::test_tools::per_element());
    BOOST_TEST((last.vote == vote::granted && last.text == "" && last.details->keys.empty()));
    BOOST_TEST((scanned({"17", "3", "lock:a", "lock:b"}).error == errc::unexpected_reply));  // one was not kept
    BOOST_TEST((scanned({"17", "soon", "lock:a"}).error == errc::unexpected_reply));
}

BOOST_AUTO_TEST_CASE(decode_of_inspect_gives_holder_waiters_and_readers)
{
    auto const inspected = [](std::vector<std::string> elements) {
        return answer(kind::inspect, make(stores::redis::resp::type::array, "", std::move(elements)));
    };
    auto const r = inspected({":=shared", "1234", "3", "1", "a:web", "1nightly report", "b", "r", "c", "1", "v", "7"});
    BOOST_TEST((r.vote == vote::granted));
    BOOST_TEST(r.text == ":=shared");
    BOOST_TEST(r.remaining.count() == 1234);
    BOOST_TEST_REQUIRE(r.details);
    auto const& waiters = r.details->waiters;
    BOOST_TEST_REQUIRE(waiters.size() == 3u);
    BOOST_TEST((waiters[0].contender == "a:web" && waiters[0].note == "nightly report" && !waiters[0].shares));
    BOOST_TEST((waiters[1].contender == "b" && waiters[1].note == "" && waiters[1].shares));
    BOOST_TEST((waiters[2].contender == "c" && waiters[2].note == "" && !waiters[2].shares));
    BOOST_TEST_REQUIRE(r.details->readers.size() == 1u);
    BOOST_TEST((r.details->readers[0].value == "v" && r.details->readers[0].remaining.count() == 7));
    BOOST_TEST((r.details->knows_waiters && r.details->knows_readers));

    auto const free = inspected({"", "-2", "1", "0", "a", "1"});
    BOOST_TEST((free.vote == vote::denied));
    BOOST_TEST(free.details->waiters.size() == 1u);
    auto const forbidden = inspected({"value", "-1", "-1", "-1"});
    BOOST_TEST((forbidden.vote == vote::granted));
    BOOST_TEST(forbidden.remaining.count() == -1);
    BOOST_TEST((!forbidden.details->knows_waiters && !forbidden.details->knows_readers));

    for (auto const& odd : std::vector<std::vector<std::string>>{{"value", "1", "0"},
                                                                 {"value", "soon", "0", "0"},
                                                                 {"value", "1", "-2", "0"},
                                                                 {"value", "1", "0", "many"},
                                                                 {"value", "1", "1", "0"},
                                                                 {"value", "1", "1", "0", "a"},
                                                                 {"value", "1", "0", "0", "a", "1"},
                                                                 {"value", "1", "9223372036854775807", "0", "a", "1"},
                                                                 {"value", "1", "0", "1", "v", "soon"}})
        BOOST_TEST((inspected(odd).error == errc::unexpected_reply));
}

// SET with GET returns the old value, so null means granted.
BOOST_AUTO_TEST_CASE(decode_for_an_acquisition_that_checks_the_type_gives_the_vote)
{
    auto const answered = [](stores::redis::reply const& r) {
        return stores::redis::decode(question(kind::acquire), {&r, 1}, {}, true);
    };
    BOOST_TEST((answered(make(stores::redis::resp::type::null, "")).vote == vote::granted));
    BOOST_TEST((answered(make(stores::redis::resp::type::blob_string, "the value of another")).vote == vote::denied));
    BOOST_TEST((answered(make(stores::redis::resp::type::blob_string, "")).vote == vote::denied));
    BOOST_TEST((answered(make(stores::redis::resp::type::simple_error, "WRONGTYPE no")).error == errc::wrong_type));
    for (auto const& odd :
         {make(stores::redis::resp::type::simple_string, "OK"), make(stores::redis::resp::type::number, "1"),
          make(stores::redis::resp::type::boolean, "f"), make(stores::redis::resp::type::array, "")}) {
        BOOST_TEST((answered(odd).vote == vote::unknown));
        BOOST_TEST((answered(odd).error == errc::unexpected_reply));
        BOOST_TEST(!answered(odd).untouched);
    }
    // Each form of SET accepts only its own kind of reply.
    BOOST_TEST(
        (answer(kind::acquire, make(stores::redis::resp::type::blob_string, "x")).error == errc::unexpected_reply));
}

BOOST_AUTO_TEST_CASE(decode_error_of_a_truncated_script_error_is_server_error)
{
    for (auto const* text : {"ERR Error running script",
                             "ERR Error running script @user_script:", "ERR Error running script @user_script:1:",
                             "ERR Error running script @user_script:1: ", "ERR Error running script @user_script:1: -"})
        BOOST_TEST((stores::redis::decode_error(text).error == errc::server_error));
}

// A gap in well-known words would reveal a password that is one of these words.
BOOST_AUTO_TEST_CASE(presentable_with_the_password_as_a_word_hides_the_message)
{
    constexpr std::string_view words = "WRONGPASS invalid username-password pair or user is disabled.";
    for (auto const* const password : {"password", "PAIR", "wrongpass", "or", "username", "user", "is"}) {
        auto const shown = net::presentable(words, {password});
        BOOST_TEST(shown.find("message is hidden") != std::string::npos);
        BOOST_TEST(shown.find("WRONGP") == std::string::npos);
    }
    for (auto const* const password : {"a", "WRONG", "pass", "zz", "name", "able"})
        BOOST_TEST(net::presentable(words, {password}) == words);
    BOOST_TEST(net::presentable("ERR 'AUTH' 'a'", {"a"}).find("hidden") != std::string::npos);
    for (auto const* const quoted : {"app%3Asesame%40host", "app\\x3asesame\\x40host", "app\\u003asesame\\u0040host"})
        BOOST_TEST(net::presentable(quoted, {"sesame"}).find("hidden") != std::string::npos);
    // The beginning of a password that is longer than the quotation.
    BOOST_TEST(net::presentable("ERR 'correcth...", {"correcthorse9"}).find("correcth") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(secret_of_a_word_that_the_address_shows_is_empty)
{
    BOOST_TEST(net::secret_of("app", "app") == "");
    BOOST_TEST(net::secret_of("app", "other", "app") == "");
    BOOST_TEST(net::secret_of("geheim", "app", "db") == "geheim");
}

// The decision depends on the text of the server, and the place in it is read later.
BOOST_AUTO_TEST_CASE(decode_error_does_not_depend_on_the_password)
{
    for (std::string_view const password : {"MOVED", "3999", "10.0.0.1", "6381", "0", "1"}) {
        auto const r = stores::redis::decode_error("MOVED 3999 10.0.0.1:6381", {password});
        BOOST_TEST((r.error == errc::wrong_cluster_node));
        auto const to = stores::redis::read_redirection(r.text);
        BOOST_TEST_REQUIRE(to.has_value());
        BOOST_TEST(net::to_string(to->to) == "10.0.0.1:6381");
    }
    auto const refused = stores::redis::decode_error("NOPERM No permissions to access a key", {"NOPERM"});
    BOOST_TEST((refused.error == errc::permission_denied));
}

BOOST_AUTO_TEST_CASE(decode_of_wrongtype_for_extend_and_release_is_denied)
{
    for (auto k : {kind::extend, kind::release})
        BOOST_TEST((answer(k, make(stores::redis::resp::type::simple_error, "WRONGTYPE no")).vote == vote::denied));
    BOOST_TEST((answer(kind::inspect, make(stores::redis::resp::type::simple_error, "WRONGTYPE no")).error
                == errc::wrong_type));
}

BOOST_AUTO_TEST_CASE(decode_for_a_contender_gives_wanted_and_remaining)
{
    auto q = question(kind::acquire);
    testing::set_contender(q, "me");
    auto const answered = [&](stores::redis::reply const& r) { return stores::redis::decode(q, {&r, 1}); };
    BOOST_TEST((answered(make(stores::redis::resp::type::number, "1")).vote == vote::granted));
    BOOST_TEST(!answered(make(stores::redis::resp::type::number, "1")).wanted);
    BOOST_TEST((answered(make(stores::redis::resp::type::number, "2")).vote == vote::granted));
    BOOST_TEST(answered(make(stores::redis::resp::type::number, "2")).wanted);
    struct {
        char const *lock, *handovers;
        bool handed_on;
        int remaining;
    } const denials[] = {{"4321", "-2", false, 4321},
                         {"4321", "1000", true, 1000},
                         {"321", "1000", true, 321},
                         {"-1", "-2", false, -1},
                         {"-1", "7", true, 7}};
    for (auto const& d : denials) {
        auto const denied = answered(make(stores::redis::resp::type::array, "", {d.lock, d.handovers}));
        BOOST_TEST((denied.vote == vote::denied));
        BOOST_TEST(denied.handed_on == d.handed_on);
        BOOST_TEST(denied.remaining.count() == d.remaining);
        BOOST_TEST(denied.text == "");
    }
    BOOST_TEST(answered(make(stores::redis::resp::type::array, "", {"1", "-2", "value"})).text == "value");
    for (auto const* ahead : {"0", "2", "3"}) {
        auto const denied = answered(make(stores::redis::resp::type::array, "", {"1", "-2", "value", ahead}));
        BOOST_TEST((denied.vote == vote::denied && denied.text == "value"));
        BOOST_TEST(std::to_string(denied.ahead) == ahead);
        BOOST_TEST(denied.stands_by == (denied.ahead == 3));
    }
    for (auto const& odd :
         {make(stores::redis::resp::type::number, "0"), make(stores::redis::resp::type::number, "3"),
          make(stores::redis::resp::type::simple_string, "OK"), make(stores::redis::resp::type::null, ""),
          make(stores::redis::resp::type::array, "", {"soon", "1"}), make(stores::redis::resp::type::array, "", {"1"}),
          make(stores::redis::resp::type::array, "", {"soon", "1", "value"}),
          make(stores::redis::resp::type::array, "", {"1", "2", "value", "4"})})
        BOOST_TEST((answered(odd).error == errc::unexpected_reply));
}

// A hostile server must not make sums of times overflow.
BOOST_AUTO_TEST_CASE(decode_of_the_largest_numbers_gives_bounded_times)
{
    auto const array = [](std::vector<std::string> elements) {
        return make(stores::redis::resp::type::array, "", std::move(elements));
    };
    auto const is_bounded = [](std::chrono::milliseconds d) {
        return d <= core::longest_time && d >= -core::longest_time;
    };
    auto contends = question(kind::acquire);
    testing::set_contender(contends, "me");
    auto shares = contends, any = contends, several = contends;
    shares.mode = mode::shared;
    std::vector<std::string> const keys{"a", "b"};
    any.as<commands::acquire>().any = true;
    any.keys = several.keys = keys;
    for (std::string const n : {"9223372036854775807", "-9223372036854775808"}) {
        auto const answered = [](node_command const& q, stores::redis::reply const& r) {
            return stores::redis::decode(q, {&r, 1});
        };
        BOOST_TEST(is_bounded(answered(contends, array({n, n})).remaining));
        BOOST_TEST(is_bounded(answered(shares, array({n, n, "0"})).remaining));
        BOOST_TEST(is_bounded(answer(kind::upgrade, array({n})).remaining));
        for (auto const& t : answered(any, array({n, n, n, n})).taken)
            BOOST_TEST(is_bounded(t.remaining));
        for (auto const& t : answered(several, array({"0", "0", n, n, "1", n, n})).taken)
            BOOST_TEST(is_bounded(t.remaining));
        auto const seen = answer(kind::inspect, array({":=shared", n, "0", "1", "v", n}));
        BOOST_TEST(is_bounded(seen.remaining));
        if (seen.details && !seen.details->readers.empty())
            BOOST_TEST(is_bounded(seen.details->readers.front().remaining));
    }
}

BOOST_AUTO_TEST_CASE(decode_for_a_reader_gives_the_value_of_a_writer)
{
    auto q = question(kind::acquire);
    q.mode = mode::shared;
    auto const answered = [&](std::vector<std::string> elements) {
        auto const r = make(stores::redis::resp::type::array, "", std::move(elements));
        return stores::redis::decode(q, {&r, 1});
    };
    BOOST_TEST(answered({"1", "-2", "0", "value"}).text == "");  // it does not contend
    testing::set_contender(q, "me");
    auto const denied = answered({"1", "-2", "0", "value"});
    BOOST_TEST((denied.vote == vote::denied));
    BOOST_TEST(denied.text == "value");
    BOOST_TEST(!denied.behind_writer);
    auto const behind = answered({"1", "-2", "1"});
    BOOST_TEST(behind.text == "");
    BOOST_TEST(behind.behind_writer);
    BOOST_TEST((answered({"1", "-2"}).error == errc::unexpected_reply));
    BOOST_TEST((answered({"1", "-2", "0", "value", "5"}).error == errc::unexpected_reply));
}

BOOST_AUTO_TEST_CASE(decode_for_any_key_gives_the_chosen_or_all_taken_keys)
{
    std::string const keys[] = {"b", "a", "c"};
    auto q = question(kind::acquire, 77);
    q.as<commands::acquire>().any = true;
    q.keys = keys;
    auto const answered = [&](stores::redis::reply const& r) { return stores::redis::decode(q, {&r, 1}); };
    for (std::uint32_t n = 0; n < 12; ++n) {
        auto const won = answered(make(stores::redis::resp::type::number, std::to_string(n)));
        BOOST_TEST((won.vote == vote::granted));
        BOOST_TEST(won.chosen == n / 4);
        BOOST_TEST(won.wanted == (n % 2 == 1));
        BOOST_TEST(won.fence == (n % 4 >= 2 ? 77u : 0u));
    }
    auto const denied = answered(make(stores::redis::resp::type::array, "", {"321", "-2", "-1", "-2", "4321", "1000"}));
    BOOST_TEST((denied.vote == vote::denied));
    using std::chrono::milliseconds;
    BOOST_TEST((denied.taken
                == decltype(denied.taken){
                    {0, milliseconds(321), false}, {1, milliseconds(-1), false}, {2, milliseconds(1000), true}}));
    for (auto const& odd :
         {make(stores::redis::resp::type::number, "12"), make(stores::redis::resp::type::number, "-1"),
          make(stores::redis::resp::type::simple_string, "OK"), make(stores::redis::resp::type::null, ""),
          make(stores::redis::resp::type::array, "", {"1", "2"}),
          make(stores::redis::resp::type::array, "", {"1", "2", "3", "4", "5", "soon"}),
          make(stores::redis::resp::type::array, "")})
        BOOST_TEST((answered(odd).error == errc::unexpected_reply));
}

BOOST_AUTO_TEST_CASE(decode_for_a_contender_with_fencing_gives_wanted_and_fence)
{
    auto q = question(kind::acquire, 77);
    testing::set_contender(q, "me");
    stores::redis::reply const both[] = {make(stores::redis::resp::type::number, "2"),
                                         make(stores::redis::resp::type::number, "1")};
    auto const r = stores::redis::decode(q, both);
    BOOST_TEST((r.vote == vote::granted));
    BOOST_TEST(r.wanted);
    BOOST_TEST(r.fence == 77u);
}

BOOST_AUTO_TEST_CASE(decode_with_fencing_gives_whether_the_proposal_was_taken)
{
    auto const ok = make(stores::redis::resp::type::simple_string, "OK");
    auto const taken = answer_of_two(kind::acquire, ok, make(stores::redis::resp::type::number, "1"), 77);
    BOOST_TEST((taken.vote == vote::granted));
    BOOST_TEST(taken.fence == 77u);
    auto const outbid = answer_of_two(kind::acquire, ok, make(stores::redis::resp::type::number, "0"), 77);
    BOOST_TEST((outbid.vote == vote::granted));
    BOOST_TEST(outbid.fence == 0u);
    for (auto const* changed : {"0", "1"}) {
        auto const denied = answer_of_two(kind::acquire, make(stores::redis::resp::type::null, ""),
                                          make(stores::redis::resp::type::number, changed), 77);
        BOOST_TEST((denied.vote == vote::denied));
        BOOST_TEST(denied.fence == 0u);
    }
}

BOOST_AUTO_TEST_CASE(decode_with_fencing_after_a_set_key_is_never_untouched)
{
    auto const ok = make(stores::redis::resp::type::simple_string, "OK");
    auto const forbidden =
        answer_of_two(kind::acquire, ok, make(stores::redis::resp::type::simple_error, "NOPERM no"), 77);
    BOOST_TEST((forbidden.vote == vote::unknown));
    BOOST_TEST((forbidden.error == errc::permission_denied));
    BOOST_TEST(!forbidden.untouched);
    for (auto const& odd :
         {make(stores::redis::resp::type::number, "2"), make(stores::redis::resp::type::simple_string, "OK"),
          make(stores::redis::resp::type::null, ""), make(stores::redis::resp::type::real, "1")}) {
        auto const strange = answer_of_two(kind::acquire, ok, odd, 77);
        BOOST_TEST((strange.error == errc::unexpected_reply));
        BOOST_TEST(!strange.untouched);
    }
    BOOST_TEST(answer_of_two(kind::acquire, make(stores::redis::resp::type::simple_error, "LOADING"),
                             make(stores::redis::resp::type::number, "1"), 77)
                   .untouched);
}

BOOST_AUTO_TEST_CASE(decode_of_raise_accepts_whole_numbers_in_range)
{
    auto const counter = [](std::string text, stores::redis::resp::type t = stores::redis::resp::type::real) {
        return answer_of_two(kind::raise, make(stores::redis::resp::type::number, "0"), make(t, std::move(text)), 77);
    };
    BOOST_TEST((counter("1").vote == vote::granted));
    BOOST_TEST(counter("1795000000123456").fence == 1'795'000'000'123'456u);
    BOOST_TEST(counter("1.795e+15").fence == 1'795'000'000'000'000u);
    BOOST_TEST(counter("9007199254740991").fence == 9'007'199'254'740'991u);
    for (auto const* odd : {"0", "-1", "9007199254740992", "1.5", "", "inf", "nan", "1 ", "many"})
        BOOST_TEST((counter(odd).error == errc::unexpected_reply));
    BOOST_TEST((counter("7", stores::redis::resp::type::blob_string).error == errc::unexpected_reply));
    BOOST_TEST((counter("WRONGTYPE no", stores::redis::resp::type::simple_error).error == errc::wrong_type));
}

BOOST_AUTO_TEST_CASE(decode_of_a_healed_key_is_denied)
{
    auto const r = answer(kind::extend, make(stores::redis::resp::type::number, "2"), 0, true);
    BOOST_TEST((r.vote == vote::denied));
    BOOST_TEST(r.healed);
    BOOST_TEST(!answer(kind::extend, make(stores::redis::resp::type::number, "1"), 0, true).healed);
}

BOOST_AUTO_TEST_CASE(decode_of_upgrade_gives_the_vote_and_the_remaining_time)
{
    auto const r = answer(kind::upgrade, make(stores::redis::resp::type::array, "", {"1234"}));
    BOOST_TEST((r.vote == vote::denied));
    BOOST_TEST(r.ours == 1u);
    BOOST_TEST(r.remaining.count() == 1234);
    BOOST_TEST((answer(kind::upgrade, make(stores::redis::resp::type::number, "1")).vote == vote::granted));
    auto const gone = answer(kind::upgrade, make(stores::redis::resp::type::number, "0"));
    BOOST_TEST((gone.vote == vote::denied));
    BOOST_TEST(gone.ours == 0u);
    BOOST_TEST(
        (answer(kind::upgrade, make(stores::redis::resp::type::simple_error, "WRONGTYPE no")).vote == vote::denied));
    BOOST_TEST(answer_of_two(kind::upgrade, make(stores::redis::resp::type::number, "1"),
                             make(stores::redis::resp::type::number, "1"), 7)
                   .fence
               == 7u);
    BOOST_TEST(answer_of_two(kind::upgrade, make(stores::redis::resp::type::number, "1"),
                             make(stores::redis::resp::type::number, "0"), 7)
                   .fence
               == 0u);
    BOOST_TEST((answer_of_two(kind::upgrade, make(stores::redis::resp::type::array, "", {"1234"}),
                              make(stores::redis::resp::type::number, "1"), 7)
                    .vote
                == vote::denied));

    auto extend = question(kind::extend);
    extend.what = commands::extend{.alone = true};
    auto const reads = make(stores::redis::resp::type::number, "2");
    BOOST_TEST((stores::redis::decode(extend, {&reads, 1}).vote == vote::denied));
    BOOST_TEST(!stores::redis::decode(extend, {&reads, 1}).healed);
}

BOOST_AUTO_TEST_CASE(decode_of_an_unexpected_reply_is_unknown)
{
    stores::redis::reply const odd[] = {make(stores::redis::resp::type::simple_string, "PONG"),
                                        make(stores::redis::resp::type::number, "2"),
                                        make(stores::redis::resp::type::blob_string, "OK"),
                                        make(stores::redis::resp::type::array, "", {"a", "b", "c"}),
                                        make(stores::redis::resp::type::map, "", {"a", "b"}),
                                        make(stores::redis::resp::type::array, "", {"value", "soon"})};
    for (auto const& o : odd) {
        for (auto k : {kind::acquire, kind::raise, kind::extend, kind::replace, kind::release, kind::inspect,
                       kind::upgrade, kind::downgrade, kind::scan}) {
            auto const r = answer(k, o);
            BOOST_TEST((r.vote == vote::unknown));
            BOOST_TEST((r.error == errc::unexpected_reply));
            BOOST_TEST(!r.untouched);
        }
    }
}

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(decode_error_of_each_refusal_gives_its_own_error)
{
    std::pair<char const*, errc> const refusals[] = {
        {"LOADING Redis is loading the dataset in memory", errc::node_loading},
        {"READONLY You can't write against a read only replica.", errc::node_read_only},
        {"MASTERDOWN Link with MASTER is down", errc::node_read_only},
        {"BUSY Redis is busy running a script.", errc::node_busy},
        {"OOM command not allowed when used memory > 'maxmemory'.", errc::node_out_of_memory},
        {"OOM command not allowed when used memory > 'maxmemory'. script: 4ca2, on @user_script:7.",
         errc::node_out_of_memory},
        {"NOAUTH Authentication required.", errc::authentication_failed},
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::authentication_failed},
        {"NOPERM this user has no permissions to run the 'set' command", errc::permission_denied},
        {"NOSCRIPT No matching script. Please use EVAL.", errc::script_missing},
        {"MOVED 3999 127.0.0.1:6381", errc::wrong_cluster_node},
        {"ASK 3999 127.0.0.1:6381", errc::wrong_cluster_node},
        {"TRYAGAIN Multiple keys request during rehashing of slot", errc::wrong_cluster_node},
        {"CLUSTERDOWN The cluster is down", errc::wrong_cluster_node},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::wrong_type},
        {"MISCONF Redis is configured to save RDB snapshots", errc::node_refuses_writes},
        {"NOREPLICAS Not enough good replicas to write.", errc::node_refuses_writes},
        {"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", errc::node_out_of_memory},
        {"ERR Error running script (call to f_1): @user_script:1: @user_script: 1: -OOM command not allowed when used "
         "memory > 'maxmemory'.",
         errc::node_out_of_memory},  // Redis 6.0.16
        {"ERR Error running script (call to f_1): @user_script:1: WRONGTYPE Operation against a key", errc::wrong_type},
    };
    for (auto const& [text, error] : refusals) {
        auto const r = stores::redis::decode_error(text);
        BOOST_TEST((r.vote == vote::unknown));
        BOOST_TEST((r.error == error), text);
        BOOST_TEST(r.untouched, text);
    }
}

BOOST_AUTO_TEST_CASE(decode_error_of_an_unknown_error_is_not_untouched)
{
    auto const r = stores::redis::decode_error("ERR something new");
    BOOST_TEST((r.error == errc::server_error));
    BOOST_TEST(!r.untouched);
    BOOST_TEST(r.text == "ERR something new");
    // A quoted refusal in the middle of a script error does not count.
    auto const quoting = stores::redis::decode_error(
        "ERR Error running script (call to f_1): @user_script:1: cannot do '@user_script: 1: -OOM all'");
    BOOST_TEST((quoting.error == errc::server_error));
    BOOST_TEST(!quoting.untouched);
}

// Rule 14 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(decode_error_does_not_repeat_the_quoted_command)
{
    auto const r = stores::redis::decode_error(
        "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'hunter2' ");
    BOOST_TEST(r.text.find("hunter2") == std::string::npos);
    BOOST_TEST(r.text == "ERR unknown command 'HELLO'");
    BOOST_TEST(r.untouched);
    BOOST_TEST(stores::redis::decode_error("ERR \x1b[31m\r\n" + std::string(1000, 'x')).text.size() <= 160u);
    BOOST_TEST(stores::redis::decode_error("ERR \x1b[31m\r\n").text == "ERR ?[31m??");
}

BOOST_AUTO_TEST_CASE(presentable_leaves_out_quoted_secrets)
{
    auto const shown = [](std::string_view text) {
        return net::presentable(text, {"hunt%r\"2\n\xc3\xa9", "5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web:1"});
    };
    for (std::string_view const quoted : {"hunt%r\"2\n\xc3\xa9", "hunt%r\\\"2\\n\\xc3\\xa9", "hunt%25r%222%0a%C3%A9",
                                          "%68%75%6e%74%25%72%22%32%0A%C3%A9", "HUNT%R\"2\n\xc3\xa9", "hunt%r\"2???",
                                          "hunt%r\\\"2\\u000a\\u00c3\\u00a9", "5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web:1",
                                          "5F0C9D4B2A7E61830D1F4E5A6B7C8D9E:web:1"}) {
        BOOST_TEST(shown("ERR cannot do AUTH default " + std::string(quoted) + " now")
                   == "ERR cannot do AUTH default *** now");
        BOOST_TEST(shown("'" + std::string(quoted) + "'" + std::string(quoted)) == "'***'***");
    }
    for (std::string_view const cut : {"ERR: 'hunt'", "ERR: 'hunt%", "ERR: 'hunt%25r...", "ERR: \"5f0c9d4b2a7e",
                                       "ERR: 5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:w"}) {
        BOOST_TEST(shown(cut).find("hunt") == std::string::npos);
        BOOST_TEST(shown(cut).find("5f0c") == std::string::npos);
    }
    BOOST_TEST(shown("ERR the hunter is not there") == "ERR the hunter is not there");
    // Replaced before the text is truncated.
    BOOST_TEST(shown(std::string(150, 'x') + "hunt%r\"2\n\xc3\xa9").substr(150) == "***");
    BOOST_TEST(net::presentable("ERR \\\\\\\\\\\\\\\\", {"\\\\\\\\\\\\\\"}).find("\\\\\\\\") == std::string::npos);

    auto q = question(kind::acquire, 7);
    q.value = "5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web:1";
    stores::redis::reply const replies[] = {
        make(stores::redis::resp::type::simple_string, "OK"),
        make(stores::redis::resp::type::simple_error, "ERR pw=sesame-7 5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web:1")};
    BOOST_TEST(stores::redis::decode(q, replies, "sesame-7").text == "ERR pw=*** ***");
    BOOST_TEST(stores::redis::decode(q, {replies + 1, 1}, "sesame-7").text == "ERR pw=*** ***");
    q.what = commands::raise{};
    BOOST_TEST(stores::redis::decode(q, replies, "sesame-7").text == "ERR pw=*** ***");
}

BOOST_AUTO_TEST_SUITE_END()
