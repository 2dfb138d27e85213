// redlock completion: what completes the words of its command line in a shell.

#include "cli/completion_scripts.hpp"

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/output.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace redlock::cli {

int completion(arguments given)
{
    command_line line("completion",
                      "Print completions for a shell. For bash, read them by source, or keep them in "
                      "~/.local/share/bash-completion/completions/redlock; for zsh, as _redlock in a folder of $fpath; for fish, in "
                      "~/.config/fish/completions/redlock.fish.",
                      "The installation of the tool contains them.");
    std::string shell;
    line.add_option("SHELL", shell, "the shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    line.is_about_ourselves();
    line.read(std::move(given));
    auto const all = describe_all();
    print(shell == "bash" ? for_bash(all) : shell == "zsh" ? for_zsh(all) : for_fish(all));
    return done;
}

}  // namespace redlock::cli
