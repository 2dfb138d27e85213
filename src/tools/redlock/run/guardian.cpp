#include "tools/redlock/run/guardian.hpp"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <limits>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace redlock::cli {

namespace {

// The guardian sends SIGKILL several times, because a process of the group may fork a child after the first one. It
// does not wait for the end of the group: zombies that nobody waits for keep a group for ever.
constexpr int kills = 50;
constexpr long kill_every_ns = 20'000'000;

void kill_again_and_again(pid_t group) noexcept
{
    timespec const pause{0, kill_every_ns};
    for (int i = 0; group > 0 && i < kills && ::kill(-group, SIGKILL) == 0; ++i)
        ::nanosleep(&pause, nullptr);
}

// The timer counts the time for which the machine sleeps, as the clock of this library does.
void set(int timer, std::int64_t end) noexcept
{
    constexpr std::int64_t second = 1'000'000'000, never = clock::time_point::max().time_since_epoch().count();
    itimerspec when{};
    if (end != never)
        when.it_value = {end / second, end % second};
    ::timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, nullptr);
}

}  // namespace

// Allocates nothing: another thread may have locked the allocator at the fork.
void guardian::wait_and_kill(int hears, int tells) noexcept
{
    ::prctl(PR_SET_NAME, "lock-guardian");
    ::setsid();
    ::close(tells);
    ::dup2(hears, 0);
    ::close_range(1, std::numeric_limits<unsigned>::max(), 0);
    [[maybe_unused]] auto const keeps_no_mount_busy = ::chdir("/");
    int const timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC);
    pid_t group = 0;
    for (;;) {
        pollfd both[] = {{0, POLLIN, 0}, {timer, POLLIN, 0}};
        if (::poll(both, 2, -1) <= 0)
            continue;
        if (both[0].revents == 0) {  // nothing was told that changes the end
            set(timer, clock::time_point::max().time_since_epoch().count());
            kill_again_and_again(group);
            continue;
        }
        message m{};
        auto const told = ::read(0, &m, sizeof m);
        if (told == 0)
            break;
        group = told > 0 ? m.group : group;
        if (told > 0 && m.end != 0)
            set(timer, m.end);
    }
    kill_again_and_again(group);
    ::_exit(0);
}

guardian::guardian()
{
    int pipe[2];
    if (::pipe2(pipe, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    ::fcntl(pipe[1], F_SETFL, O_NONBLOCK);  // a guardian that is stopped must not stop this process
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

bool guardian::tell(message m) const noexcept { return ::write(tells_, &m, sizeof m) == sizeof m; }

void guardian::guard_us() const noexcept { tell({::getpid(), 0}); }

void guardian::must_end_by(clock::time_point end, pid_t group) noexcept
{
    if (end != end_ && tell({group, end.time_since_epoch().count()}))
        end_ = end;
}

void guardian::note_end(pid_t ended) noexcept
{
    if (ended == pid_)
        pid_ = -1;
}

}  // namespace redlock::cli
