// Addresses of nodes as users write them: any bytes.

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
            must(c >= 0x20 && c != 0x7f, "a message contains a control character");
        return 0;
    }
    must(u.transport == redlock::net::transport::unix_socket ? !u.path.empty() : !u.host.empty(),
         "an address has neither a host nor a path");
    must(u.database >= 0 && u.database <= 65'535, "the database is out of range");
    // The name of the node is an address of the same server, without user and password.
    auto const again = redlock::net::parse_url(u.name());
    must(again.wrong.empty(), "the name of a node is not an address");
    must(again.name() == u.name(), "the name of a node changes");
    must(again.user.empty() && again.password.empty(), "the name of a node contains a secret");
    return 0;
}
