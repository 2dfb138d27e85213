#include "testbed/local_server.hpp"

#include "testbed/plain_client.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
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
            start_once();
            return;
        } catch (std::runtime_error const&) {
            if (attempt == 2)
                throw;
        }
    }
}

void local_server::start()
{
    // While it was down somebody's connection may have been given its port, which takes a while to go.
    for (auto const deadline = std::chrono::steady_clock::now() + 30s;;) {
        try {
            return start_once();
        } catch (std::runtime_error const&) {
            if (log().find("Address already in use") == std::string::npos || std::chrono::steady_clock::now() >= deadline)
                throw;
        }
        std::this_thread::sleep_for(100ms);
    }
}

void local_server::start_once()
{
    launch();
    auto const deadline = std::chrono::steady_clock::now() + 10s;
    // Its own log tells, and not whoever answers on the port: that may be the server of somebody who was quicker.
    auto const ready = [this] {
        auto const said = log();
        return said.find("Ready to accept connections") != said.npos || said.find("Sentinel ID is") != said.npos;
    };
    while (!ready()) {
        if (!process_->ended() && std::chrono::steady_clock::now() < deadline) {
            std::this_thread::sleep_for(2ms);
            continue;
        }
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
    auto const log_file = folder_.path + "/log";
    ::unlink(log_file.c_str());  // what an earlier run said must not be taken for this one's word
    process_.emplace(std::move(words), process_options{.environment = environment_, .output = log_file});
}

void local_server::kill()
{
    process_.reset();
}

void local_server::pause()
{
    process_->pause();
}

void local_server::resume()
{
    process_->resume();
}

std::string local_server::ask(std::vector<std::string> const& command) const
{
    return plain_client(port_).ask(command);
}

std::string local_server::count_keys() const
{
    return ask({"EVAL",
                "local n = 0 for _, key in ipairs(redis.call('KEYS', '*')) do "
                "if not string.find(key, ':=life', 1, true) and not string.find(key, ':=settings', 1, true) then n = n + 1 end end return n",
                "0"});
}

std::string local_server::log() const
{
    std::ifstream file(folder_.path + "/log");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace redlock::testbed
