#pragma once

#include "fault/request_loop.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace redlock::test {

/// What a client asks of the counter that a lock protects. All clocks are those of one machine.
struct request {
    enum class kind : std::uint8_t { enter, write };
    kind what = kind::enter;
    std::uint8_t counter = 0;
    std::uint64_t acquisition = 0;  ///< tells the acquisitions apart, whatever their tokens
    std::uint64_t token = 0;
    std::int64_t began = 0;     ///< Nanoseconds on the monotonic clock, before the lock was asked for …
    std::int64_t acquired = 0;  ///< … and after it was there.
    std::uint64_t value = 0;    ///< to write
};

struct answer {
    std::uint64_t accepted = 0;
    std::uint64_t value = 0;
};

/** Keeps counters for other processes, behind a fence or without one, and counts what goes wrong.

    What is stale it knows from the clock, and not from the tokens: an operation is, once a lock that was asked for
    after the operation's own lock was there has entered. With a fence such an operation must be refused.
*/
class arbiter {
public:
    static constexpr std::size_t counters = 3;

    struct record {
        std::uint64_t acknowledged = 0;  ///< Updates that were accepted …
        std::uint64_t lost = 0;          ///< … and are not in the counters at the end.
        std::uint64_t refused = 0;       ///< operations, by the fence
        std::uint64_t stale = 0;         ///< operations that were accepted
        std::uint64_t twice = 0;         ///< tokens of more than one acquisition, and zeros
        std::uint64_t falling = 0;       ///< tokens not above that of an acquisition that was over before theirs began
    };

    explicit arbiter(bool fenced) : fenced_(fenced) {}

    request_loop& requests() noexcept { return requests_; }

    /// Once; no requests are answered any more.
    record stop()
    {
        requests_.stop();
        for (auto const& c : counters_) {
            record_.acknowledged += c.acknowledged;
            record_.lost += c.acknowledged - c.value;
            if (fenced_)
                inspect_order(c);
        }
        return record_;
    }

private:
    struct counter {
        std::uint64_t value = 0;
        std::uint64_t acknowledged = 0;
        std::uint64_t fence = 0;
        std::int64_t latest_began = 0;                 // of those that have entered
        std::map<std::uint64_t, request> entries;      // by acquisition, whether accepted or not
        std::map<std::uint64_t, std::uint64_t> owner;  // by token
    };

    answer decide(request const& r)
    {
        auto& c = counters_.at(r.counter);
        bool const entering = r.what == request::kind::enter;
        if (entering) {
            c.entries.emplace(r.acquisition, r);
            auto const owner = c.owner.emplace(r.token, r.acquisition).first->second;
            record_.twice += fenced_ && (r.token == 0 || owner != r.acquisition);
        }
        if (fenced_ && (entering ? r.token < c.fence : r.token != c.fence)) {
            ++record_.refused;
            return {false, c.value};
        }
        record_.stale += r.acquired < c.latest_began;
        if (entering) {
            c.fence = r.token;
            c.latest_began = std::max(c.latest_began, r.began);
        } else {
            c.value = r.value;
            ++c.acknowledged;
        }
        return {true, c.value};
    }

    // A token must be above that of each acquisition that was over before its own began.
    void inspect_order(counter const& c)
    {
        std::vector<request> by_begin;
        for (auto const& e : c.entries)
            by_begin.push_back(e.second);
        auto by_end = by_begin;
        std::sort(by_begin.begin(), by_begin.end(), [](auto& a, auto& b) { return a.began < b.began; });
        std::sort(by_end.begin(), by_end.end(), [](auto& a, auto& b) { return a.acquired < b.acquired; });
        std::uint64_t highest = 0;
        auto over = by_end.begin();
        for (auto const& r : by_begin) {
            for (; over != by_end.end() && over->acquired < r.began; ++over)
                highest = std::max(highest, over->token);
            record_.falling += r.token <= highest;
        }
    }

    bool const fenced_;
    std::array<counter, counters> counters_;
    record record_;
    request_loop requests_{answer_with<request>([this](request const& r) { return decide(r); })};
};

}  // namespace redlock::test
