#include "stores/redis/request.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/sender.hpp"
#include "support/resp_commands.hpp"
#include "testing/command_parts.hpp"

#include <redlock/resource_set.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

using namespace redlock;
using namespace std::string_view_literals;
using stores::redis::deletion;
using stores::redis::encoder;
using stores::redis::manner;
using kind = node_command::kind;
using handovers = commands::handovers;

BOOST_AUTO_TEST_SUITE(encoded_commands)

namespace {

// The form of the protocol: the number of words, then each word after its length.
std::string as_resp(std::vector<std::string> const& words)
{
    auto all = "*" + std::to_string(words.size()) + "\r\n";
    for (auto const& word : words)
        all += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    return all;
}

std::string text_of(std::string_view text) { return std::string(text); }
std::string text_of(std::integral auto number) { return std::to_string(number); }

template <class... Args>
void check_same(std::string_view name, Args const&... args)
{
    stores::redis::request actual;
    actual.push(name, args...);

    BOOST_TEST(actual.bytes() == as_resp({text_of(name), text_of(args)...}));
    BOOST_TEST(actual.commands() == 1u);
}

// A command that owns its key.
struct test_command : node_command {
    test_command(kind k, std::string of, std::string_view held, std::chrono::milliseconds t = {})
        : node_command{.what = redlock::testing::command_of(k), .value = held, .ttl = t}, name(std::move(of))
    {
        keys = {&name, 1};
    }
    test_command(test_command const& other) : node_command(other), name(other.name) { keys = {&name, 1}; }

    std::string name;
};

template <class... Args>
std::string expected(Args const&... args)
{
    return as_resp({text_of(args)...});
}

}  // namespace

BOOST_AUTO_TEST_CASE(push_encodes_an_array_of_texts)
{
    check_same("PING");
    check_same("GET", "key"sv);
    check_same("SET", "key"sv, "value"sv, "NX"sv, "PX"sv, std::int64_t(30000));
    check_same("SET", std::string("key"), "zero\0inside"sv, "line\r\nend"sv);
}

BOOST_AUTO_TEST_CASE(push_of_empty_arguments_encodes_empty_texts)
{
    check_same("SET", ""sv, ""sv);
    check_same("SET", std::string_view(), std::string());
    check_same("SET", ""sv);
}

BOOST_AUTO_TEST_CASE(push_of_integers_encodes_decimal_texts)
{
    using limits = std::numeric_limits<std::int64_t>;
    for (std::int64_t const n : std::vector<std::int64_t>{0, 1, -1, 9, 10, -10, 1'000'000'007, limits::max(),
                                                          limits::min(), limits::min() + 1})
        check_same("SET", "key"sv, n, n);
}

BOOST_AUTO_TEST_CASE(push_of_arguments_of_any_length_encodes_them)
{
    for (std::size_t length = 0; length < 1200; ++length) {
        std::string const text(length, 'x');
        check_same("ECHO", text);
        check_same("SET", text, "value"sv, std::int64_t(-30000));
    }
    for (std::size_t length : {9'999, 10'000, 65'535, 65'536, 1'000'000}) {
        std::string const text(length, 'y');
        check_same("SET", text, text);
    }
}

BOOST_AUTO_TEST_CASE(push_of_many_short_arguments_encodes_them)
{
    check_same("DEL", "a"sv, "b"sv, "c"sv, "d"sv, "e"sv, "f"sv, "g"sv, "h"sv, "i"sv, "j"sv, "k"sv, "l"sv, "m"sv, "n"sv,
               "o"sv, "p"sv, "q"sv, "r"sv, "s"sv, "t"sv);
}

BOOST_AUTO_TEST_CASE(push_of_several_commands_appends_them)
{
    std::string const large(600, 'z');
    stores::redis::request actual;
    std::string all;
    for (int i = 0; i < 3; ++i) {
        all += expected("SET", "key", large, i) + expected("PING");
        actual.push("SET", "key"sv, large, std::int64_t(i));
        actual.push("PING");
    }

    BOOST_TEST(actual.bytes() == all);
    BOOST_TEST(actual.commands() == 6u);
}

