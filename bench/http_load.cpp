#include "http_load.hpp"

#include "interrupt.hpp"
#include "processor.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <netinet/tcp.h>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace redlock::bench {

namespace {

using steady = std::chrono::steady_clock;

[[noreturn]] void throw_errno(char const* what) { throw std::system_error(errno, std::generic_category(), what); }

template <class Address>
int connected(Address const& to, int family)
{
    int const s = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s < 0 || ::connect(s, reinterpret_cast<sockaddr const*>(&to), sizeof to) != 0)
        throw_errno("a connection to the service");
    return s;
}

// The text after @p before, up to the next @p last.
std::string_view part_of(std::string_view text, std::string_view before, char last)
{
    auto const at = text.find(before);
    if (at == text.npos)
        return {};
    text.remove_prefix(at + before.size());
    return text.substr(0, text.find(last));
}

struct http_answer {
    std::string_view status, body;
};

std::optional<http_answer> answer_in(std::string_view bytes)
{
    constexpr std::string_view length = "\r\nContent-Length: ";
    auto const end = bytes.find("\r\n\r\n");
    if (end == bytes.npos)
        return std::nullopt;
    std::size_t size = 0;
    auto const digits = part_of(bytes.substr(0, end + 2), length, '\r');
    std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (bytes.size() < end + 4 + size)
        return std::nullopt;
    return http_answer{part_of(bytes, " ", ' '), bytes.substr(end + 4, size)};
}

}  // namespace

int connect_to_service(std::string const& address)
{
    constexpr std::string_view unix_scheme = "unix:";
    if (address.starts_with(unix_scheme)) {
        sockaddr_un to{};
        to.sun_family = AF_UNIX;
        address.copy(to.sun_path, sizeof to.sun_path - 1, unix_scheme.size());
        return connected(to, AF_UNIX);
    }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int const s = connected(to, AF_INET), on = 1;
    ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return s;
}

class http_load::client {
public:
    client() = default;
    client(client const&) = delete;
    ~client()
    {
        if (socket_ >= 0)
            ::close(socket_);
    }

    int connect(std::string const& address, std::size_t number)
    {
        auto const body = fmt::format(R"({{"resources":["bench:{}"]}})", number);
        post_ = fmt::format("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", body.size(),
                            body);
        return socket_ = connect_to_service(address);
    }

    void start()
    {
        begun_ = steady::now();
        acquires_ = true;
        send(post_);
    }

    // Reads what has come. @return whether the cycle is over
    bool proceed(sample& s)
    {
        char bytes[4096];
        auto const size = ::recv(socket_, bytes, sizeof bytes, 0);
        if (size <= 0)
            throw std::runtime_error("the service has closed a connection");
        input_.append(bytes, static_cast<std::size_t>(size));
        auto const got = answer_in(input_);
        if (!got)
            return false;
        auto const took = steady::now() - begun_;
        bool const is_over = !acquires_ || got->status != "201";
        if (!is_over) {
            s.acquire.record(took);
            acquires_ = false;
            send(fmt::format("DELETE /v1/held/{} HTTP/1.1\r\nHost: localhost\r\n\r\n",
                             part_of(got->body, "\"id\":\"", '"')));
        } else if (!acquires_ && got->status == "204") {
            ++s.cycles;
            s.cycle.record(took);
        } else {
            ++s.failures[fmt::format("{} with status {}", acquires_ ? "POST" : "DELETE", got->status)];
        }
        input_.clear();
        return is_over;
    }

private:
    void send(std::string_view request) const
    {
        if (::send(socket_, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
            throw std::runtime_error("the service has closed a connection");
    }

    int socket_ = -1;
    std::string post_, input_;
    steady::time_point begun_{};
    bool acquires_ = true;
};

http_load::http_load(std::string const& address, std::size_t clients)
    : clients_(std::make_unique<client[]>(clients)), count_(clients), epoll_(::epoll_create1(EPOLL_CLOEXEC))
{
    for (std::size_t i = 0; i < count_; ++i) {
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.u64 = i;
        if (::epoll_ctl(epoll_, EPOLL_CTL_ADD, clients_[i].connect(address, i), &event) != 0)
            throw_errno("epoll_ctl");
    }
}

http_load::~http_load() { ::close(epoll_); }

sample http_load::run(std::chrono::milliseconds duration)
{
    sample s;
    auto const cpu = own_cpu_seconds();
    auto const begin = steady::now(), end = begin + duration;
    for (std::size_t i = 0; i < count_; ++i)
        clients_[i].start();
    for (auto running = count_; running > 0;) {
        epoll_event events[64];
        int const n = ::epoll_wait(epoll_, events, 64, 5000);
        if (n == 0)
            throw std::runtime_error("the service has not answered for five seconds");
        for (int e = 0; e < n; ++e) {
            auto& c = clients_[events[e].data.u64];
            if (!c.proceed(s))
                continue;
            if (steady::now() < end && !was_interrupted())
                c.start();
            else
                --running;
        }
    }
    throw_if_interrupted();
    s.seconds = std::chrono::duration<double>(steady::now() - begin).count();
    s.client_cpu_seconds = own_cpu_seconds() - cpu;
    return s;
}

}  // namespace redlock::bench
