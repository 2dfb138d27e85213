#include "tools/redlock/locks/node_source.hpp"

#include "tools/redlock/locks/acquiring.hpp"
#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/locks/looking.hpp"
#include "runtime/as_result.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>

namespace redlock::cli {

asio::awaitable<error_code> node_locks::extend(std::chrono::milliseconds ttl)
{
    auto const [ec] = co_await lock_.async_extend(ttl, runtime::as_result);
    co_return ec;
}

asio::awaitable<error_code> node_locks::release()
{
    auto const [ec] = co_await lock_.async_release(runtime::as_result);
    co_return ec;
}

asio::awaitable<bool> node_locks::wait_lost()
{
    auto const [ec] = co_await lock_.async_wait_lost(runtime::as_result);
    co_return ec == errc::lost;
}

asio::awaitable<acquired> node_source::ask(how_to_acquire const& how)
{
    auto [ec, held] = co_await locks_.async_acquire(resource_set(how.keys), how.options(), runtime::as_result);
    auto const& report = *held.report();
    acquired result{.status = status_of(report), .message = report.message + ways_out(report.nodes)};
    result.is_unanswered = ec == errc::no_quorum && !lasting_status_of(report.nodes, [](auto&) { return true; });
    if (!ec)
        result.held = std::make_shared<node_locks>(std::move(held));
    co_return result;
}

asio::awaitable<lock_view> node_source::look_at(std::string key)
{
    return cli::look_at(locks_, std::move(key), command_);
}

asio::awaitable<std::vector<node_list_info>> node_source::list_all(std::string glob,
                                                                   std::function<bool(std::vector<lock_view>)> each)
{
    return cli::list_all(locks_, std::move(glob), command_, std::move(each));
}

asio::awaitable<deletion> node_source::take_away(lock_view const&, lock_info meant)
{
    bool const is_shared =
        std::ranges::any_of(meant.nodes, [](auto const& n) { return n.locked && n.mode == mode::shared; });
    if (is_shared && meant.readers.empty())
        co_return co_await delete_nobodys(std::move(meant));
    auto [ec, told] = co_await locks_.async_break(std::move(meant), runtime::as_result);
    deletion result{.error = ec, .nodes = std::move(told.nodes)};
    co_return result;
}

// Without a reader, the deletion of one without a name deletes the lock, but the answers do not tell it.
asio::awaitable<deletion> node_source::delete_nobodys(lock_info seen)
{
    seen.readers.emplace_back();
    auto [ec, told] = co_await locks_.async_break(seen, runtime::as_result);
    auto const now = co_await look_at(seen.resource);
    for (std::size_t i = 0; i < told.nodes.size(); ++i)
        told.nodes[i].deleted = told.nodes[i].deleted
                                || (seen.nodes[i].locked && state_of(now.info.nodes[i]) == lock_state::free);
    deletion result{.error = ec, .nodes = std::move(told.nodes)};
    co_return result;
}

}  // namespace redlock::cli
