#pragma once

#include "fault/request_loop.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace redlock::test {

/// A request of a client about the counter that its lock protects. All clocks are those of one machine.
struct request {
    enum class kind : std::uint8_t { enter, write };
    kind what = kind::enter;
    std::uint8_t counter = 0;
    std::uint64_t acquisition = 0;  ///< different for each acquisition, even with equal tokens
    std::uint64_t token = 0;
    std::int64_t began = 0;     ///< nanoseconds of the monotonic clock, before the acquisition
    std::int64_t acquired = 0;  ///< nanoseconds of the monotonic clock, after the acquisition
    std::uint64_t value = 0;    ///< to write
};

struct answer {
    std::uint64_t accepted = 0;
    std::uint64_t value = 0;
};

/** Keeps counters for other processes, with or without a fence, and counts errors.

    It recognises stale operations by the clock, and not by the token. An operation is stale if a later lock has entered
    before it. A later lock was asked for after the operation's own lock had been acquired. With a fence, the arbiter
    must refuse stale operations.
*/
class arbiter {
public:
    static constexpr std::size_t counters = 3;

    struct record {
        std::uint64_t acknowledged = 0;  ///< accepted updates
        std::uint64_t lost = 0;          ///< accepted updates that are missing in the counters at the end
        std::uint64_t refused = 0;       ///< operations that the fence refused
        std::uint64_t stale = 0;         ///< stale operations that were accepted
        std::uint64_t twice = 0;         ///< tokens of several acquisitions, and zeros
        std::uint64_t falling = 0;       ///< tokens not above that of an acquisition that had ended before theirs began
    };

    explicit arbiter(bool fenced) : fenced_(fenced) {}

    request_loop& requests() noexcept { return requests_; }

    /// Called once. Afterwards, requests get no answers.
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
        std::int64_t latest_began = 0;                 // of all acquisitions that have entered
        std::map<std::uint64_t, request> entries;      // by acquisition, accepted or not
        std::map<std::uint64_t, std::uint64_t> owner;  // the acquisition of each token
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

    // A token must be above the token of each acquisition that had ended before its own began.
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
