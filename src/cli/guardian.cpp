#include "cli/guardian.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <limits>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

// The guardian sends SIGKILL several times, because a process of the group may fork a child after the first one. It
// does not wait for the end of the group: zombies that nobody waits for keep a group for ever.
constexpr int kills = 50;
constexpr auto kill_every = 20ms;

// Allocates nothing: another thread may have locked the allocator at the fork.
[[noreturn]] void wait_and_kill(int hears, int tells) noexcept
{
    ::prctl(PR_SET_NAME, "lock-guardian");
    ::setsid();
    ::close(tells);
    ::dup2(hears, 0);
    ::close_range(1, std::numeric_limits<unsigned>::max(), 0);
    [[maybe_unused]] auto const keeps_no_mount_busy = ::chdir("/");
    pid_t group = 0;
    ssize_t told;
    do
        told = ::read(0, &group, sizeof group);
    while (told > 0 || (told < 0 && errno == EINTR));
    for (int i = 0; told == 0 && group > 0 && i < kills && ::kill(-group, SIGKILL) == 0; ++i)
        std::this_thread::sleep_for(kill_every);
    ::_exit(0);
}

}  // namespace

guardian::guardian()
{
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_ = ::fork();
    if (pid_ == 0)
        wait_and_kill(pipe[0], pipe[1]);
    auto const error = errno;
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    ::close(pipe[0]);
    if (pid_ < 0) {
        ::close(pipe[1]);
        throw std::system_error(error, std::generic_category(), "fork");
    }
    tells_ = pipe[1];
}

guardian::~guardian()
{
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
        }
    }
    ::close(tells_);
}

void guardian::guard_us() const noexcept
{
    auto const group = ::getpid();
    [[maybe_unused]] auto const written = ::write(tells_, &group, sizeof group);
}

void guardian::note_end(pid_t ended) noexcept
{
    if (ended == pid_)
        pid_ = -1;
}

}  // namespace redlock::cli
