#include "tools/redlock/args/node_urls.hpp"

#include "tools/redlock/args/text_file.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace redlock::cli {

namespace {

constexpr std::string_view blanks = " \t\r";
constexpr std::array<std::string_view, 8> single{"redis", "rediss", "valkey", "valkeys",
                                                 "unix",  "memory", "http",   "https"};

// Whether the URL may have several hosts, separated by commas: redis-sentinel://one,two/name.
bool may_have_several_hosts(std::string_view url)
{
    auto const mark = url.find("://");
    return mark != url.npos && std::ranges::find(single, url.substr(0, mark)) == single.end();
}

}  // namespace

std::vector<std::string> split_urls(std::string_view text)
{
    std::vector<std::string> urls;
    while (!text.empty()) {
        auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(line.size() < text.size() ? line.size() + 1 : line.size());
        auto const first = line.find_first_not_of(blanks);
        if (first == line.npos || line[first] == '#')
            continue;
        bool goes_on = false;
        while (!line.empty()) {
            auto const end = std::min(line.find_first_of(" \t\r,"), line.size());
            auto const part = line.substr(0, end);
            if (goes_on && !part.empty() && part.find("://") == part.npos)
                urls.back().append(",").append(part);
            else if (!part.empty())
                urls.emplace_back(part);
            goes_on = end < line.size() && line[end] == ',' && !urls.empty() && may_have_several_hosts(urls.back());
            line.remove_prefix(std::min(end + 1, line.size()));
        }
    }
    return urls;
}

std::vector<std::string> urls_in_file(std::string const& path)
{
    std::ifstream file(path, std::ios::binary);
    std::string const text(std::istreambuf_iterator<char>(file), {});
    if (!file)
        throw std::runtime_error(path + " cannot be read");
    auto urls = split_urls(without_byte_order_mark(text));
    if (urls.empty())
        throw std::runtime_error(path + " names no lock server");
    return urls;
}

std::string in_environment(char const* variable)
{
    auto const* const text = std::getenv(variable);
    return text ? text : "";
}

std::vector<std::string> urls_in_environment() { return split_urls(in_environment("REDLOCK_NODES")); }

std::size_t width_of(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string without_urls(std::string_view argument)
{
    if (argument.find("://") == argument.npos && argument.find('@') == argument.npos)
        return std::string(argument);
    return argument.substr(0, 1) == "-" && argument.find('=') != argument.npos
               ? std::string(argument.substr(0, argument.find('=') + 1)) + "…"
               : "…";
}

}  // namespace redlock::cli
