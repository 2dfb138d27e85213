// Node addresses as users write them: any bytes.

#include "fuzz/must.hpp"
#include "net/url.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

using namespace redlock::net;

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    std::string_view const text(reinterpret_cast<char const*>(data), size);
    auto const u = redlock::net::parse_url(text);
    if (!u.wrong.empty()) {
        for (unsigned char const c : u.wrong)
            must(c >= 0x20 && c != 0x7f, "a message holds a control character");
        return 0;
    }
    must(u.transport == redlock::net::transport::unix_socket ? !u.path.empty() : !u.host.empty(),
         "an address without a place");
    must(u.database >= 0 && u.database <= 65'535, "the database is out of range");
    // Its name is an address again, of the same server, and says nothing of who asks.
    auto const again = redlock::net::parse_url(u.name());
    must(again.wrong.empty(), "the name of a node is no address");
    must(again.name() == u.name(), "the name of a node changes");
    must(again.user.empty() && again.password.empty(), "the name of a node holds a secret");
    return 0;
}
