#include "cli/lock_scan.hpp"

#include "cli/output.hpp"
#include "core/key.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace redlock::cli {

namespace {

constexpr std::size_t keys_at_once = 500;
// The last byte to read of a value. Values of this library are shorter; another client's may have half a gigabyte.
constexpr char value_end[] = "511";
// The key with which a manager tests a server and its own permissions while it connects. It is no lock.
constexpr std::string_view trial = "=trial";

}  // namespace

std::uint64_t fingerprint_of(std::string_view text) { return std::hash<std::string_view>()(text); }

void scan_place::take(reply const& page, std::vector<std::string>& keys)
{
    if (page.what != reply::kind::list || page.elements.size() != 2) {
        trouble = page.failed() ? page.text : "its answer to SCAN has an unknown form";
        is_scanned = true;
        return;
    }
    cursor = page.elements[0].text;
    is_scanned = cursor == "0";
    std::ranges::transform(page.elements[1].elements, std::back_inserter(keys), &reply::text);
}

std::vector<std::string> take_some(std::vector<std::string>& found)
{
    auto const first = found.end() - static_cast<std::ptrdiff_t>(std::min(found.size(), keys_at_once));
    std::vector<std::string> some(std::make_move_iterator(first), std::make_move_iterator(found.end()));
    found.erase(first, found.end());
    return some;
}

lock_scan::lock_scan(servers& s, std::string prefix, std::string_view glob, tells what)
    : servers_(s),
      prefix_(std::move(prefix)),
      pattern_(escaped(prefix_, "*?[]^-\\").append(glob)),
      what_(what),
      nodes_(s.size())
{
}

std::size_t lock_scan::complete() const
{
    return static_cast<std::size_t>(std::ranges::count_if(nodes_, [](auto const& n) { return n.trouble.empty(); }));
}

asio::awaitable<std::vector<lock_view>> lock_scan::next()
{
    std::vector<lock_view> locks;
    while (locks.empty()) {
        while (found_.empty() && !std::ranges::all_of(nodes_, &scan_place::is_scanned)) {
            for (auto& key : co_await scan_on(servers_, nodes_, pattern_)) {
                if (is_lock(key) && seen_.insert(fingerprint_of(key)).second)
                    found_.push_back(std::move(key));
            }
        }
        if (found_.empty())
            break;
        locks = co_await read_locks(take_some(found_));
    }
    co_return locks;
}

bool lock_scan::is_lock(std::string_view key) const
{
    return key.size() > prefix_.size() && key.starts_with(prefix_) && core::mark_in(key).empty();
}

asio::awaitable<std::vector<lock_view>> lock_scan::read_locks(std::vector<std::string> keys)
{
    questions about;
    std::size_t const questions_each = what_ == tells::waiting ? 3 : 2;
    for (auto const& key : keys) {
        about.push_back({"GETRANGE", key, "0", value_end});
        about.push_back({"PTTL", key});
        if (what_ == tells::waiting)
            about.push_back({"HLEN", core::wanted_key(key)});
    }
    auto const told = co_await servers_.ask_all(std::move(about));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const& first = told[i].replies.front();
        if (first.what == reply::kind::silence && nodes_[i].trouble.empty())
            nodes_[i] = {.is_scanned = true, .trouble = first.text};
    }
    std::vector<lock_view> locks;
    for (std::size_t k = 0; k < keys.size(); ++k) {
        auto lock = view_of(keys[k], told, k * questions_each);
        bool const is_trial = lock.has == lock_state::foreign && lock.key.starts_with(trial);
        if (lock.is_there() && !is_trial)
            locks.push_back(std::move(lock));
    }
    co_return locks;
}

lock_view lock_scan::view_of(std::string const& key, std::vector<answers> const& told, std::size_t at)
{
    std::vector<node_view> nodes;
    std::int64_t waiting = 0;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        auto const& replies = told[i].replies;
        nodes.push_back(cli::view_of(servers_.name(i), replies[at], replies[at + 1]));
        if (what_ == tells::waiting)  // a node counts only processes that it has denied; take the highest count
            waiting = std::max(waiting, replies[at + 2].number().value_or(0));
    }
    auto lock = lock_view_of(key.substr(prefix_.size()), std::move(nodes));
    lock.waiting = static_cast<std::size_t>(waiting);
    return lock;
}

}  // namespace redlock::cli
