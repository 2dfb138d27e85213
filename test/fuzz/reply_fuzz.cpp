// A server, or another program, may answer any bytes to a command, in any pieces.

#include "core/fencing.hpp"
#include "fuzz/must.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/encoder.hpp"
#include "net/secrets.hpp"
#include "stores/redis/decoder.hpp"
#include "support/inbox_reader.hpp"
#include "testing/command_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

using namespace redlock;
using namespace redlock::stores::redis;

namespace {

void check(node_command const& q, std::span<reply const> replies)
{
    auto const what = q.which();
    using redlock::stores::redis::resp::type;
    for (auto const& r : replies)
        must(r.text.size() <= 16 * 1024 && r.elements.size() <= 1024, "a reply exceeds the limits");
    auto const& r = replies.front();
    auto const answer = decode(q, replies);
    if (answer.vote == vote::unknown) {
        must(answer.error.failed(), "an unknown vote has no reason");
        for (unsigned char const c : answer.text)
            must(c >= 0x20 && c != 0x7f, "a message contains a control character");
        return;
    }
    must(!answer.error, "a vote has an error");
    bool const compares = what == node_command::kind::extend || what == node_command::kind::release;
    bool const not_ours = compares && answer.vote == vote::denied && decode_error(r.text).error == errc::wrong_type;
    must(!r.is_error() || not_ours, "an error counted as a vote");
    if (what == node_command::kind::acquire && answer.vote == vote::granted)
        must(q.contends() ? r.type == stores::redis::resp::type::number && (r.text == "1" || r.text == "2")
                          : r.type == stores::redis::resp::type::simple_string && r.text == "OK",
             "an answer other than OK, 1 or 2 counted as a grant");
    if (answer.fence != 0 && what == node_command::kind::acquire)
        must(answer.fence == q.fence() && replies.back().type == stores::redis::resp::type::number
                 && replies.back().text == "1",
             "an answer other than 1 counted as a token");
    if (what == node_command::kind::raise && answer.vote == vote::granted)
        must(answer.fence > 0 && answer.fence < redlock::core::fence_end, "a counter is out of range");
    if ((what == node_command::kind::extend || what == node_command::kind::release) && answer.vote == vote::granted)
        must(r.type == stores::redis::resp::type::number && r.text == "1", "an answer other than 1 counted as a grant");
}

// The bytes of a server, and how they are read.
struct input {
    node_command command;
    std::size_t batches = 0, operations = 0;  ///< the number of operations in each batch
    stores::redis::resp::limits limits;
    std::string_view sizes;  ///< of the pieces, repeated
    std::string_view bytes;
};

input input_from(std::uint8_t const* data, std::size_t size)
{
    static std::string const key = "key";
    std::string_view rest(reinterpret_cast<char const*>(data), size);
    auto const next = [&] {
        auto const c = rest.empty() ? '\0' : rest.front();
        rest.remove_prefix(rest.empty() ? 0 : 1);
        return static_cast<unsigned char>(c);
    };
    input i;
    auto const flags = next();
    i.command.keys = {&key, 1};
    i.command.what = testing::command_of(static_cast<node_command::kind>(flags % 5));
    testing::set_fence(i.command, flags >> 3 & 1);
    testing::set_heal(i.command, flags >> 4 & 1);
    testing::set_contender(i.command, flags >> 5 & 1 ? "me" : "");
    if (flags >> 6 & 1)
        i.limits = {.text = 32, .elements = 24};
    auto const counts = next();
    i.batches = counts & 3;
    i.operations = 1 + (counts >> 2 & 3);
    i.sizes = rest.substr(0, counts >> 4);
    i.bytes = rest.substr(i.sizes.size());
    return i;
}

test::inbox_reader reader_for(input const& i)
{
    test::inbox_reader r(i.limits);
    for (std::size_t n = 0; n < i.batches; ++n)
        r.expect(i.operations * commands_for(i.command));
    return r;
}

void feed(test::inbox_reader& r, std::string_view piece)
{
    r.add(piece);
    must(r.unread() <= r.unread_max(), "more bytes are unread than the limit");
}

test::inbox_reader read_in_pieces(input const& i)
{
    auto r = reader_for(i);
    auto rest = i.bytes;
    for (std::size_t n = 0; !rest.empty(); ++n) {
        auto const one = i.sizes.empty() ? 7u : static_cast<unsigned char>(i.sizes[n % i.sizes.size()]);
        auto const size = std::size_t{1} + one % 64;
        feed(r, rest.substr(0, size));
        rest.remove_prefix(std::min(size, rest.size()));
    }
    return r;
}

void check_same(batch const& a, batch const& b)
{
    for (std::size_t i = 0; a.has(i) || b.has(i); ++i) {
        must(a.has(i) && b.has(i), "whether a reply is complete depends on the pieces");
        auto const &x = a.replies[i], &y = b.replies[i];
        must(x.type == y.type && x.text == y.text && x.elements == y.elements, "a reply depends on the pieces");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    auto const i = input_from(data, size);
    auto whole = reader_for(i);
    feed(whole, i.bytes);
    auto const split = read_in_pieces(i);
    must(whole.events == split.events, "the events depend on the pieces");
    auto const replies = commands_for(i.command);
    for (std::size_t n = 0; n < i.batches; ++n) {
        auto const& b = *whole.batches[n];
        check_same(b, *split.batches[n]);
        for (std::size_t at = 0; b.has(at + replies - 1) && at < b.request.commands(); at += replies)
            check(i.command, std::span(b.replies).subspan(at, replies));
    }
    decode_error(i.bytes);
    net::presentable(i.bytes);
    return 0;
}
