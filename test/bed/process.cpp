#include "bed/process.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

bool is_fork = false;

// Allocates nothing and takes no lock, because another thread may hold one at the fork.
[[noreturn]] void become(char* const* arguments, char* const* environment)
{
    ::setpgid(0, 0);
    process::default_signals();
    ::execvpe(arguments[0], arguments, environment);
    constexpr char message[] = "cannot be executed: is it installed?\n";
    [[maybe_unused]] auto const written = ::write(2, message, sizeof message - 1);
    ::_exit(127);
}

// _exit runs no destructors: the parent owns the servers and folders whose objects the fork has copied.
[[noreturn]] void call_and_exit(std::function<int()> const& work, std::string const& name)
{
    is_fork = true;
    try {
        ::_exit(work());
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s: %s\n", name.c_str(), e.what());
        ::_exit(1);
    }
}

}  // namespace

int process::ending::code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

std::string process::ending::in_words() const
{
    return WIFEXITED(status) ? "ended with status " + std::to_string(WEXITSTATUS(status))
                             : "was ended by signal " + std::to_string(WTERMSIG(status));
}

process::process(std::vector<std::string> words, process_options o) : options_(std::move(o))
{
    std::vector<char*> arguments, environment;
    for (auto& w : words)
        arguments.push_back(w.data());
    arguments.push_back(nullptr);
    // The first setting of a name counts. A name must not be there twice: getenv and shells would choose differently.
    auto const add = [&](char* setting) {
        std::string_view const name(setting, std::strcspn(setting, "=") + 1);
        if (std::ranges::none_of(environment,
                                 [=](char const* other) { return std::string_view(other).starts_with(name); }))
            environment.push_back(setting);
    };
    for (auto& e : options_.environment)
        add(e.data());
    for (char** e = environ; *e; ++e)
        add(*e);
    environment.push_back(nullptr);
    start([&] { become(arguments.data(), environment.data()); });
}

process::process(std::function<int()> const& work, process_options o) : options_(std::move(o))
{
    std::fflush(nullptr);  // otherwise the child would print the buffered text as well
    start([&] { call_and_exit(work, options_.name); });
}

void process::start(std::function<void()> const& run)
{
    int ends[2] = {-1, -1};
    int input[2] = {-1, -1};
    // The input is a socket, because a write to a pipe without a reader raises SIGPIPE.
    if ((options_.piped && ::pipe2(ends, O_CLOEXEC) != 0)
        || (options_.fed && ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, input) != 0)) {
        std::system_error const failure(errno, std::generic_category(), "cannot make a pipe");
        ::close(ends[0]);
        ::close(ends[1]);
        throw failure;
    }
    auto const parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, options_.when_alone);
        if (::getppid() != parent)
            ::_exit(127);
        if (options_.stopped)
            ::raise(SIGSTOP);
        if (!options_.output.empty()) {
            ends[1] = ::open(options_.output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
            ::dup2(ends[1], 2);
        }
        if (ends[1] >= 0) {
            ::dup2(ends[1], 1);
            ::close(ends[1]);
        }
        if (input[0] >= 0)
            ::dup2(input[0], 0);
        ::close(ends[0]);
        ::close(input[1]);
        run();
    }
    if (pid_ < 0) {
        std::system_error const failure(errno, std::generic_category(), "cannot start a process");
        for (int const end : {ends[0], ends[1], input[0], input[1]})
            ::close(end);
        throw failure;
    }
    from_ = ends[0];
    to_ = input[1];
    ::close(ends[1]);
    ::close(input[0]);
    if (options_.stopped)
        check_exit(WUNTRACED);
}

void process::default_signals() noexcept
{
    for (int const number : {SIGHUP, SIGINT, SIGQUIT})
        ::signal(number, SIG_DFL);
}

bool process::forked() noexcept { return is_fork; }

process::~process()
{
    signal(SIGKILL);
    wait();
    if (from_ >= 0)
        ::close(from_);
    close_input();
}

process::process(process&& other) noexcept
    : options_(std::move(other.options_)),
      pid_(std::exchange(other.pid_, -1)),
      from_(std::exchange(other.from_, -1)),
      to_(std::exchange(other.to_, -1)),
      ending_(other.ending_)
{
}

process& process::operator=(process&& other) noexcept
{
    std::swap(options_, other.options_);
    std::swap(pid_, other.pid_);
    std::swap(from_, other.from_);
    std::swap(to_, other.to_);
    std::swap(ending_, other.ending_);
    return *this;
}

void process::signal(int number)
{
    if (pid_ > 0)
        ::kill(pid_, number);
}

void process::pause()
{
    signal(SIGSTOP);
    check_exit(WUNTRACED);
}

void process::resume() { signal(SIGCONT); }

std::optional<process::ending> process::ended()
{
    check_exit(WNOHANG);
    return pid_ > 0 ? std::nullopt : std::optional(ending_);
}

process::ending process::wait()
{
    do
        check_exit(0);
    while (pid_ > 0 && end_if_over());
    return ending_;
}

std::string process::read(std::optional<char> last)
{
    std::string text;
    for (;;) {
        char buffer[16 * 1024];
        auto const n = ::read(from_, buffer, last ? 1 : sizeof buffer);
        if (n > 0 && buffer[0] != last)
            text.append(buffer, static_cast<std::size_t>(n));
        else if (n >= 0 || !end_if_over())
            return text;
    }
}

bool process::write(std::string_view text)
{
    while (!text.empty()) {
        auto const n = ::send(to_, text.data(), text.size(), MSG_NOSIGNAL);
        if (n < 0 && errno != EINTR)
            return false;
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
    return true;
}

void process::close_input()
{
    if (int const end = std::exchange(to_, -1); end >= 0)
        ::close(end);
}

void process::check_exit(int options)
{
    int status = 0;
    if (pid_ <= 0 || ::waitpid(pid_, &status, options) != pid_ || WIFSTOPPED(status))
        return;
    ending_ = {status};
    pid_ = -1;
}

// Returns whether a signal interrupted the call. If `is_over` then says so, the process is asked to end.
bool process::end_if_over()
{
    if (errno != EINTR)
        return false;
    if (options_.is_over && options_.is_over())
        signal(SIGTERM);  // Ctrl-C may reach the child as well; a signal of kill may reach only the parent
    return true;
}

void run_program(std::vector<std::string> words, std::string const& output)
{
    auto const what = words.front();
    process p(std::move(words), {.output = output});
    if (auto const ended = p.wait(); ended.code() != 0) {
        std::ostringstream said;
        said << std::ifstream(output).rdbuf();
        throw std::runtime_error(what + " has failed: " + ended.in_words() + "\n" + said.str());
    }
}

}  // namespace redlock::testbed
