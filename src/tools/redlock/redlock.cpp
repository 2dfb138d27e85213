// redlock: locks from the command line.

#include "tools/redlock/run/child.hpp"
#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/nearest.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/wrapped_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <exception>
#include <fcntl.h>
#include <string>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

using namespace redlock::cli;
using redlock::cli::early_exit;

constexpr std::size_t about_column = 39;

std::string help()
{
    std::string text = "usage: redlock [OPTION]… COMMAND …\n\nDistributed locks from the command line.\n\n";
    auto const columns = columns_of_output();
    for (auto const& c : commands())
        text += c.about.empty()
                    ? ""
                    : fmt::format("  {:<11}{:<26}{}\n", c.name, c.takes, wrapped(c.about, about_column, columns));
    return text + "\nredlock COMMAND --help prints its options.\nredlock help options prints those of all commands.";
}

std::vector<std::string> names()
{
    std::vector<std::string> all;
    for (auto const& c : commands())
        all.emplace_back(c.name);
    return all;
}

// Undoes what a parent process may have done. If it has closed a standard file, another file would get its number. If
// it has blocked signals, this process would wait for them in vain. The command of `redlock run` inherits both as they
// were; see `inheritance`.
void begin()
{
    inheritance::ours();
    for (int const file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        // open() returns the lowest free number: this one. The access mode makes its use an error, so a token that
        // nobody can read is not printed with success.
        if (::fcntl(file, F_GETFD) < 0)
            ::open("/dev/null", (file == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    std::signal(SIGPIPE, SIG_IGN);  // the reader of the output may close it
}

int run_command(arguments given)
{
    // Options that every command has may come before the command.
    auto word = given.begin();
    while (word != given.end() && word->starts_with('-') && *word != "--help" && *word != "-h" && *word != "--version")
        word += takes_value(*word) && word + 1 != given.end() ? 2 : 1;
    if (word != given.end() && *word == "help" && word + 1 != given.end() && *(word + 1) == "options")
        throw early_exit(done, command_line(common_options, "The options of all commands.").help_of_options());
    if (word != given.end() && *word == "help" && word + 1 != given.end() && !(word + 1)->starts_with('-')) {
        *word = *(word + 1);  // "redlock help run" is "redlock run --help"
        *(word + 1) = "--help";
        given.erase(word + 2, given.end());
    }
    if (word == given.end() || *word == "--help" || *word == "-h" || *word == "help")
        throw early_exit(word == given.end() ? wrong_usage : done, help());
    auto const name = *word == "--version" ? std::string("version") : *word;
    auto const known = std::ranges::find(commands(), name, &command::name);
    if (known == commands().end())
        throw early_exit(wrong_usage, fmt::format("redlock: there is no command \"{}\"{}; redlock --help lists them",
                                                  redlock::cli::without_urls(name), did_you_mean(name, names())));
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
            return by_signal + SIGPIPE;  // the reader has closed the output
        say(std::string("redlock: ") + e.what());
        return failed;
    } catch (std::exception const& e) {
        say(std::string("redlock: ") + e.what());
        return failed;
    }
}