BOOST_AUTO_TEST_CASE(encode_of_each_operation_gives_its_command)
{
    using namespace std::chrono_literals;
    stores::redis::encoder e;
    auto const encoded = [&](kind k, stores::redis::manner how = {}, std::uint64_t fence = 0, bool heal = false,
                             bool contends = false, bool turn = false) {
        test_command o(k, "key", "value", 5s);
        redlock::testing::set_contender(o, contends ? "me" : "");
        redlock::testing::set_note(o, "a note");
        redlock::testing::set_former(o, "old");
        redlock::testing::set_handed_on(o, !turn                ? handovers::unsaid
                                           : k == kind::acquire ? handovers::follow
                                                                : handovers::end);
        redlock::testing::set_fence(o, fence);
        redlock::testing::set_heal(o, heal);
        std::string const bytes(e.encode(o, how).bytes());
        e.forget();  // o is destroyed
        return bytes;
    };
    auto const tombstone = "key:=gone:{key}:value", counter = "key:=fence:{key}";

    BOOST_TEST(encoded(kind::acquire) == expected("SET", "key", "value", "NX", "PX", "5000"));
    BOOST_TEST(encoded(kind::acquire, {.checks_type = true})
               == expected("SET", "key", "value", "NX", "PX", "5000", "GET"));
    BOOST_TEST(encoded(kind::acquire, {}, 7)
               == expected("SET", "key", "value", "NX", "PX", "5000")
                      + expected("ZADD", counter, "GT", "CH", "7", "token"));
    auto const contend_as = [&](char const* turn) {
        return expected("EVALSHA", stores::redis::contend_script.sha1, "3", "key", "key:=wanted:{key}",
                        "key:=turn:{key}", "value", "5000", "me", "1000", turn, "a note");
    };
    auto const contend = contend_as("0");
    BOOST_TEST(encoded(kind::acquire, {}, 0, false, true, true) == contend_as("1"));
    BOOST_TEST(encoded(kind::acquire, {}, 0, false, true) == contend);
    BOOST_TEST(encoded(kind::acquire, {.tracks = true}, 0, false, true)
               == contend + expected("CLIENT", "CACHING", "YES") + expected("PTTL", "key"));
    BOOST_TEST(encoded(kind::acquire, {}, 7, false, true)
               == contend + expected("ZADD", counter, "GT", "CH", "7", "token"));
    BOOST_TEST(encoded(kind::raise, {}, 7)
               == expected("ZADD", counter, "GT", "7", "token") + expected("ZINCRBY", counter, "1", "token"));
    // Without healing, no key is named that older access lists do not allow.
    BOOST_TEST(encoded(kind::extend)
               == expected("EVALSHA", stores::redis::extend_script.sha1, "1", "key", "value", "5000", "0"));
    BOOST_TEST(encoded(kind::extend, {}, 0, true)
               == expected("EVALSHA", stores::redis::extend_script.sha1, "2", "key", tombstone, "value", "5000", "1"));
    BOOST_TEST(
        encoded(kind::replace)
        == expected("EVALSHA", stores::redis::replace_script.sha1, "2", "key", tombstone, "value", "5000", "old", "1"));
    BOOST_TEST(encoded(kind::release) == expected("EVALSHA", stores::redis::release_script.sha1, "1", "key", "value"));
    BOOST_TEST(encoded(kind::release, {.by = stores::redis::deletion::delifeq}) == expected("DELIFEQ", "key", "value"));
    BOOST_TEST(encoded(kind::release, {.by = stores::redis::deletion::delex})
               == expected("DELEX", "key", "IFEQ", "value"));
    for (auto const by :
         {stores::redis::deletion::script, stores::redis::deletion::delifeq, stores::redis::deletion::delex})
        BOOST_TEST(encoded(kind::release, {.by = by}, 0, false, false, true)
                   == expected("EVALSHA", stores::redis::release_script.sha1, "2", "key", "key:=turn:{key}", "value"));
    for (auto const by :
         {stores::redis::deletion::script, stores::redis::deletion::delifeq, stores::redis::deletion::delex})
        BOOST_TEST(
            encoded(kind::release, {.by = by, .tombstone = true})
            == expected("EVALSHA", stores::redis::tombstone_script.sha1, "2", "key", tombstone, "value", "600000"));
    BOOST_TEST(encoded(kind::release, {.tombstone = true}, 0, false, false, true)
               == expected("EVALSHA", stores::redis::tombstone_script.sha1, "3", "key", tombstone, "key:=turn:{key}",
                           "value", "600000"));
    BOOST_TEST(encoded(kind::inspect)
               == expected("EVALSHA", stores::redis::inspect_script.sha1, "3", "key", "key:=wanted:{key}",
                           "key:=shared:{key}"));
}

BOOST_AUTO_TEST_CASE(encode_with_load_script_loads_the_script_first)
{
    stores::redis::encoder e;
    test_command const o(kind::release, "key", "value");

    auto const& r = e.encode(o, {.load_script = true});

    BOOST_TEST(r.bytes()
               == expected("SCRIPT", "LOAD", stores::redis::release_script.source)
                      + expected("EVALSHA", stores::redis::release_script.sha1, "1", "key", "value"));
    BOOST_TEST(r.commands() == 2u);
}

