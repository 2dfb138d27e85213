#include "idle_sessions.hpp"

#include "http_load.hpp"
#include "interrupt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::bench {

namespace {

void open_session(int socket)
{
    constexpr std::string_view request = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n";
    std::string answer;
    char bytes[1024];
    auto size = ::send(socket, request.data(), request.size(), MSG_NOSIGNAL);
    while (size > 0 && answer.find("event: session") == answer.npos) {
        size = ::recv(socket, bytes, sizeof bytes, 0);
        answer.append(bytes, static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
        if (!answer.starts_with("HTTP/1.1 200"))
            break;
    }
    throw_if_interrupted();
    if (size <= 0 || !answer.starts_with("HTTP/1.1 200"))
        throw std::runtime_error(fmt::format("the service opens no session; it said \"{}\"", answer));
}

}  // namespace

void need_open_files(std::size_t count)
{
    rlimit l{};
    ::getrlimit(RLIMIT_NOFILE, &l);
    if (l.rlim_cur >= count)
        return;
    if (l.rlim_max < count)
        throw std::runtime_error(fmt::format(
            "{} open connections are not permitted, only {}; raise the limit by ulimit -Hn, or measure fewer "
            "--sessions",
            count, l.rlim_max));
    l.rlim_cur = count;
    ::setrlimit(RLIMIT_NOFILE, &l);
}

idle_sessions::idle_sessions(std::string const& address, std::size_t count)
{
    try {
        while (sockets_.size() < count) {
            sockets_.push_back(connect_to_service(address));
            open_session(sockets_.back());
        }
    } catch (...) {
        for (auto const s : sockets_)
            ::close(s);
        throw;
    }
}

idle_sessions::~idle_sessions()
{
    for (auto const s : sockets_)
        ::close(s);
}

}  // namespace redlock::bench
