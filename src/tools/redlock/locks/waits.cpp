#include "tools/redlock/locks/waits.hpp"

#include "tools/redlock/locks/looking.hpp"

#include <algorithm>
#include <utility>

namespace redlock::cli {

asio::awaitable<waits> read_waits(lock_manager& locks, std::string glob, std::string_view command,
                                  std::size_t locks_max)
{
    waits seen;
    std::size_t read = 0;
    seen.nodes = co_await list_all(locks, std::move(glob), command, [&](auto const& some) {
        for (auto const& l : some)
            seen.graph.add(l.info);
        read += some.size();
        return read < locks_max;
    });
    auto const complete = static_cast<std::size_t>(std::ranges::count(seen.nodes, true, &node_list_info::complete));
    seen.is_all = read < locks_max && seen.graph.is_complete() && complete >= seen.nodes.size() / 2 + 1;
    co_return seen;
}

}  // namespace redlock::cli
