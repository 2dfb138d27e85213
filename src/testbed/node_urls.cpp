#include "testbed/node_urls.hpp"

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace redlock::testbed {

namespace {

constexpr std::string_view blanks = " \t\r";

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
        while (!line.empty()) {
            auto const end = line.find_first_of(" \t\r,");
            if (end != 0)
                urls.emplace_back(line.substr(0, end));
            line = end == line.npos ? std::string_view{} : line.substr(end + 1);
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
    auto urls = split_urls(text);
    if (urls.empty())
        throw std::runtime_error(path + " names no lock server");
    return urls;
}

std::vector<std::string> urls_in_environment()
{
    auto const* const given = std::getenv("REDLOCK_NODES");
    return split_urls(given ? given : "");
}

std::string without_urls(std::string_view argument)
{
    if (argument.find("://") == argument.npos && argument.find('@') == argument.npos)
        return std::string(argument);
    return argument.substr(0, 1) == "-" && argument.find('=') != argument.npos ? std::string(argument.substr(0, argument.find('=') + 1)) + "…" : "…";
}

}  // namespace redlock::testbed
