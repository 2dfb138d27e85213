#include "tools/redlock/doctor/call.hpp"

#include "tools/redlock/args/command_line.hpp"
#include "tools/redlock/args/description.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "tools/redlock/server/server.hpp"
#include "tools/redlock/args/server_place.hpp"

#include <algorithm>
#include <array>
#include <fstream>

namespace redlock::cli::doctor {

namespace {

using options = std::vector<std::pair<std::string, std::string>>;

constexpr std::string_view password_option = "--password-file";

void set_option(options& all, std::string_view name, std::string value)
{
    std::erase_if(all, [=](auto const& o) { return o.first == name; });
    all.emplace_back(name, std::move(value));
}

std::string words_of(options const& all)
{
    std::string words;
    for (auto const& [name, value] : all)
        words += ' ' + name + (value.empty() ? "" : ' ' + shell_word(value));
    return words;
}

// Options that do not change the findings.
constexpr std::array<std::string_view, 10> left_out{"url",   "owner", "output", "color", "verbose",
                                                    "quiet", "watch", "label",  "help",  "version"};

// Whether the first line of the file ends with CR LF.
bool ends_in_cr(std::string const& path)
{
    std::ifstream file(path);
    std::string first;
    return std::getline(file, first) && first.ends_with('\r');
}

}  // namespace

call call::with(std::string_view option, std::string value) const
{
    auto changed = *this;
    constexpr std::string_view common[] = {password_option, "--ca-file", "--certificate-file", "--private-key-file",
                                           "--node-timeout"};
    set_option(std::ranges::find(common, option) != std::end(common) ? changed.of_all : changed.own, option,
               std::move(value));
    if (option == password_option)
        changed.names_nodes = true;  // without passwords, because a password in a URL has priority over the file
    return changed;
}

call call::with_node(std::string_view name, std::string url) const
{
    auto changed = *this;
    for (auto& n : changed.nodes) {
        if (n.name == name)
            n.url = url;
    }
    changed.names_nodes = true;
    return changed;
}

call call::without_node(std::string_view name) const
{
    auto changed = *this;
    std::erase_if(changed.nodes, [=](auto const& n) { return n.name == name; });
    changed.names_nodes = true;
    return changed;
}

call call::with_another_node(std::string url) const
{
    auto changed = *this;
    changed.nodes.push_back({.url = std::move(url)});
    changed.names_nodes = true;
    return changed;
}

bool call::has_node(std::string_view name) const
{
    return std::ranges::any_of(nodes, [=](auto const& n) { return n.name == name; });
}

std::string call::beginning() const
{
    auto common = of_all;
    std::string line = "redlock";
    if (names_nodes) {
        for (auto const& n : nodes)
            line += " -u " + shell_word(n.url);
        bool const has_file = std::ranges::any_of(common, [](auto const& o) { return o.first == password_option; });
        if (!has_file && std::ranges::any_of(nodes, &node::has_password))
            set_option(common, password_option, std::string(some_file));
    }
    return line + words_of(common);
}

std::string call::line() const { return beginning() + " doctor" + words_of(own); }

std::string call::line_of(std::string_view command, std::vector<std::string> const& words) const
{
    auto line = beginning().append(" ").append(command);
    for (auto const& word : words)
        line += ' ' + shell_word(word);
    return line;
}

call read_call(command_line const& line, settings const& s)
{
    call c;
    for (auto const* o : line.get_options()) {
        auto const name = o->get_lnames().empty() ? std::string() : o->get_lnames().front();
        if (o->count() == 0 || name.empty() || std::ranges::find(left_out, name) != left_out.end())
            continue;
        auto& group = o->get_group() == global_group ? c.of_all : c.own;
        if (o->get_expected_max() == 0)
            group.emplace_back("--" + name, std::string());
        else if (o->get_multi_option_policy() == CLI::MultiOptionPolicy::TakeLast)
            group.emplace_back("--" + name, o->results().back());
        else
            for (auto const& value : o->results())
                group.emplace_back("--" + name, value);
    }
    c.names_nodes = line.get_option("--url")->count() > 0;
    auto const& named = line.named_nodes();
    auto const files = line.get_option("--password-file")->results();
    for (std::size_t i = 0; i < s.locks.nodes.size(); ++i) {
        auto const& url = s.locks.nodes[i];
        bool const is_from_file = !files.empty() && named[i] != url;
        c.nodes.push_back({.name = name_of(url),
                           .url = without_password(url),
                           .password = is_from_file ? password_in(files.back(), ends_in_cr(files.back())) : "",
                           .has_password = !is_from_file && has_password(url)});
    }
    return c;
}

}  // namespace redlock::cli::doctor