BOOST_AUTO_TEST_CASE(encode_acquire_of_several_keys_sends_the_note_before_the_proposal)
{
    stores::redis::encoder e;
    std::vector<std::string> const keys{"a", "b"};
    node_command c{.what = redlock::commands::acquire{.contender = "me", .note = "a note", .fence = 77},
                   .keys = std::span(keys),
                   .value = "value",
                   .ttl = std::chrono::seconds(5)};
    for (bool const any : {false, true}) {
        c.as<redlock::commands::acquire>().any = any;
        e.forget();
        auto const words = test::take_commands(e.encode(c, {}).bytes()).at(0);
        BOOST_TEST((std::vector(words.end() - 2, words.end()) == std::vector<std::string>{"a note", "77"}));
    }
}

// An access list checks all key names of a command, also the unused ones.
BOOST_AUTO_TEST_CASE(encode_of_a_shared_lock_names_its_tombstone_only_if_needed)
{
    stores::redis::encoder e;
    auto const names_it = [&](test_command& o, stores::redis::manner how) {
        o.mode = redlock::mode::shared;
        e.forget();
        return e.encode(o, how).bytes().find(":=gone") != std::string_view::npos;
    };
    test_command extend(kind::extend, "key", "value", std::chrono::seconds(1)), release(kind::release, "key", "value");
    BOOST_TEST(!names_it(extend, {}));
    BOOST_TEST(!names_it(release, {}));
    BOOST_TEST(names_it(release, {.tombstone = true}));
    redlock::testing::set_heal(extend, true);
    BOOST_TEST(names_it(extend, {}));
}

BOOST_AUTO_TEST_CASE(encode_of_upgrade_and_downgrade_calls_scripts)
{
    stores::redis::encoder e;
    test_command upgrade(kind::upgrade, "key", "value", std::chrono::seconds(5)),
        downgrade(kind::downgrade, "key", "value");
    upgrade.mode = downgrade.mode = redlock::mode::shared;
    redlock::testing::set_note(upgrade, "a note");
    auto const plain = expected("EVALSHA", stores::redis::upgrade_script.sha1, "3", "key", "key:=shared:{key}",
                                "key:=wanted:{key}", "value", "5000", "", "1000", "a note");
    BOOST_TEST(e.encode(upgrade, {}).bytes() == plain);
    redlock::testing::set_fence(upgrade, 7);
    e.forget();
    BOOST_TEST(e.encode(upgrade, {}).bytes() == plain + expected("ZADD", "key:=fence:{key}", "GT", "CH", "7", "token"));
    BOOST_TEST(stores::redis::commands_for(upgrade) == 2u);
    BOOST_TEST(e.encode(downgrade, {}).bytes()
               == expected("EVALSHA", stores::redis::downgrade_script.sha1, "2", "key", "key:=shared:{key}", "value"));
    test_command extend(kind::extend, "key", "value", std::chrono::seconds(5));
    extend.mode = redlock::mode::shared;
    auto const extended = [&](char const* alone) {
        return expected("EVALSHA", stores::redis::extend_shared_script.sha1, "2", "key", "key:=shared:{key}", "value",
                        "5000", "0", alone);
    };
    BOOST_TEST(e.encode(extend, {}).bytes() == extended("0"));
    extend.what = redlock::commands::extend{.alone = true};
    e.forget();
    BOOST_TEST(e.encode(extend, {}).bytes() == extended("1"));
}

BOOST_AUTO_TEST_CASE(encode_withdraw_deletes_the_contender_from_each_list)
{
    stores::redis::encoder e;
    redlock::resource_set const keys{"a", "b"};
    redlock::node_command const c{.what = redlock::commands::withdraw{.contender = "me"}, .keys = keys.names()};
    BOOST_TEST(e.encode(c, {}).bytes()
               == expected("HDEL", "a:=wanted:{a}", "me") + expected("HDEL", "b:=wanted:{b}", "me"));
    BOOST_TEST(stores::redis::commands_for(c) == 2u);
}

