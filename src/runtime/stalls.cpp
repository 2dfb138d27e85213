#include "runtime/stalls.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace redlock::inline v1::runtime {

namespace {

// On a busy machine, shorter delays are usual.
constexpr clock::duration shortest = std::chrono::milliseconds(10);

}  // namespace

void stalls::rang(clock::time_point due, clock::time_point now) noexcept
{
    all_.add(now - due);
    if (now - due >= shortest)
        latest_[next_++ % latest_.size()] = {now, now - due};
}

clock::duration stalls::longest(clock::time_point since, clock::time_point untold) const noexcept
{
    clock::duration longest{0};
    for (auto const& s : latest_) {
        if (s.ended > since && s.ended - s.length > untold)
            longest = std::max(longest, s.length);
    }
    return longest;
}

std::string shown_time(clock::duration d)
{
    if (d < std::chrono::seconds(1))
        return fmt::format("{} ms", d / std::chrono::milliseconds(1));
    return fmt::format("{:.2f} s", std::chrono::duration<double>(d).count());
}

std::string about_stall(clock::duration d)
{
    return fmt::format("this process did not run the manager for {}: a handler blocks, or the process was paused",
                       shown_time(d));
}

}  // namespace redlock::runtime
