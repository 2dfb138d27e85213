// redlock man: prints the manual pages as roff. The installation of the tool runs it.

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/commands.hpp"
#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/node_urls.hpp"
#include "tools/redlock/args/output.hpp"

#include <redlock/version.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

namespace {

constexpr std::pair<int, std::string_view> statuses[]{
    {done, "Done; the answer is yes."},
    {no, "The answer is no: the lock is free, or was not held."},
    {wrong_usage, "The command line is wrong; nothing was sent."},
    {no_quorum, "Too few nodes answer or vote, or they are replicas. Look at the nodes, not at the lock."},
    {busy, "Another client holds the lock, or held it for as long as --wait says. Try again later."},
    {no_permission, "Too few nodes answer, because the others refuse the password or a command."},
    {wrong_configuration,
     "An address, a file or an option is wrong, one server is named twice, or a host does not exist."},
    {lock_lost, "The lock was lost, and the command was stopped."},
    {failed, "The tool itself failed, or its output could not be written."},
    {cannot_execute, "The command cannot be executed."},
    {not_found, "The command does not exist."},
    {by_signal, "And the number of a signal: the signal ended the command, or the wait."},
};

// Escapes a text for roff. In a word that begins with '-', hyphens become minus signs, so that users can copy the
// option to a command line.
std::string roff(std::string_view text)
{
    std::string escaped;
    bool is_option = false;
    char32_t code = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        auto const c = static_cast<unsigned char>(text[i]);
        if (i == 0 || text[i - 1] == ' ' || text[i - 1] == '(' || text[i - 1] == '\n')
            is_option = c == '-';
        if (i == 0 && (c == '.' || c == '\''))
            escaped += "\\&";
        if (c >= 0x80) {
            code = c >= 0xf0 ? c & 0x07 : c >= 0xe0 ? c & 0x0f : c >= 0xc0 ? c & 0x1f : code << 6 | (c & 0x3f);
            if (i + 1 == text.size() || (text[i + 1] & 0xc0) != 0x80)
                escaped += fmt::format("\\[u{:04X}]", static_cast<std::uint32_t>(code));
        } else if (c == '\\') {
            escaped += "\\e";
        } else if (c == '-' && is_option) {
            escaped += "\\-";
        } else {
            escaped += static_cast<char>(c);
        }
    }
    return escaped;
}

std::string begin_of_page(std::string name, std::string_view line)
{
    auto title = name;
    std::ranges::transform(title, title.begin(),
                           [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    return fmt::format(".TH {} 1 \"\" \"redlock {}\" \"redlock\"\n.SH NAME\n{} \\- {}\n", title, REDLOCK_VERSION_STRING,
                       name, roff(line));
}

// The operands of a command, such as "KEY… [--] CMD…", in italics.
std::string operands(std::string_view takes) { return takes.empty() ? "" : fmt::format(" \\fI{}\\fR", roff(takes)); }

std::string options(command_text const& c, bool global)
{
    std::string text;
    bool times = false;
    for (auto const& o : c.options) {
        if (o.is_global != global)
            continue;
        text += ".TP\n";
        for (auto const& name : o.names)
            text += fmt::format("{}\\fB{}\\fR", &name == &o.names.front() ? "" : ", ", roff(name));
        text += o.value.empty() ? "\n" : fmt::format(" \\fI{}\\fR\n", roff(o.value));
        text += roff(o.about) + '\n';
        times = times || o.value == "TIME";
    }
    if (times)
        text += ".PP\n\\fITIME\\fR: 250ms, 1.5s, 2min or 1h.\n";
    return text;
}

// Each line becomes a paragraph. @p status  return only the line of the exit status; false: only the others
std::string notes(std::string_view all, bool status)
{
    constexpr std::string_view of_status = "Status: ";
    std::string text;
    for (; !all.empty(); all.remove_prefix(std::min(all.find('\n'), all.size() - 1) + 1)) {
        auto const line = all.substr(0, all.find('\n'));
        if (line.starts_with(of_status) == status && !line.empty())
            text += status ? roff(line.substr(of_status.size())) + '\n' : fmt::format(".PP\n{}\n", roff(line));
    }
    return text;
}

std::string section(std::string_view title, std::string const& text)
{
    return text.empty() ? "" : fmt::format(".SH {}\n{}", title, text);
}

// redlock-COMMAND(1).
std::string manual_page(command_text const& c)
{
    auto text = begin_of_page("redlock-" + c.name, c.line);
    text += fmt::format(".SH SYNOPSIS\n.B redlock {}\n[\\fIOPTION\\fR]\\[u2026]{}\n", c.name, operands(c.takes));
    text += fmt::format(".SH DESCRIPTION\n{}\n{}", roff(c.about.empty() ? c.line : c.about), notes(c.notes, false));
    text += section("OPTIONS", options(c, false));
    text += section("EXIT STATUS", notes(c.notes, true));
    return text + ".SH SEE ALSO\n.BR redlock (1),\nwhich has the options and the exit statuses of all commands.\n";
}

// redlock(1).
std::string manual_page(std::vector<command_text> const& commands)
{
    auto text = begin_of_page("redlock", "distributed locks from the command line");
    text += ".SH SYNOPSIS\n.B redlock\n[\\fIOPTION\\fR]\\[u2026] \\fICOMMAND\\fR \\[u2026]\n.SH DESCRIPTION\n";
    text += "Locks that a majority of independent servers grants. The servers are named by\n.B \\-\\-url\nor in\n.BR "
            "$REDLOCK_URLS .\n";
    text += "Results go to the standard output, and messages to the standard error stream.\n.SH COMMANDS\n";
    for (auto const& c : commands)
        text += fmt::format(".TP\n\\fB{}\\fR{}\n{}; see\n.BR redlock\\-{} (1).\n", c.name, operands(c.takes),
                            roff(c.line), c.name);
    auto const with_options = std::ranges::find_if(commands, [](auto const& c) { return !c.options.empty(); });
    if (with_options != commands.end()) {
        text += section("OPTIONS OF ALL COMMANDS", options(*with_options, true));
        std::string variables;
        for (auto const& o : with_options->options) {
            if (o.is_global)
                variables +=
                    fmt::format(".TP\n.B {}\nas\n.BR {} .\n", variable_of(o.names.front()), roff(o.names.front()));
        }
        text += section("ENVIRONMENT", "Each of these options may stand in the environment, or in the file of\n.BR "
                                       "\\-\\-config .\nThe command line comes first, then "
                                       "the environment, then the file. Several addresses have commas between them.\n"
                                           + variables);
    }
    std::string all;
    for (auto const& [status, meaning] : statuses)
        all += fmt::format(".TP\n.B {}\n{}\n", status, roff(meaning));
    return text + section("EXIT STATUS", all);
}

}  // namespace

int man(arguments given)
{
    command_line line("man", "Print redlock(1), or the page of a command.");
    std::string name;
    bool names = false;
    line.add_option("COMMAND", name, "the command");
    line.add_flag("--list", names, "print the names of all pages");
    line.is_about_ourselves();
    line.read(std::move(given));

    auto const all = describe_all();
    if (names) {
        std::string text = "redlock\n";
        for (auto const& c : all)
            text += fmt::format("redlock-{}\n", c.name);
        print(text);
        return done;
    }
    auto const known = std::ranges::find(all, name, &command_text::name);
    if (!name.empty() && known == all.end())
        line.refuse(fmt::format("there is no command \"{}\"", without_urls(name)));
    print(name.empty() ? manual_page(all) : manual_page(*known));
    return done;
}

}  // namespace redlock::cli
