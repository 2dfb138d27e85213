#include "tools/redlock/args/description.hpp"

#include "tools/redlock/args/exit_status.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace redlock::cli {

namespace {

// CLI11 writes "FORMAT:{table,json,jsonl}".
std::vector<std::string> choices_in(std::string_view type)
{
    auto const begin = type.find(":{");
    if (begin == type.npos || !type.ends_with('}'))
        return {};
    std::vector<std::string> all;
    for (auto rest = type.substr(begin + 2, type.size() - begin - 3); !rest.empty();) {
        auto const end = std::min(rest.find(','), rest.size());
        all.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return all;
}

option_text describe(CLI::Option const& o)
{
    option_text text{.names = {},
                     .value = {},
                     .choices = {},
                     .about = o.get_description(),
                     .is_global = o.get_group() == global_group};
    for (auto const& name : o.get_lnames())
        text.names.push_back("--" + name);
    for (auto const& name : o.get_snames())
        text.names.push_back("-" + name);
    if (o.get_type_size() > 0) {
        text.choices = choices_in(o.get_type_name());
        text.value = o.get_type_name().substr(0, o.get_type_name().find(':'));
    }
    return text;
}

// A command that does not use a command_line has no options in its description.
command_text describe(command const& c)
{
    command_text text;
    try {
        c.run({describe_option});
    } catch (description const& d) {
        text = d.text();
    }
    text.name = c.name;
    text.takes = c.takes;
    text.line = c.about;
    return text;
}

}  // namespace

description::description(CLI::App const& app)
    : early_exit(wrong_usage,
                 fmt::format("{}: there is no option \"{}\"; --help lists them", app.get_name(), describe_option))
{
    text_.about = app.get_description();
    text_.notes = app.get_footer();
    for (auto const* o :
         app.get_options([](CLI::Option const* each) { return each->nonpositional() && !each->get_group().empty(); }))
        text_.options.push_back(describe(*o));
    for (auto const* o : app.get_options([](CLI::Option const* each) { return each->get_positional(); })) {
        if (text_.choices.empty())
            text_.choices = choices_in(o->get_type_name());
    }
}

std::vector<command_text> describe_all()
{
    std::vector<command_text> all;
    for (auto const& c : commands()) {
        if (!c.about.empty())
            all.push_back(describe(c));
    }
    return all;
}

}  // namespace redlock::cli
