#include "tools/redlock/commands/counter_move.hpp"

#include "core/fencing.hpp"
#include "core/key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace redlock::cli {

namespace {

constexpr char counter_pattern[] = "*:=fence*";
constexpr std::string_view counter_mark = ":=fence";

questions scores_of(std::vector<std::string> const& keys)
{
    questions all;
    for (auto const& key : keys)
        all.push_back({"ZSCORE", key, "token"});
    return all;
}

// A score is a double, and a server may write it with an exponent. Returns 0 if it is no token.
std::uint64_t token_in(std::string const& text)
{
    double value = 0;
    auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
    bool const is_token = ec == std::errc() && end == text.data() + text.size() && value >= 1
                          && value < static_cast<double>(core::fence_end) && std::floor(value) == value;
    return is_token ? static_cast<std::uint64_t>(value) : 0;
}

}  // namespace

counter_move::counter_move(servers& s, std::vector<moving_node> nodes, std::string prefix, bool dry_run)
    : servers_(s), prefix_(std::move(prefix)), dry_run_(dry_run), nodes_(std::move(nodes))
{
    for (auto& n : nodes_)
        n.is_scanned = !n.is_old;
}

bool counter_move::has_failed() const
{
    auto const old_nodes = std::ranges::count(nodes_, true, &moving_node::is_old);
    auto const answered = std::ranges::count_if(nodes_, [](auto const& n) { return n.is_old && n.trouble.empty(); });
    bool const is_one_missing =
        std::ranges::any_of(nodes_, [](auto const& n) { return n.is_new && !n.trouble.empty(); });
    return answered < old_nodes / 2 + 1 || is_one_missing;
}

asio::awaitable<void> counter_move::greet()
{
    auto const key = core::fence_key(prefix_ + "=nodes");
    auto const told = co_await servers_.ask_all(scores_of(std::vector<std::string>(1, key)));
    for (std::size_t i = 0; i < nodes_.size(); ++i)
        counter_of(nodes_[i], key, told[i].replies.front());
}

asio::awaitable<bool> counter_move::next()
{
    while (found_.empty() && !has_failed() && !std::ranges::all_of(nodes_, &moving_node::is_scanned))
        co_await find_more();
    if (found_.empty() || has_failed())
        co_return false;
    co_await move(take_some(found_));
    co_return !has_failed();
}

// Reads a page of keys from each old node whose scan is not complete.
asio::awaitable<void> counter_move::find_more()
{
    for (auto& n : nodes_)
        n.is_scanned = n.is_scanned || !n.trouble.empty();
    for (auto& key : co_await scan_on(servers_, nodes_, counter_pattern)) {
        if (core::mark_in(key) != counter_mark)
            continue;
        if (!key.starts_with(prefix_))
            foreign_ = key;
        else if (seen_.insert(fingerprint_of(key)).second)
            found_.push_back(std::move(key));
    }
}

asio::awaitable<void> counter_move::move(std::vector<std::string> keys)
{
    std::vector<questions> each(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (nodes_[i].trouble.empty())
            each[i] = scores_of(keys);
    }
    auto const told = co_await servers_.ask(std::move(each));
    std::vector<std::vector<std::uint64_t>> before(nodes_.size());
    std::vector<std::uint64_t> highest(keys.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        for (std::size_t k = 0; k < told[i].replies.size(); ++k) {
            before[i].push_back(counter_of(nodes_[i], keys[k], told[i].replies[k]));
            if (nodes_[i].is_old)
                highest[k] = std::max(highest[k], before[i].back());
        }
    }
    counters_ += keys.size();
    if (!has_failed())
        co_await raise(keys, highest, before);
}

asio::awaitable<void> counter_move::raise(std::vector<std::string> const& keys,
                                          std::vector<std::uint64_t> const& highest,
                                          std::vector<std::vector<std::uint64_t>> const& before)
{
    std::vector<questions> each(nodes_.size());
    std::vector<std::vector<std::size_t>> raised(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        for (std::size_t k = 0; nodes_[i].is_new && k < keys.size(); ++k) {
            if (before[i][k] >= highest[k])
                continue;
            raised[i].push_back(k);
            each[i].push_back({"ZADD", keys[k], "GT", std::to_string(highest[k]), "token"});
            each[i].push_back({"ZSCORE", keys[k], "token"});
        }
        if (dry_run_)
            nodes_[i].raised += raised[i].size();
    }
    if (dry_run_)
        co_return;
    auto const told = co_await servers_.ask(std::move(each));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        for (std::size_t r = 0; r < raised[i].size(); ++r) {
            auto const k = raised[i][r];
            auto const &answer = told[i].replies[2 * r], &after = told[i].replies[2 * r + 1];
            if (answer.failed())
                counter_of(nodes_[i], keys[k], answer);
            else if (counter_of(nodes_[i], keys[k], after) >= highest[k])
                ++nodes_[i].raised;
            else if (nodes_[i].trouble.empty())
                nodes_[i].trouble = fmt::format("{} is lower than {} after it was raised", keys[k], highest[k]);
        }
    }
}

// Returns 0 if the node has no such counter, or if the answer is an error, which it notes as n.trouble.
std::uint64_t counter_move::counter_of(moving_node& n, std::string const& key, reply const& r)
{
    if (r.what == reply::kind::nothing)
        return 0;
    auto const counter = r.failed() ? 0 : token_in(r.text);
    if (counter != 0 || !n.trouble.empty())
        return counter;
    n.is_refused = is_refused(r);
    n.trouble = r.what == reply::kind::silence ? r.text
                : r.failed()                   ? fmt::format("{} ({})", r.text, key)
                                               : fmt::format("{} is {}, which is no token", key, r.text);
    return 0;
}

}  // namespace redlock::cli
