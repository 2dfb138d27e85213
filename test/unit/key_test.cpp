#include "core/key.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::core;

BOOST_AUTO_TEST_SUITE(key)

BOOST_AUTO_TEST_CASE(make_token_has_128_bits_owner_time_and_note)
{
    BOOST_TEST(make_token(0x0123456789abcdef, 0xf, {"web:1", "nightly report", 1'764'238'452'000})
               == "0123456789abcdef000000000000000f:web:1\x1fsince=1764238452000\x1fnightly report");
}

BOOST_AUTO_TEST_CASE(holder_in_a_token_returns_what_it_was_made_of)
{
    for (std::string const owner : {"", "web-3:4121", "a\x1f",
                                    "a\x1f"
                                    "b",
                                    "\x1fsince=1\x1f", "\x1fsince=1\x1fx", "\xff"}) {
        for (std::string const note : {"", "since=1", "nightly report", "http://a/b?c=d:e", "\xf0\x9f\x94\x92"}) {
            for (std::uint64_t const since : {std::uint64_t(0), std::uint64_t(1), ~std::uint64_t(0)}) {
                auto const token = make_token(1, 2, {owner, note, since});
                auto const by = holder_in(token);
                BOOST_TEST(by.owner == owner);
                BOOST_TEST(by.note == note);
                BOOST_TEST(by.since == since);
                BOOST_TEST(owner_in(token) == owner);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(holder_in_a_value_without_a_note_has_all_of_the_label)
{
    std::string const digits = std::string(32, '0') + ':';
    for (std::string const label :
         {"", "web-3:4121", "a:b:c", " since=1 x", "\x1f", "\x1f\x1f", "a\x1fsince=\x1f", "a\x1fsince=1",
          "a\x1fsince=x\x1f", "a\x1fsince=-1\x1f", "a\x1fsince=99999999999999999999\x1f"}) {
        auto const value = digits + label;
        auto const by = holder_in(value);
        BOOST_TEST(by.owner == label);
        BOOST_TEST(by.note == "");
        BOOST_TEST(by.since == 0u);
    }
}

BOOST_AUTO_TEST_CASE(owner_of_contender_returns_the_label_up_to_255_bytes)
{
    BOOST_TEST(owner_of_contender(make_contender(1, "web-3:4121")) == "web-3:4121");
    BOOST_TEST(owner_of_contender("0123456789abcdef") == "");
    auto const longest = make_contender(1, std::string(237, 'a') + "\xe2\x82\xac" + "b");
    BOOST_TEST(longest.size() == 254u);  // it does not cut a character
    BOOST_TEST(make_contender(1, std::string(256, 'a')).size() == 255u);
}

BOOST_AUTO_TEST_CASE(owner_in_a_token_returns_the_owner)
{
    BOOST_TEST(owner_in(make_token(1, 2, {.owner = "host:42"})) == "host:42");
    BOOST_TEST(owner_in(make_token(1, 2, {})) == "");
    BOOST_TEST(is_token(make_token(1, 2, {})));
}

BOOST_AUTO_TEST_CASE(owner_in_a_foreign_value_is_empty)
{
    for (auto const& value : {std::string(), std::string("some-uuid-of-another-client-0123:456"), std::string(32, '0'),
                              std::string(32, 'G') + ":x"}) {
        BOOST_TEST(!is_token(value));
        BOOST_TEST(owner_in(value) == "");
    }
}

namespace {

// The part of a key that a Redis Cluster hashes.
std::string slot_of(std::string const& key)
{
    auto const open = key.find('{');
    if (open == key.npos)
        return key;
    auto const close = key.find('}', open);
    return close == key.npos || close == open + 1 ? key : key.substr(open + 1, close - open - 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(fence_key_and_others_are_in_the_slot_of_the_lock)
{
    BOOST_TEST(fence_key("lock:stock") == "lock:stock:=fence:{lock:stock}");
    BOOST_TEST(fence_key("lock:{shop}:stock") == "lock:{shop}:stock:=fence");
    BOOST_TEST(tombstone_key("lock:stock", "v") == "lock:stock:=gone:{lock:stock}:v");
    BOOST_TEST(tombstone_key("lock:{shop}:stock", "v") == "lock:{shop}:stock:=gone:v");
    BOOST_TEST(wanted_key("lock:stock") == "lock:stock:=wanted:{lock:stock}");
    for (std::string const key : {"a", "lock:a b", "lock:{a}", "{a}b{c}", "a{}b"}) {
        for (auto const& other :
             {fence_key(key), tombstone_key(key, "v{x}"), wanted_key(key), handovers_key(key), readers_key(key)}) {
            if (slot_of(key) != key || key.find('{') == key.npos)
                BOOST_TEST(slot_of(other) == slot_of(key));
            BOOST_TEST(other.substr(0, key.size()) == key);
        }
    }
}

BOOST_AUTO_TEST_CASE(fence_key_and_others_are_never_the_key_of_another_lock)
{
    // All keys of up to four pieces. This suffices to write any mark, the end of a mark, or a tag.
    std::string_view const pieces[] = {":", "=", "fence", "turn", "{", "}", "a"};
    std::vector<std::string> locks{""};
    for (std::size_t begin = 0, length = 0; length < 4; ++length) {
        auto const end = locks.size();
        for (; begin < end; ++begin) {
            for (auto const p : pieces)
                locks.push_back(locks[begin] + std::string(p));
        }
    }
    std::erase_if(locks, [](auto& key) { return key.empty() || !mark_in(key).empty(); });
    std::set<std::string> const names(locks.begin(), locks.end());
    std::set<std::string> others;
    std::size_t count = 0;
    for (auto const& key : locks) {
        for (auto const& other : {fence_key(key), wanted_key(key), handovers_key(key), readers_key(key)}) {
            BOOST_TEST_REQUIRE(!mark_in(other).empty(), other);
            BOOST_TEST_REQUIRE(!names.contains(other), other);
            others.insert(other);
            ++count;
        }
        BOOST_TEST_REQUIRE((what_changed(handovers_key(key)) == std::pair(watched::handovers, std::string_view(key))));
        BOOST_TEST_REQUIRE((what_changed(wanted_key(key)) == std::pair(watched::wanted, std::string_view(key))));
        BOOST_TEST_REQUIRE((what_changed(key) == std::pair(watched::lock, std::string_view(key))));
    }
    BOOST_TEST(locks.size() > 2500u);
    BOOST_TEST(others.size() == count);  // two locks never share such a key
}

BOOST_AUTO_TEST_CASE(mark_in_finds_a_mark_at_any_position)
{
    for (std::string const mark : {":=fence", ":=gone", ":=turn", ":=wanted", ":=shared", ":=upgrade", ":=session",
                                   ":=record", ":=clients", ":=tenure", ":=life", ":=settings"}) {
        for (auto const& key : {mark, "a" + mark, mark + "a", "a:" + mark + ":b"})
            BOOST_TEST(mark_in(key) == mark);
    }
    for (auto const* key : {"", ":", ":=", "a:fence", "{a}:fence", ":=fenc", "=fence", "a:=b", ": =gone", "a:turn:{a}"})
        BOOST_TEST(mark_in(key) == "");
    BOOST_TEST(mark_in("a:=gone:{a}:7f run \":=fence\"") == ":=gone");  // a tombstone whose note names a counter
}

BOOST_AUTO_TEST_CASE(session_key_contains_a_mark)
{
    BOOST_TEST(session_key("lock:", "7") == "lock::=session:7");
    BOOST_TEST(mark_in(session_key("", "7")) == ":=session");
}

BOOST_AUTO_TEST_CASE(record_key_and_settings_key_contain_a_mark)
{
    BOOST_TEST(record_key("lock:") == "lock::=record");
    BOOST_TEST(mark_in(record_key("")) == ":=record");
    BOOST_TEST(settings_key("lock:") == "lock::=clients");
    BOOST_TEST(mark_in(settings_key("")) == ":=clients");
}

BOOST_AUTO_TEST_CASE(lock_of_a_watched_key_is_found_by_what_changed)
{
    BOOST_TEST(handovers_key("lock:stock") == "lock:stock:=turn:{lock:stock}");
    BOOST_TEST(handovers_key("lock:{shop}:stock") == "lock:{shop}:stock:=turn");
    for (std::string const key : {"k", "lock:stock", "lock:{shop}:stock", "lock:a:turn", "lock:a:turn:{lock:b}",
                                  "lock:{a}:turn", "lock:{}", "{", "}"}) {
        for (auto const& [of, other] : {std::pair(watched::handovers, handovers_key(key)),
                                        std::pair(watched::wanted, wanted_key(key)), std::pair(watched::lock, key)})
            BOOST_TEST((what_changed(other) == std::pair(of, std::string_view(key))));
    }
    for (std::string const key : {"", ":turn", "lock:a", "lock:a:=turn", "lock:a:=turn:{lock:b}",
                                  "lock:a:=turn:{lock:a", "lock:{a}:=turn:", ":=turn:{}x", "lock:a:=gone:{lock:a}:v"})
        BOOST_TEST((what_changed(key) == std::pair(watched::lock, std::string_view(key))));
}

BOOST_AUTO_TEST_SUITE_END()
