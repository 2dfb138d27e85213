#include "versus/worker_process.hpp"

#include "bed/server_process.hpp"

#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>
#include <utility>

namespace redlock::bench {

namespace {

// A shell redirects standard error, because process_options::output would redirect standard output, too.
std::vector<std::string> with_log(std::vector<std::string> command, std::string const& log)
{
    std::vector<std::string> all{"sh", "-c", "log=$1; shift; exec \"$@\" 2>\"$log\"", "sh", log};
    all.insert(all.end(), command.begin(), command.end());
    return all;
}

}  // namespace

worker_process::worker_process(std::vector<std::string> command, std::string log)
    : log_(std::move(log)), process_(with_log(std::move(command), log_), {.piped = true, .fed = true})
{
}

std::vector<std::string> worker_process::read_lines()
{
    std::array<char, 64 * 1024> some;
    auto const n = ::read(process_.output(), some.data(), some.size());
    if (n == 0 || (n < 0 && errno != EINTR))
        ended_ = true;
    begun_.append(some.data(), static_cast<std::size_t>(n > 0 ? n : 0));
    std::vector<std::string> all;
    for (auto end = begun_.find('\n'); end != begun_.npos; end = begun_.find('\n')) {
        all.push_back(begun_.substr(0, end));
        begun_.erase(0, end + 1);
    }
    return all;
}

void worker_process::kill()
{
    process_.signal(SIGKILL);
    process_.wait();
    ended_ = true;
}

std::string worker_process::last_error() const
{
    auto said = testbed::text_of(log_);
    said.erase(said.find_last_not_of(" \n") + 1);
    return said.substr(said.rfind('\n') + 1);
}

std::string worker_process::last_words()
{
    auto ending = process_.ended();
    for (int i = 0; i < 100 && !ending; ++i) {  // the end of its output comes a moment before the end of the process
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        ending = process_.ended();
    }
    auto const error = last_error();
    return (ending ? ending->in_words() : "has closed its output") + (error.empty() ? "" : ": " + error);
}

}  // namespace redlock::bench