BOOST_AUTO_TEST_CASE(encode_after_a_different_operation_encodes_again)
{
    using namespace std::chrono_literals;
    std::string const keys = "key1key2", values = "one two ";
    auto const key = [&](std::size_t i) { return keys.substr(4 * i, 4); };
    auto const value = [&](std::size_t i) { return std::string_view(values).substr(4 * i, 4); };
    test_command operations[] = {{kind::acquire, key(0), value(0), 1s}, {kind::acquire, key(1), value(0), 1s},
                                 {kind::acquire, key(1), value(1), 1s}, {kind::acquire, key(1), value(1), 2s},
                                 {kind::extend, key(1), value(1), 2s},  {kind::raise, key(1), value(1), 2s},
                                 {kind::release, key(1), value(1), 2s}, {kind::release, key(1), value(0), 2s},
                                 {kind::inspect, key(1), {}, 0s},       {kind::inspect, key(0), {}, 0s}};
    stores::redis::encoder used;
    auto const check = [&](test_command const& o, stores::redis::manner how) {
        stores::redis::encoder fresh;
        BOOST_TEST(used.encode(o, how).bytes() == fresh.encode(o, how).bytes());
        BOOST_TEST(used.encode(o, how).commands() == fresh.encode(o, how).commands());
        auto const script = how.load_script && stores::redis::script_for(o, how);
        BOOST_TEST(used.encode(o, how).commands() == stores::redis::commands_for(o) + script);
    };
    for (auto& o : operations) {
        for (auto by :
             {stores::redis::deletion::script, stores::redis::deletion::delifeq, stores::redis::deletion::delex}) {
            for (bool load : {false, true, true})
                check(o, {.by = by, .load_script = load});
            check(o, {.by = by, .tombstone = true});
        }
        for (std::uint64_t const fence : {1, 2}) {
            redlock::testing::set_fence(o, fence);
            used.forget();
            check(o, {});
            redlock::testing::set_heal(o, true);
            used.forget();
            check(o, {});
            redlock::testing::set_heal(o, false);
        }
    }
}

BOOST_AUTO_TEST_CASE(encode_after_forget_at_the_same_address_encodes_again)
{
    stores::redis::encoder e;
    test_command o(kind::acquire, "key1", "value", std::chrono::seconds(1));
    e.encode(o, {});
    o.name = "key2";

    e.forget();

    BOOST_TEST(e.encode(o, {}).bytes() == expected("SET", "key2", "value", "NX", "PX", "1000"));
}

BOOST_AUTO_TEST_CASE(encode_of_an_operation_without_key_and_value_succeeds)
{
    test_command const o(kind::acquire, {}, {});
    stores::redis::encoder e;
    BOOST_TEST(e.encode(o, {}).bytes() == expected("SET", "", "", "NX", "PX", "0"));
    e.encode(test_command(kind::acquire, "key", "value"), {});

    e.forget();

    BOOST_TEST(e.encode(o, {}).bytes() == expected("SET", "", "", "NX", "PX", "0"));
}

namespace {

// Sends one operation, then throws if `fails` is set.
class test_queue final : public stores::redis::sender::queue {
public:
    bool begin_sending(clock::time_point) override { return true; }
    bool send(std::size_t i, clock::time_point, stores::redis::encoder& e) override
    {
        if (i > 0)
            return false;
        sent.push_back(std::string(e.encode(*command, {}).bytes()));
        if (std::exchange(fails, false))
            throw std::bad_alloc();
        return true;
    }
    void end_sending() override {}

    node_command const* command = nullptr;
    bool fails = false;
    std::vector<std::string> sent;
};

}  // namespace

BOOST_AUTO_TEST_CASE(sender_after_a_failed_sending_encodes_again)
{
    boost::asio::io_context context;
    auto const runtime = runtime::make_system_runtime(context.get_executor());
    auto const sender = std::make_shared<stores::redis::sender>();
    auto const queue = std::make_shared<test_queue>();
    test_command o(kind::acquire, "key1", "value");
    queue->command = &o;
    queue->fails = true;
    sender->add(queue, runtime);
    BOOST_CHECK_THROW(context.run(), std::bad_alloc);
    queue->sent.clear();
    o.name = "key2";  // another command at the same address

    context.restart();
    sender->add(queue, runtime);
    context.run();

    BOOST_REQUIRE(queue->sent.size() == 1u);
    BOOST_TEST(queue->sent.front() == expected("SET", "key2", "value", "NX", "PX", "0"));
}

BOOST_AUTO_TEST_CASE(node_command_which_returns_the_kind_of_the_same_name)
{
    using redlock::node_command;
    namespace commands = redlock::commands;
    std::pair<commands::variant, kind> const all[] = {
        {commands::acquire{}, kind::acquire}, {commands::raise{}, kind::raise},
        {commands::extend{}, kind::extend},   {commands::release{}, kind::release},
        {commands::inspect{}, kind::inspect}, {commands::connect{}, kind::connect},
        {commands::upgrade{}, kind::upgrade}, {commands::downgrade{}, kind::downgrade},
        {commands::replace{}, kind::replace}, {commands::withdraw{}, kind::withdraw},
        {commands::scan{}, kind::scan},       {commands::found{}, kind::found}};
    BOOST_TEST(std::size(all) == std::variant_size_v<commands::variant>);
    for (auto const& [what, named] : all)
        BOOST_TEST((node_command{.what = what}.which() == named));

    // It is copied for each node and round.
    static_assert(std::is_trivially_copyable_v<node_command> && sizeof(node_command) <= 14 * sizeof(void*));
}

BOOST_AUTO_TEST_SUITE_END()
