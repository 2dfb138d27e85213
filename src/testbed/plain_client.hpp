#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/** A blocking Redis client for looking at a server from outside, on loopback.

    It knows nothing of the library, so that it can bear witness.
*/
class plain_client {
public:
    /// @throws std::runtime_error if nobody listens
    explicit plain_client(std::uint16_t port);

    /// A socket that somebody has connected; it is closed together with this.
    struct connected {
        int socket;
    };
    explicit plain_client(connected);
    ~plain_client();
    plain_client(plain_client const&) = delete;
    plain_client& operator=(plain_client const&) = delete;

    /// The reply as text: a null is "(nil)", elements are joined by newlines, an error begins with '-'.
    /// @throws std::runtime_error if the connection breaks or nothing comes within five seconds
    std::string ask(std::vector<std::string> const& command);

private:
    std::string read_line();
    std::string read_bytes(std::size_t count);
    std::string read_reply();
    void receive();

    int socket_;
    std::string received_;
};

}  // namespace redlock::testbed
