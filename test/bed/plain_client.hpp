#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/** A blocking Redis client on loopback, with which tests check the data of a server.

    It uses no code of the library, so an error of the library cannot hide from it.
*/
class plain_client {
public:
    /// @throws std::runtime_error if no server listens on @p port
    explicit plain_client(std::uint16_t port);

    /// A connected socket. The client closes it.
    struct connected {
        int socket;
    };
    explicit plain_client(connected);
    ~plain_client();
    plain_client(plain_client const&) = delete;
    plain_client& operator=(plain_client const&) = delete;

    /// Returns the reply as text: a null is "(nil)", elements are joined by newlines, an error begins with '-'.
    /// @throws std::runtime_error if the connection breaks, or no reply comes within five seconds
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
