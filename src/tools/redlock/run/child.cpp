#include "tools/redlock/run/child.hpp"

#include "tools/redlock/args/exit_status.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace redlock::cli {

namespace {

constexpr int terminal = STDIN_FILENO;

std::vector<int> open_files()
{
    std::vector<int> all;
    auto* const folder = ::opendir("/proc/self/fd");
    if (!folder)
        return all;
    while (auto const* const entry = ::readdir(folder)) {
        if (entry->d_name[0] != '.' && std::atoi(entry->d_name) != ::dirfd(folder))
            all.push_back(std::atoi(entry->d_name));
    }
    ::closedir(folder);
    return all;
}

std::string name_of(std::string const& setting) { return setting.substr(0, setting.find('=') + 1); }

// The arguments for exec. They point into @p words, which must not change.
std::vector<char*> pointers_to(std::vector<std::string>& words)
{
    std::vector<char*> all;
    for (auto& w : words)
        all.push_back(w.data());
    all.push_back(nullptr);
    return all;
}

std::vector<std::string> environment_with(std::vector<std::string> const& more)
{
    std::vector<std::string> all;
    for (auto* const* e = environ; *e; ++e) {
        auto const is_ours = [theirs = name_of(*e)](std::string const& ours) { return name_of(ours) == theirs; };
        if (std::ranges::none_of(more, is_ours))
            all.emplace_back(*e);
    }
    all.insert(all.end(), more.begin(), more.end());
    return all;
}

}  // namespace

inheritance const& inheritance::ours()
{
    static inheritance const all;
    return all;
}

inheritance::inheritance() : files_(open_files())
{
    ::sigprocmask(SIG_SETMASK, nullptr, &mask_);
    for (int s = 1; s < NSIG; ++s) {
        disposition d{.signal = s, .action = {}};
        if (::sigaction(s, nullptr, &d.action) == 0)
            dispositions_.push_back(d);
    }
}

void inheritance::restore() const noexcept
{
    for (auto const& d : dispositions_)
        ::sigaction(d.signal, &d.action, nullptr);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
}

bool inheritance::ignores(int signal) const noexcept
{
    return std::ranges::any_of(dispositions_,
                               [=](auto const& d) { return d.signal == signal && d.action.sa_handler == SIG_IGN; });
}

void inheritance::keep_files_ours() const
{
    for (int const f : open_files()) {
        if (std::ranges::find(files_, f) == files_.end())
            ::fcntl(f, F_SETFD, FD_CLOEXEC);
    }
}

int inheritance::unused_file() noexcept
{
    int number = STDERR_FILENO + 1;
    for (int flags; (flags = ::fcntl(number, F_GETFD)) >= 0 && (flags & FD_CLOEXEC) == 0;)
        ++number;
    return number;
}

