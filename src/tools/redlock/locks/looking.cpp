#include "tools/redlock/locks/looking.hpp"

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/exit_status.hpp"
#include "tools/redlock/args/output.hpp"
#include "runtime/as_result.hpp"

#include <boost/json/object.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t locks_at_once = 500;
// The key with which a manager tests a server and its own permissions while it connects. It is no lock.
constexpr std::string_view trial = "=trial";

// @throws early_exit  unless @p ec is about the answers of the nodes
void must_be_answered(error_code ec, std::string_view command, std::string_view why = {})
{
    if (ec && ec != errc::no_quorum)
        throw early_exit(cli::status_of(ec), fmt::format("redlock {}: {}{}", command, ec.message(), why));
}

}  // namespace

// manager_options::node_timeout is meant for a vote. The first question to a server also needs the time to connect.
settings for_looking(settings s)
{
    auto& c = s.locks;
    c.read_only = true;
    c.restart_guard = restart_guard::off;
    c.allow_eviction = true;
    c.record = false;
    c.node_timeout = std::max(c.node_timeout, std::min(1000ms, c.max_ttl - 1ms));
    return s;
}

asio::awaitable<lock_view> look_at(lock_manager& locks, std::string key, std::string_view command)
{
    auto [ec, info] = co_await locks.async_inspect(std::move(key), runtime::as_result);
    must_be_answered(ec, command);
    co_return view_of(std::move(info));
}

asio::awaitable<std::vector<node_list_info>> list_all(lock_manager& locks, std::string glob, std::string_view command,
                                                      std::function<bool(std::vector<lock_view>)> each)
{
    std::vector<node_list_info> nodes;
    std::string next;
    do {
        auto [ec, page] =
            co_await locks.async_list(glob, {.page_size = locks_at_once, .from = next}, runtime::as_result);
        must_be_answered(ec, command, ec == errc::invalid_argument ? ": a pattern has at most 512 bytes" : "");
        add_errors(nodes, std::move(page.nodes));
        next = std::move(page.next);
        if (!each(views_of(std::move(page.locks))))
            break;
    } while (!next.empty());
    co_return nodes;
}

std::vector<lock_view> views_of(std::vector<lock_info> locks)
{
    std::vector<lock_view> views;
    for (auto& l : locks) {
        auto view = view_of(std::move(l));
        if (view.has != lock_state::foreign || !view.info.resource.starts_with(trial))
            views.push_back(std::move(view));
    }
    return views;
}

void add_errors(std::vector<node_list_info>& to, std::vector<node_list_info> page)
{
    to.resize(page.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
        if (!to[i].error)  // a page tells only the errors of its own
            to[i] = std::move(page[i]);
    }
}

boost::json::array json_of(std::vector<node_list_info> const& all)
{
    boost::json::array nodes;
    for (auto const& n : all) {
        boost::json::object node{{"name", n.name}, {"complete", n.complete}};
        if (!n.complete)
            node["error"] = valid_utf8(trouble_of(n));
        nodes.push_back(std::move(node));
    }
    return nodes;
}

}  // namespace redlock::cli
