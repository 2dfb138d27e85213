#include "demo/child_process.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace redlock::demo {

namespace {

[[noreturn]] void run_and_exit(pid_t parent, std::function<void()> const& work)
{
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(1);
    // _exit: the objects that were copied from the parent, servers and folders among them, are the parent's to destroy.
    try {
        work();
        ::_exit(0);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "\nredlock_demo: in a process of buyers: %s\n", e.what());
        ::_exit(1);
    }
}

}  // namespace

child_process::child_process(std::function<void()> const& work)
{
    auto const parent = ::getpid();
    std::fflush(nullptr);  // or the child would have the text as well
    pid_ = ::fork();
    if (pid_ < 0)
        throw std::system_error(errno, std::generic_category(), "cannot start a process");
    if (pid_ == 0)
        run_and_exit(parent, work);
}

child_process::~child_process()
{
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
}

bool child_process::ended()
{
    if (pid_ <= 0)
        return true;
    int status = 0;
    if (::waitpid(pid_, &status, WNOHANG) != pid_)
        return false;
    pid_ = -1;
    if (WIFSIGNALED(status))
        throw std::runtime_error(fmt::format("a process of buyers was ended by signal {}", WTERMSIG(status)));
    if (WEXITSTATUS(status) != 0)
        throw std::runtime_error("a process of buyers failed");
    return true;
}

void child_process::pause()
{
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
}

void child_process::resume()
{
    ::kill(pid_, SIGCONT);
}

}  // namespace redlock::demo
