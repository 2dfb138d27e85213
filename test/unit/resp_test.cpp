#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#include "support/failing_memory.hpp"
#endif
#include "stores/redis/resp.hpp"
#include "support/splits.hpp"
#include "support/unread_bytes.hpp"

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::stores::redis;

BOOST_AUTO_TEST_SUITE(parser)

namespace {

using namespace std::string_literals;
using redlock::test::each_split;
using redlock::test::pieces;

constexpr redlock::stores::redis::resp::limits small{.text = 32, .elements = 12};

std::string repeat_bytes(std::size_t times, std::string_view bytes)
{
    std::string all;
    for (; times > 0; --times)
        all += bytes;
    return all;
}

// A dot for each level, the mark of the type, and the text: "*; .:7; .$a." The full stop ends a reply.
std::string in_short(redlock::stores::redis::resp::element const& e, bool at_end)
{
    constexpr std::string_view marks = "?+-:_$!=#,(*%~>";
    auto const mark = marks[static_cast<std::size_t>(e.type)];
    return std::string(e.depth, '.') + mark + std::string(e.text) + (at_end ? "." : "");
}

// The elements that the parser finds. The last one is "malformed" if it finds a malformed reply.
std::vector<std::string> read_elements(pieces const& all, redlock::stores::redis::resp::limits l = small)
{
    using step = redlock::stores::redis::resp::parser::step;
    redlock::stores::redis::resp::parser p(l);
    redlock::test::unread_bytes unread;
    std::vector<std::string> found;
    bool malformed = false;
    for (auto piece = all.begin(); piece != all.end() && !malformed; ++piece) {
        unread.add(*piece, [&](std::string_view& bytes) {
            redlock::stores::redis::resp::element e;
            auto done = p.next(bytes, e);
            for (; done == step::element; done = p.next(bytes, e))
                found.push_back(in_short(e, p.at_end()));
            malformed = done == step::malformed;
        });
        BOOST_TEST((malformed || unread.size() <= p.rest_max()));
    }
    if (malformed)
        found.push_back("malformed");
    return found;
}

std::string joined(std::vector<std::string> const& all)
{
    std::string line;
    for (auto const& one : all)
        line += (line.empty() ? "" : "; ") + one;
    return line;
}

void check_splits(std::string const& bytes)
{
    auto const whole = read_elements({bytes});
    each_split(bytes, [&](pieces const& all) {
        BOOST_TEST((read_elements(all) == whole), bytes << " in " << all.size() << " pieces");
    });
}

struct sample {
    std::string bytes;
    std::string elements;
};

sample const well_formed[] = {
    {"+OK\r\n", "+OK."},
    {"+\r\n", "+."},
    {"-ERR no\r\n", "-ERR no."},
    {":0\r\n", ":0."},
    {":-12\r\n", ":-12."},
    {":+12\r\n", ":+12."},
    {":-9223372036854775808\r\n", ":-9223372036854775808."},
    {"_\r\n", "_."},
    {"$-1\r\n", "_."},
    {"*-1\r\n", "_."},
    {"*2\r\n$-1\r\n*-1\r\n", "*; ._; ._."},
    {"#t\r\n#f\r\n", "#t.; #f."},
    {",1.5\r\n,-10\r\n,1e5\r\n,inf\r\n,-inf\r\n,nan\r\n,1e999\r\n",
     ",1.5.; ,-10.; ,1e5.; ,inf.; ,-inf.; ,nan.; ,1e999."},
    {"(-3492890328409238509324850943850943825\r\n", "malformed"},  // longer than the limit for lines here
    {"(-349289032840923850932485\r\n", "(-349289032840923850932485."},
    {"$5\r\nhello\r\n", "$hello."},
    {"$0\r\n\r\n", "$."},
    {"$6\r\na\r\n\r\nb\r\n", "$a\r\n\r\nb."},
    {"$4\r\n\0\n\r\xff\r\n"s, "$\0\n\r\xff."s},
    {"!9\r\nERR\r\n why\r\n", "!ERR\r\n why."},
    {"=6\r\ntxt:hi\r\n", "=txt:hi."},
    {"=4\r\ntxt:\r\n", "=txt:."},
    {"*0\r\n%0\r\n~0\r\n", "*.; %.; ~."},
    {"*2\r\n:1\r\n+a\r\n", "*; .:1; .+a."},
    {"%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n:2\r\n", "%; .+a; .:1; .+b; .*; ..:2."},
    {"~2\r\n#t\r\n,2\r\n", "~; .#t; .,2."},
    {"*3\r\n*0\r\n%0\r\n*1\r\n*0\r\n", "*; .*; .%; .*; ..*."},
    {"*1\r\n-ERR within\r\n", "*; .-ERR within."},
    // Pushes between replies.
    {"+a\r\n>2\r\n+invalidate\r\n*1\r\n$1\r\nk\r\n+b\r\n", "+a.; >; .+invalidate; .*; ..$k.; +b."},
    // Attributes at each depth.
    {"|1\r\n+ttl\r\n:3600\r\n+a\r\n", "+a."},
    {"|0\r\n+a\r\n", "+a."},
    {"|1\r\n+k\r\n*2\r\n:1\r\n%1\r\n:2\r\n:3\r\n*1\r\n+a\r\n", "*; .+a."},
    {"*2\r\n|1\r\n+k\r\n+v\r\n:1\r\n|0\r\n:2\r\n", "*; .:1; .:2."},
    {"*1\r\n*1\r\n|2\r\n+k\r\n+v\r\n+l\r\n|1\r\n+m\r\n_\r\n+w\r\n:1\r\n", "*; .*; ..:1."},
    {"|1\r\n+k\r\n$40\r\n" + repeat_bytes(40, "x") + "\r\n>1\r\n+a\r\n", ">; .+a."},
    // Texts longer than the limit.
    {"$32\r\n" + repeat_bytes(32, "x") + "\r\n", "$" + repeat_bytes(32, "x") + "."},
    {"$33\r\n" + repeat_bytes(32, "x") + "y\r\n+a\r\n", "$" + repeat_bytes(32, "x") + ".; +a."},
    {"*2\r\n=100\r\ntxt:" + repeat_bytes(96, "\n") + "\r\n!50\r\n" + repeat_bytes(50, "e") + "\r\n",
     "*; .=txt:" + repeat_bytes(28, "\n") + "; .!" + repeat_bytes(32, "e") + "."},
    // The largest texts and counts that are accepted.
    {"+" + repeat_bytes(32, "x") + "\r\n", "+" + repeat_bytes(32, "x") + "."},
    {"*12\r\n" + repeat_bytes(12, "_\r\n"), "*" + repeat_bytes(12, "; ._") + "."},
    {"%6\r\n" + repeat_bytes(12, "_\r\n") + "*12\r\n" + repeat_bytes(12, "_\r\n"),
     "%" + repeat_bytes(12, "; ._") + ".; *" + repeat_bytes(12, "; ._") + "."},
    {"*2\r\n_\r\n*10\r\n" + repeat_bytes(10, "_\r\n"), "*; ._; .*" + repeat_bytes(10, "; .._") + "."},
    {repeat_bytes(8, "*1\r\n") + ":1\r\n", "*; .*; ..*; ...*; ....*; .....*; ......*; .......*; ........:1."},
    // Incomplete replies.
    {"", ""},
    {"+a\r\n+b", "+a."},
    {"*2\r\n:1\r\n", "*; .:1"},
    {"$40\r\nxx", ""},
    {"$5\r\nhello\r", ""},
    {"|1\r\n+k\r\n", ""},
};

std::string const malformed_replies[] = {
    // Lengths.
    "$-1zzz\r\n",
    "$\r\n",
    "$-\r\n",
    "$-0\r\n",
    "$-2\r\n",
    "$+5\r\nhello\r\n",
    "$ 5\r\nhello\r\n",
    "$5 \r\nhello\r\n",
    "$0x5\r\nhello\r\n",
    "$?\r\n",
    "$536870913\r\n",
    "$9223372036854775807\r\n",
    "$18446744073709551614\r\n",
    "$18446744073709551615\r\n",
    "$18446744073709551616\r\n",
    "$" + repeat_bytes(30, "9") + "\r\n",
    "$" + repeat_bytes(29, "0") + "5\r\nhello\r\n",
    "!-1\r\n",
    "=-1\r\n",
    "!\r\n",
    "=\r\n",
    // The ends of texts.
    "$5\r\nhelloXY",
    "$5\r\nhello\nX",
    "$5\r\nhello\rX",
    "$4\r\nhello\r\n",
    "$0\r\n+OK\r\n",
    "$40\r\n" + repeat_bytes(40, "x") + "XY",
    "=3\r\ntxt\r\n",
    "=4\r\ntext\r\n",
    "=0\r\n\r\n",
    "=40\r\n" + repeat_bytes(40, "x") + "\r\n",
    // Counts.
    "*\r\n",
    "*-2\r\n",
    "*+1\r\n",
    "*x\r\n",
    "*1x\r\n",
    "*?\r\n",
    "%?\r\n",
    "~?\r\n",
    "%\r\n",
    "%-1\r\n",
    "~-1\r\n",
    ">-1\r\n",
    ">0\r\n",
    "|-1\r\n",
    "*13\r\n",
    "%7\r\n",
    "~13\r\n",
    ">13\r\n",
    "|7\r\n",
    "*2147483647\r\n",
    "%2147483648\r\n",
    "*4294967296\r\n",
    "%9223372036854775807\r\n",
    "%9223372036854775808\r\n",
    "*18446744073709551615\r\n",
    "*99999999999999999999\r\n",
    "%99999999999999999999\r\n",
    "*2\r\n_\r\n*11\r\n",
    "*6\r\n%3\r\n" + repeat_bytes(6, "_\r\n") + "*1\r\n",
    "|6\r\n+k\r\n*1\r\n",
    // Depth.
    repeat_bytes(9, "*1\r\n"),
    repeat_bytes(8, "*1\r\n") + "*0\r\n",
    repeat_bytes(9, "|1\r\n"),
    repeat_bytes(20, "*1\r\n") + ":1\r\n",
    "*1\r\n>1\r\n+a\r\n",
    "|1\r\n>1\r\n+a\r\n",
    ">1\r\n>1\r\n+a\r\n",
    // Lines.
    ":\r\n",
    ":-\r\n",
    ":1.5\r\n",
    ":12x\r\n",
    ":0x1\r\n",
    ": 1\r\n",
    ":" + repeat_bytes(21, "1") + "\r\n",
    "_x\r\n",
    "#\r\n",
    "#x\r\n",
    "#tt\r\n",
    "#T\r\n",
    ",\r\n",
    ",1,5\r\n",
    ",+-1\r\n",
    ",++1\r\n",
    ",x\r\n",
    ",1x\r\n",
    ",.\r\n",
    ",1e\r\n",
    ",1e+\r\n",
    ",1.2.3\r\n",
    ",-\r\n",
    ",e5\r\n",
    ",0x10\r\n",
    "(\r\n",
    "(1.5\r\n",
    "(-\r\n",
    "+a\rb\r\n",
    "+ab\n",
    "+ab\r\r\n",
    "+" + repeat_bytes(33, "x") + "\r\n",
    "+" + repeat_bytes(99, "x"),
    "-" + repeat_bytes(33, "x") + "\r\n",
    // Bytes that are no replies.
    "\r\n",
    "\n",
    "\r",
    " +OK\r\n",
    "OK\r\n",
    "\0"s,
    "\xff",
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "\x15\x03\x03",
    ";4\r\nabcd\r\n",
    ".\r\n",
    "+OK\r\nOK\r\n",
    "*2\r\n:1\r\n\r\n",
    "$2\r\nab\r\n\r\n",
};

}  // namespace

