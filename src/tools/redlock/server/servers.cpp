#include "tools/redlock/server/servers.hpp"

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <future>
#include <optional>
#include <stdexcept>
#include <utility>

namespace redlock::cli {

namespace {

constexpr std::chrono::milliseconds answer_min(1000);  // node_timeout is meant for a vote; SCAN may take longer

}  // namespace

servers::servers(asio::any_io_executor executor, settings const& s, std::string_view command)
{
    ask_limits const limits{s.locks.connect_timeout, std::max(s.locks.node_timeout, answer_min)};
    for (auto const& url : s.locks.nodes) {
        if (!is_server(url))
            throw early_exit(
                wrong_configuration,
                fmt::format("redlock {}: needs the address of each Redis or Valkey server; {} is not such an address",
                            command, name_of(url)));
        try {
            all_.push_back(std::make_unique<server>(executor, url, s.locks, limits));
        } catch (std::invalid_argument const& e) {
            throw early_exit(wrong_configuration, fmt::format("redlock {}: {}", command, e.what()));
        }
    }
    include_all();
}

asio::awaitable<answers> servers::ask_one(std::size_t i, questions what)
{
    if (what.empty())
        co_return answers();
    if (!left_out_[i].empty())
        co_return answers{std::vector<reply>(what.size(), reply{reply::kind::silence, left_out_[i], {}})};
    auto const sent = std::chrono::steady_clock::now();
    auto replies = co_await all_[i]->ask_all(std::move(what));
    left_out_[i] = all_[i]->trouble();
    auto const took = std::chrono::steady_clock::now() - sent;
    co_return answers{std::move(replies), std::chrono::duration_cast<std::chrono::microseconds>(took)};
}

asio::awaitable<std::vector<answers>> servers::ask(std::vector<questions> each)
{
    auto const executor = co_await asio::this_coro::executor;
    auto const start = [&](std::size_t i) {
        return asio::co_spawn(executor, ask_one(i, std::move(each[i])), asio::deferred);
    };
    std::vector<decltype(start(0))> asked;
    for (std::size_t i = 0; i < all_.size(); ++i)
        asked.push_back(start(i));
    auto [order, failures, all] = co_await asio::experimental::make_parallel_group(std::move(asked))
                                      .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    for (auto const& failure : failures) {
        if (failure)
            std::rethrow_exception(failure);
    }
    co_return std::move(all);
}

asio::awaitable<std::vector<answers>> servers::ask_all(questions what)
{
    return ask(std::vector<questions>(all_.size(), what));
}

bool is_refused(reply const& answer)
{
    constexpr std::array refusals{"NOPERM", "NOAUTH", "WRONGPASS", "ERR AUTH", "ERR invalid password"};
    return std::ranges::any_of(refusals, [&](auto const* r) { return answer.said.starts_with(r); });
}

int with_servers(settings const& s, std::string_view command, std::function<asio::awaitable<int>(servers&)> const& body)
{
    asio::io_context context(1);
    std::optional<servers> all(std::in_place, context.get_executor(), s, command);
    auto status = asio::co_spawn(context, body(*all), asio::use_future);
    while (status.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
        if (context.run_one() == 0)
            return failed;
    }
    all.reset();
    context.restart();
    context.poll();  // closes the connections, which keep themselves alive until then
    return status.get();
}

}  // namespace redlock::cli