child::child(options const& o, inheritance const& given) : our_group_(::getpgrp()), has_group_(!o.in_our_group)
{
    has_terminal_ = has_group_ && ::isatty(terminal) != 0;
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (has_group_)
        guardian_.emplace();
    int tells[2];
    if (::pipe2(tells, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe");
    // The child allocates nothing: another thread, which resolves names, may have locked the allocator at the fork.
    auto words = o.words;
    auto environment = environment_with(o.environment);
    auto const argv = pointers_to(words), envp = pointers_to(environment);
    auto const parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            ::_exit(failed);
        become(argv.data(), envp.data(), given, o, tells[1]);
    }
    auto const fork_error = errno;
    ::close(tells[1]);
    if (pid_ < 0) {
        ::close(tells[0]);
        throw std::system_error(fork_error, std::generic_category(), "fork");
    }
    if (has_group_)
        ::setpgid(pid_, pid_);  // both parent and child call it, because either may run first
    tells_ = tells[0];
}

child::~child()
{
    if (!is_gone())
        signal(SIGKILL);
    pass_foreground(pid_, our_group_);
    ::close(tells_);
}

int child::exec_error() const noexcept
{
    int error = 0;
    return ::read(tells_, &error, sizeof error) == sizeof error ? error : 0;
}

// Returns the new number of @p tell, which is moved if the command needs its number for the file that it is given.
int child::give(options const& o, int tell) noexcept
{
    if (o.gives < 0)
        return tell;
    int const moved = o.as == tell ? ::fcntl(tell, F_DUPFD_CLOEXEC, o.as + 1) : tell;
    ::dup2(o.gives, o.as);
    ::fcntl(o.as, F_SETFD, 0);
    return moved;
}

void child::become(char* const* words, char* const* environment, inheritance const& given, options const& o,
                   int tell) noexcept
{
    if (has_group_) {
        ::setpgid(0, 0);
        guardian_->guard_us();  // before give(), which may replace the guardian's pipe
        pass_foreground(our_group_, ::getpid());
    }
    tell = give(o, tell);
    given.restore();
    ::execvpe(words[0], words, environment);
    int const error = errno;
    [[maybe_unused]] auto const told = ::write(tell, &error, sizeof error);
    ::_exit(failed);
}

// Does nothing unless the group @p from is in the foreground. SIGTTOU is blocked, because the kernel would stop a
// background process that calls tcsetpgrp.
void child::pass_foreground(pid_t from, pid_t to) noexcept
{
    if (!has_terminal_ || ::tcgetpgrp(terminal) != from)
        return;
    sigset_t blocked, before;
    ::sigemptyset(&blocked);
    ::sigaddset(&blocked, SIGTTOU);
    ::sigprocmask(SIG_BLOCK, &blocked, &before);
    ::tcsetpgrp(terminal, to);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
}

void child::signal(int s) noexcept
{
    got_interrupt_ = got_interrupt_ || s == SIGINT;
    if (has_group_)
        ::kill(-pid_, s);
    else if (!has_ended_)
        ::kill(pid_, s);
}

void child::forward(int s) noexcept
{
    bool const is_of_keyboard = s == SIGINT || s == SIGQUIT || s == SIGTSTP || s == SIGWINCH;
    if (has_group_ || !is_of_keyboard || ::tcgetpgrp(terminal) != our_group_)
        signal(s);
}

// SIGSTOP does not count as a stop: this process goes on and renews the lock, because anyone may continue the command.
void child::check_children() noexcept
{
    int status = 0;
    for (pid_t who; (who = ::waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0;) {
        if (guardian_)
            guardian_->note_end(who);
        if (who != pid_)
            continue;
        if (WIFSTOPPED(status)) {
            note_stop(WSTOPSIG(status));
        } else {
            has_ended_ = true;
            wait_status_ = status;
            was_interrupted_alone_ = WIFSIGNALED(status) && WTERMSIG(status) == SIGINT && has_terminal_
                                     && !got_interrupt_ && ::tcgetpgrp(terminal) == pid_;
        }
    }
}

// A shell that brings a running job to the foreground sends no SIGCONT. So this process learns of it when the command
// uses the terminal.
void child::note_stop(int signal) noexcept
{
    bool const wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
    if (wants_terminal && has_terminal_ && ::tcgetpgrp(terminal) == our_group_)
        resume();
    else
        was_stopped_ = was_stopped_ || signal != SIGSTOP;
}

bool child::was_stopped() noexcept { return std::exchange(was_stopped_, false); }

int child::status() const noexcept
{
    return WIFSIGNALED(wait_status_) ? by_signal + WTERMSIG(wait_status_) : WEXITSTATUS(wait_status_);
}

int child::signal_that_ended_it() const noexcept { return WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0; }

// The answer is remembered, because the number of a group may be reused once the group is gone.
bool child::is_gone() noexcept
{
    is_gone_ = is_gone_ || (has_ended_ && (!has_group_ || (::kill(-pid_, 0) != 0 && errno == ESRCH)));
    if (is_gone_)
        guardian_.reset();
    return is_gone_;
}

void child::must_end_by(clock::time_point end) noexcept
{
    if (guardian_)
        guardian_->must_end_by(end, pid_);
}

// SIGSTOP, because processes of the group may ignore SIGTSTP. They must not go on while nobody renews the lock.
void child::suspend_with_command() noexcept
{
    signal(SIGSTOP);
    pass_foreground(pid_, our_group_);
    struct sigaction stops = {}, before = {};
    stops.sa_handler = SIG_DFL;
    ::sigaction(SIGTSTP, &stops, &before);
    ::raise(SIGTSTP);  // not SIGSTOP: the kernel ignores SIGTSTP where no shell could continue this process
    ::sigaction(SIGTSTP, &before, nullptr);
}

void child::resume() noexcept
{
    pass_foreground(our_group_, pid_);
    signal(SIGCONT);
}

}  // namespace redlock::cli
