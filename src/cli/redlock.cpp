// redlock: locks from the command line.

#include "cli/child.hpp"
#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/early_exit.hpp"
#include "cli/exit_status.hpp"
#include "cli/node_urls.hpp"
#include "cli/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace {

using namespace redlock::cli;
using redlock::cli::early_exit;

std::string help()
{
    std::string text = "usage: redlock [OPTION]… COMMAND …\n\nDistributed locks from the command line.\n\n";
    for (auto const& c : commands())
        text += c.about.empty() ? "" : fmt::format("  {:<11}{:<26}{}\n", c.name, c.takes, c.about);
    return text + "\nredlock COMMAND --help prints its options, and those of all commands.";
}

// Who started us may have closed a standard file, which another would get the number of, or blocked signals that we
// wait for. A command that we run has both as they were.
void begin()
{
    inheritance::ours();
    for (int const file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(file, F_GETFD) < 0)  // the lowest number that is free; to use it is an error as before: a token is
                                         // not printed to nobody
            ::open("/dev/null", (file == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // whoever reads what we print may stop doing so
}

int run_command(arguments given)
{
    // Options of all commands may stand before the command.
    auto word = given.begin();
    while (word != given.end() && word->starts_with('-') && *word != "--help" && *word != "-h" && *word != "--version")
        word += takes_value(*word) && word + 1 != given.end() ? 2 : 1;
    if (word == given.end() || *word == "--help" || *word == "-h" || *word == "help")
        throw early_exit(word == given.end() ? wrong_usage : done, help());
    auto const name = *word == "--version" ? std::string("version") : *word;
    auto const known = std::ranges::find(commands(), name, &command::name);
    if (known == commands().end())
        throw early_exit(wrong_usage, fmt::format("redlock: there is no command \"{}\"; redlock --help lists them",
                                                  redlock::cli::without_urls(name)));
    given.erase(word);
    return known->run(std::move(given));
}

}  // namespace

int main(int count, char** words)
{
    begin();
    try {
        return run_command(arguments(words + std::min(count, 1), words + count));
    } catch (early_exit const& e) {
        return e.tell();
    } catch (std::system_error const& e) {
        if (e.code() == std::errc::broken_pipe)
            return by_signal + SIGPIPE;  // whoever reads has seen enough
        say(std::string("redlock: ") + e.what());
        return failed;
    } catch (std::exception const& e) {
        say(std::string("redlock: ") + e.what());
        return failed;
    }
}
