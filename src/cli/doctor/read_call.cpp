#include "cli/doctor/read_call.hpp"

#include "cli/description.hpp"
#include "cli/server.hpp"
#include "cli/server_place.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

namespace {

// These do not change what is found.
constexpr std::array<std::string_view, 9> left_out{"url",   "owner", "output", "color",  "verbose",
                                                   "quiet", "watch", "help",   "version"};

// Whether the first line of the file was written on Windows.
bool ends_in_cr(std::string const& path)
{
    std::ifstream file(path);
    std::string first;
    return std::getline(file, first) && first.ends_with('\r');
}

}  // namespace

call read_call(command_line const& line, settings const& s)
{
    call c;
    for (auto const* o : line.get_options()) {
        auto const name = o->get_lnames().empty() ? std::string() : o->get_lnames().front();
        if (o->count() == 0 || name.empty() || std::ranges::find(left_out, name) != left_out.end())
            continue;
        auto& group = o->get_group() == global_group ? c.of_all : c.own;
        group.emplace_back("--" + name, o->get_expected_max() == 0 ? std::string() : o->results().back());
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
