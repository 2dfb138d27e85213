#include "testbed/local_server.hpp"

#include "testbed/plain_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace redlock::testbed {

namespace {

using namespace std::chrono_literals;

std::string make_folder()
{
    auto path = (std::filesystem::temp_directory_path() / "redlock-XXXXXX").string();
    if (!::mkdtemp(path.data()))
        throw std::runtime_error("cannot make a temporary folder: " + std::string(std::strerror(errno)));
    return path;
}

}  // namespace

temporary_folder::temporary_folder() : path(make_folder()) {}

temporary_folder::~temporary_folder()
{
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
}

std::string server_program()
{
    auto const* named = std::getenv("REDLOCK_SERVER");
    return named && *named ? named : "redis-server";
}

std::uint16_t free_port(std::uint16_t highest)
{
    for (int attempt = 0; attempt < 1000; ++attempt) {
        int const s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        bool const bound = ::bind(s, reinterpret_cast<sockaddr*>(&address), size) == 0
                        && ::getsockname(s, reinterpret_cast<sockaddr*>(&address), &size) == 0;
        ::close(s);
        if (!bound)
            break;
        if (auto const port = ntohs(address.sin_port); port <= highest)
            return port;
    }
    throw std::runtime_error("no free port on the loopback interface up to " + std::to_string(highest));
}

local_server::local_server(std::vector<std::string> options, std::string program, std::vector<std::string> environment)
    : options_(std::move(options)), program_(std::move(program)), environment_(std::move(environment))
{
    bool const in_cluster = std::ranges::find(options_, "--cluster-enabled") != options_.end();
    // Somebody else may take the port between our looking and the server's binding it.
    for (int attempt = 0;; ++attempt) {
        port_ = in_cluster ? free_port(highest_cluster_port) : free_port();
        try {
            start();
            return;
        } catch (std::runtime_error const&) {
            if (attempt == 2)
                throw;
        }
    }
}

local_server::~local_server()
{
    kill();
}

void local_server::start()
{
    launch();
    auto const deadline = std::chrono::steady_clock::now() + 10s;
    // Its own log tells, and not whoever answers on the port: that may be the server of somebody who was quicker.
    auto const ready = [this] {
        auto const said = log();
        return said.find("Ready to accept connections") != said.npos || said.find("Sentinel ID is") != said.npos;
    };
    while (!ready()) {
        bool const ended = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
        if (!ended && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(2ms);
            continue;
        }
        if (ended)
            pid_ = -1;
        kill();
        throw std::runtime_error(program_ + " did not start on port " + std::to_string(port_) + ":\n" + log());
    }
}

void local_server::launch()
{
    std::vector<std::string> words{program_,         "--port",       std::to_string(port_), "--bind",   "127.0.0.1",
                                   "--save",         "",             "--appendonly",        "no",       "--dir",
                                   folder_.path,     "--loglevel",   "notice",              "--daemonize", "no"};
    words.insert(words.end(), options_.begin(), options_.end());
    std::vector<char*> arguments;
    for (auto& w : words)
        arguments.push_back(w.data());
    arguments.push_back(nullptr);
    std::vector<char*> environment;
    for (auto& e : environment_)
        environment.push_back(e.data());  // the first of a name counts
    for (char** e = environ; *e; ++e)
        environment.push_back(*e);
    environment.push_back(nullptr);
    auto const log_file = folder_.path + "/log";
    ::unlink(log_file.c_str());  // what an earlier run said must not be taken for this one's word
    auto const parent = ::getpid();

    pid_ = ::fork();
    if (pid_ < 0)
        throw std::runtime_error("cannot start a process: " + std::string(std::strerror(errno)));
    if (pid_ > 0)
        return;
    // The child: only what is allowed between fork and exec.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127);
    ::setpgid(0, 0);  // Ctrl-C is for us, not for the server
    int const log = ::open(log_file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
    ::dup2(log, 1);
    ::dup2(log, 2);
    ::execvpe(arguments[0], arguments.data(), environment.data());
    constexpr char message[] = "cannot be executed: is it installed?\n";
    [[maybe_unused]] auto const written = ::write(2, message, sizeof message - 1);
    ::_exit(127);
}

void local_server::kill()
{
    if (pid_ <= 0)
        return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
}

void local_server::pause()
{
    ::kill(pid_, SIGSTOP);
    int status = 0;
    ::waitpid(pid_, &status, WUNTRACED);
}

void local_server::resume()
{
    ::kill(pid_, SIGCONT);
}

std::string local_server::ask(std::vector<std::string> const& command) const
{
    return plain_client(port_).ask(command);
}

std::string local_server::log() const
{
    std::ifstream file(folder_.path + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace redlock::testbed
