#include "relay/relay.hpp"

#include "relay/relay_failure.hpp"
#include "relay/relay_loop.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <limits>
#include <netinet/in.h>
#include <new>
#include <stdexcept>
#include <string>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace redlock::bench {

/// One number per target, in memory that both processes see.
struct delays {
    static constexpr std::size_t size_max = 99;
    std::atomic<std::int64_t> one_way_ns[size_max];
};

static_assert(std::atomic<std::int64_t>::is_always_lock_free);  // or two processes could not share it

namespace {

/// An open file; closed with this object.
class file {
public:
    file(int descriptor, char const* what) : descriptor_(descriptor)
    {
        if (descriptor_ < 0)
            relay_failure(what);
    }
    file(file&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
    file& operator=(file&&) = delete;
    ~file()
    {
        if (descriptor_ >= 0)
            ::close(descriptor_);
    }
    int get() const noexcept { return descriptor_; }

private:
    int descriptor_;
};

file listen_on_loopback(std::uint16_t& port)
{
    file s(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), "cannot make a socket");
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (::bind(s.get(), reinterpret_cast<sockaddr*>(&address), size) != 0)
        relay_failure("no free port on the loopback interface");
    if (::listen(s.get(), 1024) != 0)
        relay_failure("cannot listen on the loopback interface");
    if (::getsockname(s.get(), reinterpret_cast<sockaddr*>(&address), &size) != 0)
        relay_failure("cannot learn the port of a socket");
    port = ntohs(address.sin_port);
    return s;
}

/// What the child needs; made before there is a child, so that a failure can be reported.
struct equipment {
    file epoll{::epoll_create1(EPOLL_CLOEXEC), "cannot make an epoll instance"};
    file timer{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK), "cannot make a timer"};
    std::vector<file> listeners;
    std::vector<relay_door> doors;
};

/// What was inherited belongs to others, who may wait for its end: a pipe, a server's connection.
void close_all_but(equipment const& kept)
{
    int const nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    ::dup2(nothing, STDIN_FILENO);  // not closed, or a socket would take the number
    ::dup2(nothing, STDOUT_FILENO);
    std::vector<int> keep{STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO, kept.epoll.get(), kept.timer.get()};
    for (auto const& l : kept.listeners)
        keep.push_back(l.get());
    std::sort(keep.begin(), keep.end());
    unsigned first = 0;
    for (int const k : keep) {
        if (first < static_cast<unsigned>(k))
            ::close_range(first, static_cast<unsigned>(k) - 1, 0);
        first = static_cast<unsigned>(k) + 1;
    }
    ::close_range(first, std::numeric_limits<unsigned>::max(), 0);
}

void allow_many_files()
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &limit);
    }
}

[[noreturn]] void be_the_child(pid_t parent, equipment const& e)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1);
    ::setpgid(0, 0);  // Ctrl-C is for the parent, and ends this one through it
    close_all_but(e);
    allow_many_files();
    // _exit: the objects that were copied from the parent, servers and folders among them, are the parent's to destroy.
    try {
        run_relay(e.epoll.get(), e.timer.get(), e.doors);
    } catch (std::exception const& failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        ::_exit(1);
    }
}

std::int64_t one_way(std::chrono::microseconds rtt)
{
    using namespace std::chrono_literals;
    if (rtt < 0us || rtt > 1h)
        throw std::runtime_error("relay: rtt is " + std::to_string(rtt.count()) + " us, but must be 0 to 1 h");
    return std::chrono::nanoseconds(rtt).count() / 2;  // half a microsecond is not lost
}

}  // namespace

relay::relay(std::vector<target> const& targets)
{
    if (targets.size() > delays::size_max)
        throw std::runtime_error("relay: more than " + std::to_string(delays::size_max) + " targets");
    equipment e;
    ports_.resize(targets.size());
    for (auto& port : ports_)
        e.listeners.push_back(listen_on_loopback(port));
    void* const memory = ::mmap(nullptr, sizeof(delays), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        relay_failure("no shared memory");
    auto* const shared = ::new (memory) delays;
    try {
        for (std::size_t i = 0; i < targets.size(); ++i) {
            shared->one_way_ns[i] = one_way(targets[i].rtt);
            e.doors.push_back({e.listeners[i].get(), targets[i].port, &shared->one_way_ns[i]});
        }
        auto const parent = ::getpid();
        pid_ = ::fork();
        if (pid_ < 0)
            relay_failure("cannot start a process");
        if (pid_ == 0)
            be_the_child(parent, e);
    } catch (...) {
        ::munmap(memory, sizeof(delays));
        throw;
    }
    delays_ = shared;
}

relay::~relay()
{
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(delays_, sizeof(delays));
}

void relay::set_rtt(std::size_t node, std::chrono::microseconds rtt)
{
    if (node >= ports_.size())
        throw std::runtime_error("relay: there is no node " + std::to_string(node));
    delays_->one_way_ns[node].store(one_way(rtt), std::memory_order_relaxed);
}

}  // namespace redlock::bench
