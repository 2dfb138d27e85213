#include "apart.hpp"

#include "interrupt.hpp"
#include "output/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace redlock::bench {

namespace {

enum outcome : int { measured, failed, stopped };

void write_all(int to, std::string_view text)
{
    while (!text.empty()) {
        auto const n = ::write(to, text.data(), text.size());
        if (n < 0 && errno != EINTR)
            return;  // the parent has gone
        text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    }
}

std::string read_all(int from, pid_t writer)
{
    std::string text;
    char buffer[16 * 1024];
    for (;;) {
        auto const n = ::read(from, buffer, sizeof buffer);
        if (n > 0)
            text.append(buffer, static_cast<std::size_t>(n));
        else if (n == 0 || errno != EINTR)
            return text;
        else if (was_interrupted())
            ::kill(writer, SIGTERM);  // the terminal tells both of us, others perhaps only the parent
    }
}

outcome measure_and_tell(std::function<std::vector<result>()> const& measure, int to)
{
    try {
        write_all(to, to_json({{}, measure()}));
        return measured;
    } catch (interrupted const&) {
        return stopped;
    } catch (std::exception const& e) {
        write_all(to, e.what());
        return failed;
    }
}

}  // namespace

std::vector<result> apart(std::function<std::vector<result>()> const& measure)
{
    int ends[2];
    if (::pipe(ends) != 0)
        throw std::runtime_error(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    auto const parent = ::getpid();
    auto const child = ::fork();
    if (child < 0)
        throw std::runtime_error(fmt::format("cannot start a process: {}", std::strerror(errno)));
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGTERM);  // its destructors stop the servers
        ::close(ends[0]);
        ::_exit(::getppid() == parent ? measure_and_tell(measure, ends[1]) : stopped);
    }
    ::close(ends[1]);
    auto const text = read_all(ends[0], child);
    ::close(ends[0]);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    throw_if_interrupted();
    if (WIFEXITED(status) && WEXITSTATUS(status) == measured)
        return from_json(text, "the measuring process").results;
    if (WIFEXITED(status) && WEXITSTATUS(status) == stopped)
        throw interrupted();
    throw std::runtime_error(WIFEXITED(status) ? text : fmt::format("the measuring process was ended by signal {}", WTERMSIG(status)));
}

}  // namespace redlock::bench
