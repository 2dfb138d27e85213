// redlock completion: prints scripts that complete the command line in a shell. The scripts ask no lock server.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/args/permissions.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

bool takes_file(option_text const& o) { return o.value == "FILE"; }

std::vector<std::string> names_of(command_text const& c)
{
    std::vector<std::string> all;
    for (auto const& o : c.options)
        all.insert(all.end(), o.names.begin(), o.names.end());
    return all;
}

// The options that every command has, taken from the first command with options.
std::vector<option_text> options_everywhere(std::vector<command_text> const& commands)
{
    std::vector<option_text> all;
    auto const any = std::ranges::find_if(commands, [](auto const& c) { return !c.options.empty(); });
    if (any != commands.end())
        std::ranges::copy_if(any->options, std::back_inserter(all), &option_text::is_global);
    return all;
}

// The beginning of a description, up to the first semicolon, colon or full stop.
std::string_view begin_of(std::string_view about)
{
    for (auto const* const end : {"; ", ": ", ". "})
        about = about.substr(0, about.find(end));
    return about;
}

// The bash code that completes the value of an option. @p command  "*": the option of every command
std::string bash_values(std::string_view command, option_text const& o)
{
    if (o.value.empty())
        return {};
    std::vector<std::string> patterns;
    for (auto const& name : o.names)
        patterns.push_back(fmt::format("{}:{}", command, name));
    auto const* const files = "COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames; return";
    auto const words = fmt::format("words='{}'", fmt::join(o.choices, " "));
    return fmt::format("        {}) {} ;;\n", fmt::join(patterns, "|"),
                       takes_file(o)       ? files
                       : o.choices.empty() ? "return"
                                           : words.c_str());
}

std::string zsh_option(option_text const& o)
{
    std::vector<std::string> forms;
    for (auto const& name : o.names)
        forms.push_back(o.value.empty() ? name : name + (name.starts_with("--") ? "=" : "+"));
    auto text = fmt::format("[{}]", escaped(begin_of(o.about), "[]:\\"));
    if (!o.value.empty())
        text += fmt::format(":{}:{}", escaped(o.value, ":"),
                            takes_file(o)       ? "_files"
                            : o.choices.empty() ? " "
                                                : fmt::format("({})", fmt::join(o.choices, " ")));
    if (forms.size() == 1)
        return "        " + shell_quoted("*" + forms.front() + text) + '\n';
    return fmt::format("        '*'{{{}}}{}\n", fmt::join(forms, ","), shell_quoted(text));
}

bool is_among(std::vector<option_text> const& all, option_text const& o)
{
    return std::ranges::find(all, o.names, &option_text::names) != all.end();
}

// Removes an option of every command from the list, because the command @p c has its own values for it.
std::string zsh_removal(command_text const& c, option_text const& o)
{
    std::string line = fmt::format("    ({})", c.name);
    for (auto const& name : o.names)
        line += fmt::format(" all=(\"${{(@)all:#\\*{}*}}\")", name.starts_with("--") ? name + "=" : name + "+");
    return line + " ;;\n";
}

std::string fish_option(std::string_view condition, option_text const& o)
{
    auto text = fmt::format("complete -c redlock{}", condition.empty() ? "" : fmt::format(" -n '{}'", condition));
    for (auto const& name : o.names)
        text += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
    if (!o.value.empty())
        text += takes_file(o)       ? " -r -F"
                : o.choices.empty() ? " -x"
                                    : fmt::format(" -x -a '{}'", fmt::join(o.choices, " "));
    return fmt::format("{} -d '{}'\n", text, escaped(begin_of(o.about), "'\\"));
}

