#include "bed/server_process.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <netinet/in.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::testbed {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

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

std::string named_by(char const* name)
{
    auto const* const value = std::getenv(name);
    return value ? value : "";
}

std::string text_of(std::string const& file)
{
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
}

std::string answer_of(std::vector<std::string> words, std::vector<std::string> environment)
{
    process program(std::move(words), {.environment = std::move(environment), .piped = true});
    auto said = program.read();
    auto const ended = program.wait();
    while (said.ends_with('\n'))
        said.pop_back();
    return ended.code() == 0 ? said : "error: " + said;
}

server_process::server_process(std::string name, std::vector<std::string> ready, std::vector<std::string> environment)
    : name_(std::move(name)), ready_(std::move(ready)), environment_(std::move(environment))
{
}

server_process::~server_process() { kill(); }

void server_process::start_on_free_ports()
{
    // Another program may take a port after free_port() has found it and before the server binds it.
    for (int attempt = 0;; ++attempt) {
        take_ports();
        try {
            launch();
            return wait();
        } catch (std::runtime_error const&) {
            if (attempt == 2)
                throw;
        }
    }
}

void server_process::start()
{
    for (auto const deadline = clock::now() + 60s;; std::this_thread::sleep_for(50ms)) {
        try {
            launch();
            return wait();
        } catch (std::runtime_error const&) {
            if (!may_start_later(log()) || clock::now() >= deadline)
                throw;
        }
    }
}

void server_process::launch()
{
    auto all = words();
    auto const log_file = path() + "/log";
    ::unlink(log_file.c_str());  // is_ready() must not read the log of an earlier run
    process_.emplace(std::move(all), process_options{.environment = environment_, .output = log_file});
}

void server_process::wait()
{
    for (auto const deadline = clock::now() + 60s; !is_ready(); std::this_thread::sleep_for(5ms)) {
        if (process_->ended() || clock::now() > deadline) {
            kill();
            throw std::runtime_error(name_ + " did not start on port " + std::to_string(port_) + ":\n" + log());
        }
    }
}

// Reads the server's log. A connection to the port proves nothing: another program may have taken the port.
bool server_process::is_ready() const
{
    return std::ranges::any_of(ready_, [said = log()](auto& words) { return said.find(words) != said.npos; });
}

void server_process::kill()
{
    signal_children(SIGKILL);
    process_.reset();
}

void server_process::pause()
{
    process_->pause();
    signal_children(SIGSTOP);
}

void server_process::resume()
{
    signal_children(SIGCONT);
    process_->resume();
}

void server_process::forget() { std::filesystem::remove_all(folder()); }

void server_process::signal_children(int number) const
{
    if (pid() <= 0)
        return;
    auto const parent = std::to_string(pid());
    std::ifstream children("/proc/" + parent + "/task/" + parent + "/children");
    for (pid_t p = 0; children >> p;)
        ::kill(p, number);
}

}  // namespace redlock::testbed
