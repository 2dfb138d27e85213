#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::memory {

/// The readers of one lock, by value, each with the time of its end. It is efficient for thousands of readers.
class readers {
public:
    readers() = default;
    readers(std::initializer_list<std::pair<std::string, clock::time_point>> all)
    {
        for (auto const& [value, end] : all)
            add_or_extend(value, end);
    }

    /// Adds a reader, or prolongs it.
    void add_or_extend(std::string_view value, clock::time_point end)
    {
        auto const [known, is_new] = ends_.try_emplace(std::string(value), end);
        if (!is_new && known->second >= end)
            return;
        order_.erase({known->second, known->first});
        known->second = end;
        order_.emplace(end, known->first);
    }

    bool erase(std::string_view value)
    {
        auto const known = ends_.find(value);
        if (known == ends_.end())
            return false;
        order_.erase({known->second, known->first});
        ends_.erase(known);
        return true;
    }

    /// Removes expired readers.
    void erase_until(clock::time_point now)
    {
        while (!order_.empty() && order_.begin()->first <= now)
            erase(std::string(order_.begin()->second));
    }

    void clear() { *this = {}; }

    /// The time of a reader's end. The minimum if there is no such reader.
    clock::time_point end_of(std::string_view value) const
    {
        auto const known = ends_.find(value);
        return known == ends_.end() ? clock::time_point::min() : known->second;
    }
    /// Those that expire last, up to @p count of them, without those that have expired.
    std::vector<key_details::reader> last(std::size_t count, clock::time_point now) const
    {
        std::vector<key_details::reader> all;
        for (auto r = order_.rbegin(); r != order_.rend() && r->first > now && all.size() < count; ++r)
            all.push_back({r->second, std::chrono::duration_cast<std::chrono::milliseconds>(r->first - now)});
        return all;
    }

    bool contains(std::string_view value) const { return ends_.contains(value); }
    std::size_t size() const noexcept { return ends_.size(); }
    bool empty() const noexcept { return ends_.empty(); }

private:
    std::map<std::string, clock::time_point, std::less<>> ends_;
    std::set<std::pair<clock::time_point, std::string>> order_;
};

}  // namespace redlock::stores::memory
