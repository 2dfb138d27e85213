#include "bed/plain_client.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::testbed {

plain_client::plain_client(connected c) : socket_(c.socket)
{
    timeval const timeout{5, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
}

plain_client::plain_client(std::uint16_t port)
    : plain_client(connected{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)})
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
        auto const why = errno;
        throw std::runtime_error("cannot connect to port " + std::to_string(port) + ": " + std::strerror(why));
    }
}

plain_client::~plain_client() { ::close(socket_); }

std::string plain_client::ask(std::vector<std::string> const& command)
{
    auto bytes = "*" + std::to_string(command.size()) + "\r\n";
    for (auto const& word : command)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    for (std::size_t sent = 0; sent < bytes.size();) {
        auto const n = ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0)
            throw std::runtime_error("the connection broke");
        sent += static_cast<std::size_t>(n);
    }
    return read_reply();
}

std::string plain_client::read_reply()
{
    auto line = read_line();
    auto rest = line.substr(1);
    switch (line.at(0)) {
    case '$':
        if (rest == "-1")
            return "(nil)";
        return read_bytes(std::stoul(rest) + 2).substr(0, std::stoul(rest));
    case '*': {
        std::string all;
        for (long i = 0, n = std::stol(rest); i < n; ++i)
            all += (i ? "\n" : "") + read_reply();
        return all;
    }
    case '-':
        return line;
    default:
        return rest;
    }
}

std::string plain_client::read_line()
{
    std::size_t end;
    while ((end = received_.find("\r\n")) == std::string::npos)
        receive();
    auto line = received_.substr(0, end);
    received_.erase(0, end + 2);
    return line;
}

std::string plain_client::read_bytes(std::size_t count)
{
    while (received_.size() < count)
        receive();
    auto bytes = received_.substr(0, count);
    received_.erase(0, count);
    return bytes;
}

void plain_client::receive()
{
    char buffer[16 * 1024];
    auto const n = ::recv(socket_, buffer, sizeof buffer, 0);
    if (n <= 0)
        throw std::runtime_error("the connection broke, or no reply came in time");
    received_.append(buffer, static_cast<std::size_t>(n));
}

}  // namespace redlock::testbed
