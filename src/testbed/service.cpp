#include "testbed/service.hpp"

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

extern char** environ;

namespace redlock::testbed {

service::service(std::string program, std::vector<std::string> options, std::vector<std::string> environment)
{
    std::vector<char*> arguments{program.data()};
    for (auto& o : options)
        arguments.push_back(o.data());
    arguments.push_back(nullptr);
    std::vector<char*> variables;
    for (auto& e : environment)
        variables.push_back(e.data());  // the first of a name counts
    for (char** e = environ; *e; ++e)
        variables.push_back(*e);
    variables.push_back(nullptr);
    int out[2];
    if (::pipe2(out, O_CLOEXEC) != 0)
        throw std::runtime_error(program + ": no pipe: " + std::strerror(errno));
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, out[1], 1);
    int const failed = ::posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(out[1]);
    std::string said;
    for (char c = 0; failed == 0 && ::read(out[0], &c, 1) == 1 && c != '\n';)
        said += c;
    ::close(out[0]);
    auto const colon = said.rfind(':');
    auto const digits = colon == said.npos ? said.size() : colon + 1;
    if (std::from_chars(said.data() + digits, said.data() + said.size(), port_).ec != std::errc()) {
        if (failed == 0)
            stop(SIGKILL);
        throw std::runtime_error(program + " does not start; it said \"" + said + "\"");
    }
}

service::~service()
{
    stop(SIGKILL);
}

int service::stop(int signal)
{
    if (pid_ <= 0)
        return -1;
    ::kill(pid_, signal);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace redlock::testbed
