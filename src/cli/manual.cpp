// redlock man: the manual pages, as roff. They are made when the tool is installed.

#include "cli/command_line.hpp"
#include "cli/commands.hpp"
#include "cli/exit_status.hpp"
#include "cli/node_urls.hpp"
#include "cli/output.hpp"
#include "cli/roff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace redlock::cli {

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
