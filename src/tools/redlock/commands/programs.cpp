// redlock demo, redlock bench: run programs that are installed in the same folder.

#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <string>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace redlock::cli {

namespace {

// The folder of this program; empty if it is unknown.
std::string own_folder()
{
    char path[PATH_MAX];
    auto const size = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const own(path, size > 0 ? static_cast<std::size_t>(size) : 0);
    return own.substr(0, own.rfind('/') + 1);
}

int become(std::string const& name, std::string const& about, arguments given)
{
    if (given == arguments{describe_option})
        throw description(CLI::App(about + " Its options: redlock " + name + " --help."));
    auto path = own_folder() + "redlock_" + name;
    std::vector<char*> words{path.data()};
    for (auto& word : given)
        words.push_back(word.data());
    words.push_back(nullptr);
    std::signal(SIGPIPE, SIG_DFL);
    ::execv(path.c_str(), words.data());
    auto const why = std::error_code(errno, std::generic_category());
    throw early_exit(why == std::errc::no_such_file_or_directory ? not_found : cannot_execute,
                     fmt::format("redlock {}: {} cannot be run: {}. It is installed beside redlock, by ./dev install "
                                 "or where REDLOCK_BUILD_TOOLS is on",
                                 name, path, why.message()));
}

}  // namespace

int demo(arguments given)
{
    return become("demo",
                  "Run a flash sale on five real Redis servers, which it starts itself: without the lock, and with it, "
                  "while servers fail.",
                  std::move(given));
}

int bench(arguments given)
{
    return become("bench", "Measure the library on this machine, beside a raw client that sends the same commands.",
                  std::move(given));
}

}  // namespace redlock::cli