BOOST_AUTO_TEST_CASE(next_with_each_type_gives_its_type_depth_and_text)
{
    for (auto const& s : well_formed) {
        auto const found = joined(read_elements({s.bytes}));
        BOOST_TEST(found == s.elements, s.bytes << " gives " << found);
    }
}

BOOST_AUTO_TEST_CASE(next_with_a_malformed_reply_is_malformed_however_it_is_split)
{
    for (auto const& bytes : malformed_replies) {
        auto const whole = read_elements({bytes});
        BOOST_TEST((!whole.empty() && whole.back() == "malformed"), bytes << " gives " << joined(whole));
        auto const behind = read_elements({"+a\r\n" + bytes});
        BOOST_TEST((behind.front() == "+a." && behind.back() == "malformed"), bytes << " gives " << joined(behind));
        check_splits(bytes);
    }
}

BOOST_AUTO_TEST_CASE(next_gives_the_same_elements_however_replies_are_split)
{
    std::string stream;
    for (auto const& s : well_formed) {
        check_splits(s.bytes);
        if (s.elements.ends_with('.'))
            stream += s.bytes;
    }
    check_splits(stream);
}

// These are the limits of real connections.
BOOST_AUTO_TEST_CASE(next_with_usual_limits_bounds_texts_lines_and_counts)
{
    redlock::stores::redis::resp::limits const usual;
    auto const text = repeat_bytes(usual.text, "x");
    auto const nulls = repeat_bytes(usual.elements, "_\r\n");
    auto const count = std::to_string(usual.elements);
    auto const more = std::to_string(usual.elements + 1);

    BOOST_TEST((read_elements({"+", text, "\r\n"}, usual) == std::vector{"+" + text + "."}));
    auto const length = "$" + std::to_string(text.size() + 2) + "\r\n";
    BOOST_TEST((read_elements({length, text, "xx\r\n"}, usual) == std::vector{"$" + text + "."}));
    BOOST_TEST(read_elements({"*" + count + "\r\n", nulls}, usual).size() == 1 + usual.elements);
    for (auto const& bytes : {"+" + text + "x", "-" + text + "x", "*" + more, "~" + more, "%" + count})
        BOOST_TEST((read_elements({bytes, "\r\n"}, usual) == std::vector{"malformed"s}));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
BOOST_AUTO_TEST_CASE(next_with_replies_to_locks_allocates_nothing)
{
    auto const tokens = "*3\r\n:1\r\n$20\r\n18446744073709551615\r\n_\r\n"s;
    auto const all = "+OK\r\n_\r\n:1\r\n$36\r\n01234567-89ab-cdef-0123-456789abcdef\r\n|1\r\n+k\r\n+v\r\n"
                     "-NOSCRIPT No matching script.\r\n,7\r\n"
                     + tokens + ">2\r\n$10\r\ninvalidate\r\n*1\r\n$10\r\nlock:stock\r\n";
    redlock::stores::redis::resp::parser p;
    std::size_t elements = 0;
    auto const read = [&](std::string_view& bytes) {
        for (redlock::stores::redis::resp::element e;
             p.next(bytes, e) == redlock::stores::redis::resp::parser::step::element;)
            ++elements;
    };
    redlock::test::failing_memory::in = 1;  // the next allocation throws
    for (std::size_t at = 0; at <= all.size(); ++at) {
        auto first = std::string_view(all).substr(0, at);
        read(first);
        auto rest = std::string_view(all).substr(at - first.size());
        read(rest);
    }
    redlock::test::failing_memory::in = 0;
    BOOST_TEST(elements == 14 * (all.size() + 1));
}
#endif

BOOST_AUTO_TEST_SUITE_END()
