#pragma once

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <netinet/in.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

// Blocking sockets on loopback for tests. Child programs do not inherit them.

namespace redlock::bench {

/// An open file. The destructor closes it.
class plain_file {
public:
    explicit plain_file(int descriptor) : descriptor_(descriptor) {}
    plain_file(plain_file&& f) noexcept : descriptor_(std::exchange(f.descriptor_, -1)) {}
    plain_file& operator=(plain_file&&) = delete;
    ~plain_file() { close(); }

    void close()
    {
        if (descriptor_ >= 0)
            ::close(std::exchange(descriptor_, -1));
    }

    int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

/// A blocking socket on loopback with a timeout of ten seconds.
class plain_socket : public plain_file {
public:
    explicit plain_socket(int s) : plain_file(s)
    {
        timeval const timeout{10, 0};
        ::setsockopt(get(), SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
        ::setsockopt(get(), SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof timeout);
    }
    explicit plain_socket(std::uint16_t port) : plain_socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(port);
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        if (::connect(get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error("cannot connect");
    }

    void reset()
    {
        linger const at_once{1, 0};
        ::setsockopt(get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close();
    }

    void end() { ::shutdown(get(), SHUT_WR); }

    bool send(std::string_view bytes)
    {
        for (; !bytes.empty();) {
            auto const n = ::send(get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return false;
            bytes.remove_prefix(static_cast<std::size_t>(n));
        }
        return true;
    }

    /// Returns the next bytes, at most 64 KiB; empty at the end or after a failure, which sets @ref error.
    std::string receive()
    {
        std::string bytes(64 << 10, '\0');
        auto const n = ::recv(get(), bytes.data(), bytes.size(), 0);
        error = n < 0 ? errno : 0;
        bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return bytes;
    }

    /// Returns @p count bytes, or fewer if the stream ends before.
    std::string receive(std::size_t count)
    {
        std::string all;
        while (all.size() < count) {
            auto const some = receive();
            if (some.empty())
                break;
            all += some;
        }
        return all;
    }

    int error = 0;
};

/// A listening socket on loopback. Connections wait until accept() is called.
class listener {
public:
    listener() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0))
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        if (::bind(socket_.get(), reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(socket_.get(), 512) != 0
            || ::getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
            throw std::runtime_error("cannot listen");
        port = ntohs(address.sin_port);
    }

    plain_socket accept()
    {
        int const s = ::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC);
        if (s < 0)
            throw std::runtime_error("nobody connects");
        return plain_socket(s);
    }

    void close() { socket_.close(); }

    std::uint16_t port = 0;

private:
    plain_socket socket_;
};

}  // namespace redlock::bench
