#include "support/inbox_reader.hpp"
#include "support/resp_writer.hpp"
#include "support/splits.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(inboxes)

namespace {

using namespace std::string_literals;
using test::inbox_reader;
using test::invalidation_of;
using lines = std::vector<std::string>;

constexpr stores::redis::resp::limits narrow{.text = 32, .elements = 12};

// An inbox that expects a batch for each of @p commands.
inbox_reader read_replies(std::vector<std::size_t> const& commands, test::pieces const& bytes)
{
    inbox_reader r(narrow);
    for (auto const n : commands)
        r.expect(n);
    for (auto const piece : bytes)
        r.add(piece);
    BOOST_TEST(r.unread() <= r.unread_max());
    return r;
}

// The complete replies, with their types and elements.
lines replies_of(inbox_reader const& r)
{
    lines all;
    for (auto const& b : r.batches) {
        for (std::size_t i = 0; b->has(i); ++i) {
            auto const& one = b->replies[i];
            all.push_back(std::to_string(static_cast<int>(one.type)) + one.text);
            for (auto const& e : one.elements)
                all.back() += "," + e;
        }
    }
    return all;
}

struct conversation {
    std::vector<std::size_t> commands;  ///< of each batch
    std::string bytes;
    lines events;
};

conversation const conversations[] = {
    {{1}, "+OK\r\n", {"answered 0"}},
    {{2, 1}, "+OK\r\n:1\r\n_\r\n", {"answered 0", "answered 1"}},
    {{2}, "*2\r\n+a\r\n*1\r\n+b\r\n", {}},
    {{1}, "-ERR it says no\r\n", {"answered 0"}},
    // Pushes.
    {{}, invalidation_of("stock"), {"changed stock"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n", {"changed a", "changed b"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n_\r\n", {"changed"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n*-1\r\n", {"changed"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n$-1\r\n", {"changed"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n*0\r\n", {}},
    {{}, ">1\r\n$10\r\ninvalidate\r\n", {}},
    {{}, ">3\r\n$7\r\nmessage\r\n$7\r\nchannel\r\n$5\r\nhello\r\n", {}},
    {{}, ">2\r\n$7\r\nmessage\r\n*1\r\n$1\r\na\r\n", {}},
    {{}, ">2\r\n:1\r\n_\r\n", {}},
    {{},
     "|1\r\n+k\r\n+v\r\n" + invalidation_of("a") + ">2\r\n$3\r\nfoo\r\n_\r\n" + invalidation_of("b"),
     {"changed a", "changed b"}},
    {{}, invalidation_of("a key of thirty-two bytes, and more"), {"changed a key of thirty-two bytes, and m"}},
    {{2, 1},
     "+a\r\n" + invalidation_of("k") + "|1\r\n+k\r\n+v\r\n+b\r\n" + invalidation_of("l") + "*0\r\n"
         + invalidation_of("m"),
     {"changed k", "answered 0", "changed l", "answered 1", "changed m"}},
    // Replies without a request.
    {{}, "+OK\r\n", {"unasked"}},
    {{}, "*2\r\n", {"unasked"}},
    {{1}, "+OK\r\n+OK\r\n", {"answered 0", "unasked"}},
    {{1}, "+OK\r\n" + invalidation_of("a") + "+OK\r\n+OK\r\n", {"answered 0", "changed a", "unasked"}},
    {{1}, "|1\r\n+k\r\n+v\r\n_\r\n|1\r\n+k\r\n+v\r\n", {"answered 0"}},
    // Malformed replies.
    {{2}, "+OK\r\n$-1zzz\r\n", {"malformed"}},
    {{1, 1}, "+OK\r\n*99999999999\r\n+OK\r\n", {"answered 0", "malformed"}},
    {{1, 1}, "+OK\r\n%-3\r\n+OK\r\n", {"answered 0", "malformed"}},
    {{1}, "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", {"malformed"}},
    {{1}, "*2\r\n:1\r\n" + invalidation_of("a") + ":2\r\n", {"malformed"}},
    {{1}, "|1\r\n" + invalidation_of("a") + ":2\r\n+OK\r\n", {"malformed"}},
    {{1}, invalidation_of("a") + "HTTP/1.1 400 Bad Request\r\n", {"changed a", "malformed"}},
    {{}, ">2\r\n$10\r\ninvalidate\r\n*2\r\n$1\r\na\r\n>1\r\n", {"changed a", "malformed"}},
    // Incomplete replies.
    {{2}, "+OK\r\n", {}},
    {{1}, "*2\r\n$1\r\na\r\n$1\r\n", {}},
    {{1}, ">2\r\n$10\r\ninvalidate\r\n", {}},
};

}  // namespace

BOOST_AUTO_TEST_CASE(next_reports_the_same_events_however_bytes_are_split)
{
    for (auto const& c : conversations) {
        auto const whole = read_replies(c.commands, {c.bytes});
        BOOST_TEST(whole.events == c.events, c.bytes << boost::test_tools::per_element());
        test::each_split(c.bytes, [&](test::pieces const& all) {
            auto const split = read_replies(c.commands, all);
            BOOST_TEST((split.events == whole.events), c.bytes << " in " << all.size() << " pieces");
            BOOST_TEST((replies_of(split) == replies_of(whole)), c.bytes << " in " << all.size() << " pieces");
        });
    }
}

BOOST_AUTO_TEST_CASE(next_puts_replies_into_the_batch_down_to_the_second_level)
{
    auto const all =
        read_replies({2, 1}, {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n+deep\r\n>1\r\n+x\r\n", "-ERR no\r\n$-1\r\n"});
    BOOST_TEST(replies_of(all) == (lines{"12,a,1,b,", "2ERR no", "4"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(take_waiting_after_a_broken_reply_returns_its_batch_and_later_ones)
{
    stores::redis::inbox in;
    std::vector<std::shared_ptr<stores::redis::batch>> batches;
    for (int i = 0; i < 3; ++i) {
        batches.push_back(std::make_shared<stores::redis::batch>());
        batches.back()->request.push("PING");
        batches.back()->request.push("PING");
        in.expect(batches.back());
    }

    std::string_view bytes = "+a\r\n+b\r\n+c\r\n$-1zzz\r\n+e\r\n";
    BOOST_TEST((in.next(bytes) == stores::redis::inbox::event::answered));
    BOOST_TEST((in.take_answered() == batches[0]));
    BOOST_TEST((in.next(bytes) == stores::redis::inbox::event::malformed));

    auto const waiting = in.take_waiting();
    BOOST_TEST_REQUIRE(waiting.size() == 2u);
    BOOST_TEST((waiting[0] == batches[1] && waiting[1] == batches[2]));
    BOOST_TEST((batches[1]->has(0) && !batches[1]->has(1) && !batches[2]->has(0)));
}

// A server cannot make a batch keep more memory than this.
BOOST_AUTO_TEST_CASE(next_with_large_replies_keeps_a_bounded_part_of_them)
{
    inbox_reader r;
    r.expect(2);
    r.add("*3000\r\n");
    for (int i = 0; i < 3000; ++i)
        r.add("$20000\r\n" + std::string(20000, 'x') + "\r\n");
    r.add("$1000000\r\n" + std::string(1000000, 'x') + "\r\n");
    BOOST_TEST(r.events == lines{"answered 0"}, boost::test_tools::per_element());

    std::size_t kept = 0;
    for (auto const& one : r.batches[0]->replies) {
        kept += one.text.size();
        for (auto const& e : one.elements)
            kept += e.size();
    }
    BOOST_TEST(kept <= 2 * 16 * 1024u * 1024);
}

BOOST_AUTO_TEST_SUITE_END()
