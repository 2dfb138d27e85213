#include "nodes.hpp"

#include <iterator>

namespace shop {

nodes::nodes(std::size_t count)
{
    for (std::size_t i = 0; i < count; ++i)
        servers_.emplace_back();
}

std::vector<std::string> nodes::urls() const
{
    std::vector<std::string> all;
    for (auto const& s : servers_)
        all.push_back(s.url());
    return all;
}

bool nodes::act(std::string_view what, std::size_t number)
{
    std::scoped_lock const guard(mutex_);
    if (number < 1 || number > servers_.size())
        return false;
    auto& server = *std::next(servers_.begin(), static_cast<std::ptrdiff_t>(number - 1));
    if (what == "stop" && server.pid() > 0)
        server.pause();
    else if (what == "resume" && server.pid() > 0)
        server.resume();
    else if (what == "kill" && server.pid() > 0)
        server.kill();
    else if (what == "start" && server.pid() <= 0)
        server.launch();
    else
        return false;
    return true;
}

}  // namespace shop
