#include "cli/waits.hpp"

#include "runtime/as_result.hpp"

#include <utility>

namespace redlock::cli {

namespace {

constexpr std::size_t waits_page = 500;

}  // namespace

asio::awaitable<waits> read_waits(lock_manager& locks, std::string pattern, std::size_t locks_max)
{
    waits seen;
    std::size_t read = 0;
    list_options options{.page_size = waits_page};
    do {
        auto [ec, page] = co_await locks.async_list(pattern, options, as_result);
        for (auto const& l : page.locks)
            seen.graph.add(l);
        seen.nodes.resize(page.nodes.size());
        for (std::size_t i = 0; i < page.nodes.size(); ++i) {
            if (seen.nodes[i].complete)  // a later page does not repeat the error
                seen.nodes[i] = std::move(page.nodes[i]);
        }
        seen.error = ec;
        read += page.locks.size();
        options.from = page.next;
    } while (!options.from.empty() && read < locks_max);
    seen.is_all = options.from.empty() && !seen.error && seen.graph.is_complete();
    co_return seen;
}

}  // namespace redlock::cli
