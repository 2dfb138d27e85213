// What a server, or something that is none, may answer: any reply, to a vote.

#include "core/fencing.hpp"
#include "fuzz/must.hpp"
#include "redis/batch.hpp"
#include "redis/reply.hpp"
#include "redis/encoder.hpp"

#include <boost/redis/resp3/node.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

using namespace redlock;
using namespace redlock::redis;

namespace {

void check(node_command const& q, std::span<reply const> replies)
{
    auto const what = q.what;
    using redlock::redis::resp::type;
    for (auto const& r : replies)
        must(r.text.size() <= 16 * 1024 && r.elements.size() <= 1024, "a server decides how much we remember");
    auto const& r = replies.front();
    auto const answer = interpret(q, replies);
    if (answer.vote == vote::unknown) {
        must(answer.error.failed(), "an unknown vote without a reason");
        for (unsigned char const c : answer.text)
            must(c >= 0x20 && c != 0x7f, "a server's words hold a control character");
        return;
    }
    must(!answer.error, "a vote with an error");
    must(!r.is_error(), "an error was taken for a vote");
    if (what == node_command::kind::acquire && answer.vote == vote::granted)
        must(q.contends() ? r.type == type::number && (r.text == "1" || r.text == "2") : r.type == type::simple_string && r.text == "OK",
             "something else than OK, or 1 or 2, was taken for a grant");
    if (answer.fence != 0 && what == node_command::kind::acquire)
        must(answer.fence == q.fence && replies.back().type == type::number && replies.back().text == "1",
             "something else than 1 was taken for a token");
    if (what == node_command::kind::raise && answer.vote == vote::granted)
        must(answer.fence > 0 && answer.fence < redlock::core::fence_end, "a counter out of range");
    if ((what == node_command::kind::extend || what == node_command::kind::release) && answer.vote == vote::granted)
        must(r.type == type::number && r.text == "1", "something else than 1 was taken for a grant");
}

}  // namespace

// Bytes become what the parser hands us: nodes of any type and depth, in any order. The parser itself is Boost.Redis's; it
// is not robust against every malformed reply (see "Not promised" in docs/guarantees.md).
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    using redlock::redis::resp::type;
    if (size < 1)
        return 0;
    std::string const key = "key";
    node_command q{.keys = {&key, 1}};
    q.what = static_cast<node_command::kind>(data[0] % 5);
    q.fence = data[0] >> 3 & 1;
    q.heal = data[0] >> 4 & 1;
    q.contender = data[0] >> 5 & 1 ? "me" : "";
    std::string_view rest(reinterpret_cast<char const*>(data) + 1, size - 1);

    batch b;
    auto adapter = b.adapter();
    std::size_t count = 0;
    while (rest.size() >= 2) {
        adapter.on_init();
        // A reply: nodes of a byte for the type, one for depth and length, and a text.
        for (bool last = false; !last && rest.size() >= 2;) {
            auto const kind = static_cast<type>(static_cast<unsigned char>(rest[0]) % 19);
            auto const shape = static_cast<unsigned char>(rest[1]);
            last = shape & 1;
            std::size_t const depth = shape >> 1 & 3;
            auto const text = rest.substr(2, std::size_t{1} << (shape >> 3 & 15));
            rest.remove_prefix(2 + std::min(text.size(), rest.size() - 2));
            boost::system::error_code ec;
            adapter.on_node({kind, 1, depth, text}, ec);
            must(!ec, "an adapter that complains ends the connection");
        }
        must(!b.has(count), "a reply is there before its end");
        adapter.on_done();
        must(b.has(count), "a reply that has ended is not there");
        ++count;
        if (count >= commands_for(q))
            check(q, std::span(b.replies).subspan(count - commands_for(q), commands_for(q)));
    }
    interpret_error(rest);
    presentable(rest);
    return 0;
}
