#include "support/manager_test.hpp"

#include <fmt/format.h>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(inspections)

namespace {

std::pair<error_code, lock_info> inspect(lock_world& w, lock_manager& locks, std::string resource)
{
    std::optional<std::pair<error_code, lock_info>> result;
    locks.async_inspect(std::move(resource),
                        [&](error_code ec, lock_info info) { result.emplace(ec, std::move(info)); });
    w.run_to([&] { return result.has_value(); });
    return *result;
}

}  // namespace

BOOST_AUTO_TEST_CASE(inspect_reports_owner_remaining_time_and_nodes)
{
    lock_world w(3);
    auto locks = w.manager({.owner = "web-1"});
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_for(1s);
    w[2].entries.clear();
    w[1].find("lock:stock")->expires = w.now + 5s;

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST(info.resource == "stock");
    BOOST_TEST(info.locked);
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST((info.remaining > 4900ms && info.remaining <= 5s));  // after that, one node has the key
    BOOST_TEST(info.nodes.size() == 3u);
    BOOST_TEST(info.nodes[0].locked);
    BOOST_TEST((info.nodes[0].remaining > 8900ms));
    BOOST_TEST(!info.nodes[2].locked);
}

BOOST_FIXTURE_TEST_CASE(inspect_of_a_key_on_a_minority_reports_not_locked, manager_of<3>)
{
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST(!info.locked);
    BOOST_TEST(info.nodes[0].locked);
    BOOST_TEST(info.nodes[0].owner == "");
}

