#include "cli/lock_scan.hpp"

#include "core/key.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace redlock::cli {

namespace {

constexpr std::size_t keys_at_once = 500;
constexpr char scan_count[] = "1000";
constexpr char value_end[] = "511";  // no value of ours is as long, and one of somebody else's may be half a gigabyte
constexpr std::string_view trial = "=trial";

// So that SCAN takes it as it is.
std::string literal(std::string_view text)
{
    std::string pattern;
    for (char const c : text) {
        if (std::string_view("*?[]^-\\").find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern;
}

}  // namespace

std::size_t fingerprints::place_of(std::uint64_t bits) const noexcept
{
    auto place = bits % places_.size();
    while (places_[place] != 0 && places_[place] != bits)
        place = (place + 1) % places_.size();
    return place;
}

bool fingerprints::has(std::string_view text) const noexcept
{
    return places_[place_of(std::max<std::uint64_t>(std::hash<std::string_view>()(text), 1))] != 0;
}

bool fingerprints::add(std::string_view text)
{
    auto const bits = std::max<std::uint64_t>(std::hash<std::string_view>()(text), 1);
    auto& place = places_[place_of(bits)];
    if (place != 0)
        return false;
    place = bits;
    if (++size_ * 2 > places_.size()) {
        auto const before = std::exchange(places_, std::vector<std::uint64_t>(places_.size() * 2));
        for (auto const b : before) {
            if (b != 0)
                places_[place_of(b)] = b;
        }
    }
    return true;
}

lock_scan::lock_scan(servers& s, std::string prefix, std::string_view glob, tells what)
    : servers_(s), prefix_(std::move(prefix)), pattern_(literal(prefix_).append(glob)), what_(what), nodes_(s.size())
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
        while (found_.empty() && !std::ranges::all_of(nodes_, &node::is_scanned))
            co_await scan_on();
        if (found_.empty())
            break;
        auto const first = found_.end() - static_cast<std::ptrdiff_t>(std::min(found_.size(), keys_at_once));
        std::vector<std::string> keys(std::make_move_iterator(first), std::make_move_iterator(found_.end()));
        found_.erase(first, found_.end());
        locks = co_await look_at(std::move(keys));
    }
    co_return locks;
}

// A page of each server that has more.
asio::awaitable<void> lock_scan::scan_on()
{
    std::vector<questions> each(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!nodes_[i].is_scanned)
            each[i].push_back({"SCAN", nodes_[i].cursor, "MATCH", pattern_, "COUNT", scan_count});
    }
    auto const pages = co_await servers_.ask(std::move(each));
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!pages[i].replies.empty())
            take(nodes_[i], pages[i].replies.front());
    }
}

void lock_scan::take(node& n, reply const& page)
{
    if (page.what != reply::kind::list || page.elements.size() != 2) {
        n.trouble = page.failed() ? page.text : "what it answers to SCAN is not understood";
        n.is_scanned = true;
        return;
    }
    n.cursor = page.elements[0].text;
    n.is_scanned = n.cursor == "0";
    for (auto const& key : page.elements[1].elements) {
        if (is_lock(key.text) && met_.add(key.text))
            found_.push_back(key.text);
    }
}

bool lock_scan::is_lock(std::string_view key) const
{
    return key.size() > prefix_.size() && key.starts_with(prefix_) && core::mark_in(key).empty();
}

asio::awaitable<std::vector<lock_view>> lock_scan::look_at(std::vector<std::string> keys)
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
        bool const is_trial = lock.has == lock_state::foreign && lock.key.starts_with(trial);  // of a manager that connects
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
        if (what_ == tells::waiting)  // each node knows those that it has denied, so the one that knows most is nearest
            waiting = std::max(waiting, replies[at + 2].number().value_or(0));
    }
    auto lock = judge(key.substr(prefix_.size()), std::move(nodes));
    lock.waiting = static_cast<std::size_t>(waiting);
    return lock;
}

}  // namespace redlock::cli
