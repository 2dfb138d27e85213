#include "locks/look/lock_summary.hpp"

#include "core/key.hpp"
#include "core/quorum.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

namespace redlock::inline v1::locks {

namespace {

using namespace std::chrono_literals;

constexpr std::size_t clients_max = 64;

mode mode_of(std::string_view value) noexcept { return value == core::shared_word ? mode::shared : mode::exclusive; }

std::optional<std::chrono::system_clock::time_point> time_of(core::holder const& by)
{
    using std::chrono::milliseconds, std::chrono::system_clock;
    // Another client may have written any number.
    constexpr auto latest = std::chrono::floor<milliseconds>(system_clock::duration::max()).count();
    if (by.since == 0 || by.since > static_cast<std::uint64_t>(latest))
        return std::nullopt;
    return system_clock::time_point(milliseconds(by.since));
}

/// The readers and waiting clients that the nodes list, each once.
class clients {
public:
    void add(key_details const& of)
    {
        knows_readers_ = knows_readers_ || of.knows_readers;
        knows_waiters_ = knows_waiters_ || of.knows_waiters;
        for (auto const& r : of.readers) {
            auto& known = readers_[r.value];
            known.remaining = known.nodes++ == 0 ? r.remaining : std::max(known.remaining, r.remaining);
        }
        for (auto const& w : of.waiters) {
            auto [known, is_new] = waiters_.try_emplace(w.contender);
            auto& client = known->second;
            client.shares = w.shares && (is_new || client.shares);  // nodes may know different wishes of one client
            if (client.note.empty())
                client.note = w.note;
        }
    }

    void move_to(lock_info& info)
    {
        info.knows_readers = knows_readers_;
        info.knows_waiters = knows_waiters_;
        for (auto& [value, r] : readers_) {
            auto const by = core::holder_in(value);
            r.owner = by.owner;
            r.note = by.note;
            r.since = time_of(by);
            r.value = value;
            if (info.readers.size() < clients_max)
                info.readers.push_back(std::move(r));
        }
        for (auto& [contender, w] : waiters_) {
            w.owner = core::owner_of_contender(contender);
            w.id = contender;
            if (info.waiters.size() < clients_max)
                info.waiters.push_back(std::move(w));
        }
    }

private:
    bool knows_readers_ = false, knows_waiters_ = false;
    std::map<std::string, reader_info> readers_;
    std::map<std::string, waiting_info> waiters_;
};

}  // namespace

quorum::round_command to_inspect(manager_state const& state, std::string_view resource, bool watch)
{
    return {state.quorum, commands::inspect{.watch = watch},
            quorum::key_list{state.settings.prefix + std::string(resource)}, std::string(), 0ms};
}

lock_info summary_of(quorum::round const& answers, std::string_view resource)
{
    lock_info info{.resource = std::string(resource)};
    std::map<std::string, std::vector<std::chrono::milliseconds>> holders;
    clients others;
    for (auto const& b : answers.ballots) {
        auto const& r = b.reply;
        bool const locked = r.vote == vote::granted;
        auto& node = info.nodes.emplace_back(
            node_lock_info{.name = answers.quorum.nodes[b.node].name(), .error = r.error, .locked = locked});
        if (locked) {
            auto const by = core::holder_in(r.text);
            node.mode = mode_of(r.text);
            node.owner = by.owner;
            node.note = by.note;
            node.remaining = r.remaining;
            node.value = r.text;
            holders[r.text].push_back(r.remaining.count() < 0 ? std::chrono::milliseconds::max() : r.remaining);
        } else if (r.error) {
            node.message = r.text;
        }
        if (r.details)
            others.add(*r.details);
    }
    auto const needed = core::majority(info.nodes.size());
    for (auto& [value, remaining] : holders) {
        if (remaining.size() < needed)
            continue;
        // The lock keeps its majority until fewer than a majority of its keys are left.
        std::sort(remaining.begin(), remaining.end(), std::greater<>());
        info.locked = true;
        info.mode = mode_of(value);
        auto const by = core::holder_in(value);
        info.owner = by.owner;
        info.note = by.note;
        info.since = time_of(by);
        info.remaining = remaining[needed - 1];
    }
    others.move_to(info);
    return info;
}

bool is_known(lock_info const& info)
{
    auto const known = std::ranges::count_if(info.nodes, [](auto& n) { return !n.error; });
    return static_cast<std::size_t>(known) >= core::majority(info.nodes.size());
}

std::set<hold> exclusive_hold(lock_info const& info)
{
    for (auto const& n : info.nodes) {
        auto const is_same = [&](auto& other) { return other.locked && other.value == n.value; };
        auto const votes = static_cast<std::size_t>(std::ranges::count_if(info.nodes, is_same));
        if (n.locked && n.mode == mode::exclusive && votes >= core::majority(info.nodes.size()))
            return {{mode::exclusive, n.value}};
    }
    return {};
}

std::set<hold> holds_in(lock_info const& info)
{
    if (!info.locked || info.mode == mode::exclusive)
        return exclusive_hold(info);
    std::set<hold> all{{mode::shared, std::string()}};  // no reader may be known
    for (auto const& r : info.readers) {
        if (r.nodes >= core::majority(info.nodes.size()))
            all.emplace(mode::shared, r.value);
    }
    return all;
}

}  // namespace redlock::locks