BOOST_FIXTURE_TEST_CASE(inspect_without_a_majority_returns_no_quorum_and_known_nodes, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[0].hung = w[1].hung = true;

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST((ec == errc::no_quorum));
    BOOST_TEST((info.nodes[0].error == errc::node_timeout));
    BOOST_TEST(info.nodes[2].locked);
    BOOST_TEST((inspect(w, *locks, "").first == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(inspect_with_a_mute_node_waits_for_a_slow_one)
{
    lock_world w(3);
    w[2].limits.timeout = 1s;
    auto locks = w.connected();
    w[0].mute = true;
    w[2].reply_delay = 300ms;
    auto const begun = w.now;

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST((w.now - begun < 310ms));
    BOOST_TEST((info.nodes[0].error == errc::node_timeout));
    BOOST_TEST(!info.nodes[2].error);
}

BOOST_AUTO_TEST_CASE(inspect_reports_note_and_start_of_the_hold)
{
    lock_world w(3);
    w.wall_clock = 1'764'238'452'123'456;
    auto locks = w.manager({.owner = "web-1"});
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .note = "nightly report"});

    auto const [ec, info] = inspect(w, *locks, "stock");

    BOOST_TEST(!ec);
    BOOST_TEST(info.owner == "web-1");
    BOOST_TEST(info.note == "nightly report");
    BOOST_TEST_REQUIRE(info.since.has_value());
    BOOST_TEST((info.since->time_since_epoch() == 1'764'238'452'123ms));
    BOOST_TEST(info.nodes[0].note == "nightly report");
    BOOST_TEST(info.nodes[0].value == won.held.token());
}

BOOST_AUTO_TEST_CASE(acquire_for_a_request_of_another_owner_marks_its_tokens)
{
    lock_world w(3);
    auto locks = w.manager({.owner = "web-1"});
    acquire_options const how{.ttl = 10s, .owner = "ci", .request = 0x1234};
    auto first = w.acquire(*locks, "stock", how);
    BOOST_TEST(inspect(w, *locks, "stock").second.owner == "ci");
    auto const token = first.held.token();
    BOOST_TEST(!w.release(first.held));
    auto const second = w.acquire(*locks, {"stock", "till"}, how);

    BOOST_TEST(token.starts_with("0000000000001234"));
    BOOST_TEST(second.held.token().starts_with("0000000000001234"));
    BOOST_TEST(second.held.token() != token);
    auto const refused = w.acquire(*locks, "stock", {.owner = "a\x1f"});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(refused.report.message.find("owner has the byte 0x1f at index 1") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(inspect_lists_readers_and_clients_that_wait)
{
    lock_world w(3);
    auto one = w.manager({.owner = "one"}), two = w.manager({.owner = "two"}), three = w.manager({.owner = "three"});
    auto reads = w.acquire(*one, "stock", {.ttl = 10s, .mode = mode::shared, .note = "report"});
    auto reads_too = w.acquire(*two, "stock", {.ttl = 10s, .mode = mode::shared});
    std::optional<error_code> ended;
    three->async_acquire("stock", {.wait = 5s, .note = "import"}, [&](error_code ec, lock) { ended = ec; });
    w.run_for(1s);

    auto const [ec, info] = inspect(w, *one, "stock");

    BOOST_TEST(info.locked);
    BOOST_TEST((info.mode == mode::shared));
    BOOST_TEST(info.knows_readers);
    BOOST_TEST_REQUIRE(info.readers.size() == 2u);
    for (auto const& r : info.readers) {
        BOOST_TEST(r.note == (r.owner == "one" ? "report" : ""));
        BOOST_TEST(r.nodes == 3u);
        BOOST_TEST((r.remaining > 8s && r.remaining <= 10s));
    }
    BOOST_TEST(info.knows_waiters);
    BOOST_TEST_REQUIRE(info.waiters.size() == 1u);
    BOOST_TEST(info.waiters[0].owner == "three");
    BOOST_TEST(info.waiters[0].note == "import");
    BOOST_TEST(!info.waiters[0].shares);
    w.run_to([&] { return ended.has_value(); });
}

BOOST_AUTO_TEST_CASE(acquire_that_waited_in_vain_names_the_holder)
{
    lock_world w(3);
    w.wall_clock = 1'764'238'452'123'456;
    auto locks = w.manager({.owner = "web-1\n"}), other = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .note = "nightly report"});

    auto const lost = w.acquire(*other, "stock", {.wait = 1s});

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST(lost.report.message.ends_with(", held by web-1? for \"nightly report\" since 2025-11-27T10:14:12Z"),
               lost.report.message);
    for (auto const& n : lost.report.nodes)
        BOOST_TEST(n.message == "");  // the value is a secret
}

BOOST_FIXTURE_TEST_CASE(inspect_of_a_foreign_value_shows_it_as_it_is, manager_of<1>)
{
    std::string const digits = std::string(32, 'a') + ':';
    for (auto const& [value, owner] : {std::pair<std::string, std::string>{"some uuid", ""},
                                       {"a:b", ""},
                                       {digits + "web:3:x", "web:3:x"},
                                       {digits + "a\x1fsince=yesterday\x1fx", "a\x1fsince=yesterday\x1fx"},
                                       {digits + "a\x1fsince=253402300799999\x1f", "a"},
                                       {digits + "a\x1fsince=18446744073709551615\x1f", "a"}}) {
        w[0].entries["lock:stock"] = {value, w.now + 1h};
        auto const [ec, info] = inspect(w, *locks, "stock");
        BOOST_TEST(info.locked);
        BOOST_TEST(info.owner == owner);
        BOOST_TEST(info.note == "");
        BOOST_TEST(!info.since.has_value());
        BOOST_TEST(info.nodes[0].value == value);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_bad_note_is_refused_before_anything_is_sent, manager_of<1>)
{
    auto const refusal = [&](std::string const& note) {
        auto const o = w.acquire(*locks, "stock", {.note = note});
        BOOST_TEST((o.ec == errc::invalid_argument));
        return o.report.message;
    };
    BOOST_TEST(refusal(std::string(201, 'x')).ends_with("note has more than 200 bytes, but must have 0 to 200"));
    for (int byte = 0; byte < 256; ++byte) {
        auto const note = std::string("a") + static_cast<char>(byte);
        if (byte >= 0x20 && byte < 0x7f)
            continue;
        BOOST_TEST(refusal(note).ends_with(fmt::format("note has the byte 0x{:02x} at index 1, but must be UTF-8 "
                                                       "without control characters",
                                                       byte)));
    }
    BOOST_TEST(w[0].entries.empty());

    std::string printable;
    for (char c = 0x20; c < 0x7f; ++c)
        printable += c;
    for (auto const& note : {printable, std::string(200, 'x'), std::string("\xc3\xa9 \xf0\x9f\x94\x92")}) {
        auto won = w.acquire(*locks, "stock", {.note = note});
        BOOST_TEST(!won.ec);
        BOOST_TEST(inspect(w, *locks, "stock").second.note == note);
        w.release(won.held);
    }
}

BOOST_AUTO_TEST_SUITE_END()
