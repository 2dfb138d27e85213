#include "cli/doctor/call.hpp"

#include "cli/permissions.hpp"

#include <algorithm>

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

}  // namespace

call call::with(std::string_view option, std::string value) const
{
    auto changed = *this;
    constexpr std::string_view common[] = {password_option, "--ca-file", "--certificate-file", "--private-key-file",
                                           "--node-timeout"};
    set_option(std::ranges::find(common, option) != std::end(common) ? changed.of_all : changed.own, option,
               std::move(value));
    if (option == password_option)
        changed.names_nodes = true;  // without passwords: one in a URL comes before the file
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

std::string call::line() const
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
    return line + words_of(common) + " doctor" + words_of(own);
}

}  // namespace redlock::cli::doctor