std::string for_bash(std::vector<command_text> const& commands)
{
    std::vector<std::string> names, globals, with_value;  // of the options of run
    std::string values, words, values_everywhere;
    for (auto const& o : options_everywhere(commands)) {
        globals.insert(globals.end(), o.names.begin(), o.names.end());
        values_everywhere += bash_values("*", o);
    }
    for (auto const& c : commands) {
        for (auto const& o : c.options) {
            if (c.name == "run" && !o.value.empty())
                with_value.insert(with_value.end(), o.names.begin(), o.names.end());
        }
    }
    for (auto const& c : commands) {
        names.push_back(c.name);
        words += fmt::format("        {}) options='{}' operands='{}' ;;\n", c.name, fmt::join(names_of(c), " "),
                             fmt::join(c.choices, " "));
        for (auto const& o : c.options)
            values += o.is_global ? "" : bash_values(c.name, o);
    }
    return fmt::format(R"(# Completions of redlock for bash.
_redlock()
{{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} command= key= options operands words= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; ++i)); do
        case $command:${{COMP_WORDS[i]}} in
        *:--|run:[!-]*)  # the key; or, after a key or "--", the command to run
            if [[ -n $key || ${{COMP_WORDS[i]}} == -- ]]; then break; fi
            key=yes ;;
        run:-k|run:--key) key=yes; ((++i)) ;;
        {}) ((++i)); [[ ${{COMP_WORDS[i]}} == = ]] && ((++i)) ;;
        :{}) command=${{COMP_WORDS[i]}} ;;
        esac
    done
    [[ ${{COMP_WORDS[i]}} == -- ]] && ((i < COMP_CWORD)) && ((++i))
    if ((i < COMP_CWORD)) || [[ $i == "$COMP_CWORD" && ( -n $key && $cur != -* || ${{COMP_WORDS[i-1]}} == -- ) ]]; then
        if declare -F _command_offset >/dev/null; then _command_offset $i; else COMPREPLY=($(compgen -c -- "$cur")); fi
        return
    fi
    # bash splits --output=json into three words.
    if [[ $cur == = ]]; then cur=; elif [[ $prev == = ]]; then prev=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    case $command:$prev in
{}    esac
    case $command in
        '') options='{}' operands='{}' ;;
{}    esac
    if [[ -z $words ]]; then [[ $cur == -* ]] && words=$options || words=$operands; fi
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -F _redlock redlock
)",
                       fmt::format("*:{}", fmt::join(with_value, "|*:")), fmt::join(names, "|:"),
                       values + values_everywhere, fmt::join(globals, " "), fmt::join(names, " "), words);
}

std::string for_zsh(std::vector<command_text> const& commands)
{
    std::string globals, list, own, replaced;
    auto const everywhere = options_everywhere(commands);
    for (auto const& o : everywhere)
        globals += zsh_option(o);
    for (auto const& c : commands) {
        list += "        " + shell_quoted(escaped(c.name, ":") + ':' + escaped(c.line, "\\")) + '\n';
        own += fmt::format("    ({}) own=(\n", c.name);
        for (auto const& o : c.options) {
            own += o.is_global ? "" : zsh_option(o);
            replaced += o.is_global || !is_among(everywhere, o) ? "" : zsh_removal(c, o);
        }
        own += fmt::format(
            "        {}\n    ) ;;\n",
            shell_quoted(fmt::format("*:{}:{}", escaped(c.takes.empty() ? "nothing" : c.takes, ":"),
                                     c.choices.empty() ? " " : fmt::format("({})", fmt::join(c.choices, " ")))));
    }
    return fmt::format(R"(#compdef redlock
# Completions of redlock for zsh.
_redlock() {{
    local curcontext=$curcontext state line dashes
    typeset -A opt_args
    local -a all commands own
    all=(
{}    )
    commands=(
{}    )
    dashes=${{words[(i)--]}}
    if (( dashes < CURRENT )); then  # the command to run follows
        shift $dashes words
        (( CURRENT -= dashes ))
        _normal
        return
    fi
    _arguments -C -A '-*' $all '1:command:->command' '*::argument:->argument'
    case $state in
    (command) _describe command commands; return ;;
    (argument) ;;
    (*) return ;;
    esac
    case $words[1] in
{}    esac
    case $words[1] in  # options with other values than in other commands
{}    esac
    _arguments $all $own
}}
_redlock "$@"
)",
                       globals, list, own, replaced);
}

std::string for_fish(std::vector<command_text> const& commands)
{
    std::string text = "# Completions of redlock for fish.\ncomplete -c redlock -f\n";
    for (auto const& o : options_everywhere(commands))
        text += fish_option("", o);
    for (auto const& c : commands) {
        text +=
            fmt::format("complete -c redlock -n __fish_use_subcommand -a {} -d '{}'\n", c.name, escaped(c.line, "'\\"));
        auto const condition = "__fish_seen_subcommand_from " + c.name;
        for (auto const& o : c.options)
            text += o.is_global ? "" : fish_option(condition, o);
        if (!c.choices.empty())
            text += fmt::format("complete -c redlock -n '{}' -a '{}'\n", condition, fmt::join(c.choices, " "));
    }
    return text;
}

}  // namespace

int completion(arguments given)
{
    command_line line(
        "completion",
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
