#include "floor.hpp"

#include "redis/scripts.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <deque>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace redlock::bench {

namespace {

struct server {
    int socket = -1;
    std::string out;
    std::deque<std::size_t> waiting;  // tasks in the order of their commands

    ~server() { ::close(socket); }
};

struct task {
    std::string lock_command;
    std::string unlock_command;
    bool locking = true;
    std::size_t missing = 0;
};

std::string encode(std::initializer_list<std::string_view> words)
{
    auto bytes = fmt::format("*{}\r\n", words.size());
    for (auto w : words)
        bytes += fmt::format("${}\r\n{}\r\n", w.size(), w);
    return bytes;
}

void connect_to(server& s, std::uint16_t port)
{
    s.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(s.socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
        throw std::runtime_error(fmt::format("cannot connect to port {}", port));
    int const on = 1;
    ::setsockopt(s.socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto const load = encode({"SCRIPT", "LOAD", redis::release_script.source});
    char reply[128];
    if (::send(s.socket, load.data(), load.size(), MSG_NOSIGNAL) < 0 || ::recv(s.socket, reply, sizeof reply, 0) <= 0)
        throw std::runtime_error(fmt::format("no answer on port {}", port));
}

class floor_client {
public:
    floor_client(std::vector<std::uint16_t> const& ports, std::size_t clients) : servers_(ports.size()), tasks_(clients)
    {
        epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
        for (std::size_t i = 0; i < ports.size(); ++i) {
            connect_to(servers_[i], ports[i]);
            epoll_event event{};
            event.events = EPOLLIN;
            event.data.u64 = i;
            ::epoll_ctl(epoll_, EPOLL_CTL_ADD, servers_[i].socket, &event);
        }
        for (std::size_t i = 0; i < clients; ++i) {
            auto const key = fmt::format("lock:bench:{}", i);
            auto const token = fmt::format("{:032x}:floor:{}", i, 12345);
            tasks_[i].lock_command = encode({"SET", key, token, "NX", "PX", "10000"});
            tasks_[i].unlock_command = encode({"EVALSHA", redis::release_script.sha1, "1", key, token});
        }
    }

    ~floor_client() { ::close(epoll_); }

    std::size_t run(std::chrono::milliseconds duration)
    {
        for (std::size_t i = 0; i < tasks_.size(); ++i)
            send(i);
        auto const end = std::chrono::steady_clock::now() + duration;
        std::size_t running = tasks_.size();
        std::size_t cycles = 0;
        bool over = false;
        while (running > 0) {
            flush();
            epoll_event events[16];
            int const n = ::epoll_wait(epoll_, events, 16, 5000);
            if (n <= 0)
                throw std::runtime_error("a server has fallen silent");
            over = over || std::chrono::steady_clock::now() >= end;
            for (int e = 0; e < n; ++e) {
                auto& s = servers_[events[e].data.u64];
                char buffer[64 * 1024];
                auto const size = ::recv(s.socket, buffer, sizeof buffer, 0);
                if (size <= 0)
                    throw std::runtime_error("a server has closed its connection");
                for (char c : std::string_view(buffer, static_cast<std::size_t>(size))) {
                    if (c != '\n')
                        continue;  // each reply is one line
                    auto const i = s.waiting.front();
                    s.waiting.pop_front();
                    auto& t = tasks_[i];
                    if (--t.missing > 0)
                        continue;
                    t.locking = !t.locking;
                    if (t.locking) {
                        ++cycles;
                        if (over) {
                            --running;
                            continue;
                        }
                    }
                    send(i);
                }
            }
        }
        return cycles;
    }

private:
    void send(std::size_t i)
    {
        auto& t = tasks_[i];
        t.missing = servers_.size();
        for (auto& s : servers_) {
            s.out += t.locking ? t.lock_command : t.unlock_command;
            s.waiting.push_back(i);
        }
    }

    void flush()
    {
        for (auto& s : servers_) {
            for (std::size_t sent = 0; sent < s.out.size();) {
                auto const n = ::send(s.socket, s.out.data() + sent, s.out.size() - sent, MSG_NOSIGNAL);
                if (n <= 0)
                    throw std::runtime_error("a server has closed its connection");
                sent += static_cast<std::size_t>(n);
            }
            s.out.clear();
        }
    }

    int epoll_;
    std::vector<server> servers_;
    std::vector<task> tasks_;
};

}  // namespace

std::size_t run_floor(std::vector<std::uint16_t> const& ports, std::size_t clients, std::chrono::milliseconds duration)
{
    return floor_client(ports, clients).run(duration);
}

}  // namespace redlock::bench
