// redlock man: the manual pages, as roff. They are made when the tool is installed.

#include "testbed/node_urls.hpp"
#include "tools/command_line.hpp"
#include "tools/commands.hpp"
#include "tools/exit_status.hpp"
#include "tools/output.hpp"
#include "tools/roff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

namespace redlock::tools {

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
        line.refuse(fmt::format("there is no command \"{}\"", testbed::without_urls(name)));
    print(name.empty() ? manual_page(all) : manual_page(*known));
    return done;
}

}  // namespace redlock::tools
