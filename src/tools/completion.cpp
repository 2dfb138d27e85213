// redlock completion: what completes the words of its command line in a shell.

#include "tools/completion_scripts.hpp"

#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/output.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

namespace redlock::tools {

int completion(arguments given)
{
    command_line line("completion", "Prints what completes the words of redlock's command line in a shell: for bash to be read by source, or kept in "
                                    "~/.local/share/bash-completion/completions/redlock; for zsh as _redlock in a folder of $fpath; for fish in "
                                    "~/.config/fish/completions/redlock.fish.",
                      "What is installed with the tool is this.");
    std::string shell;
    line.add_option("SHELL", shell, "which one")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
    line.is_about_ourselves();
    line.read(std::move(given));
    auto const all = describe_all();
    print(shell == "bash" ? for_bash(all) : shell == "zsh" ? for_zsh(all) : for_fish(all));
    return done;
}

}  // namespace redlock::tools
