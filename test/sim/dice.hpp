#pragma once

#include <redlock/clock.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>

namespace redlock::sim {

/// The random numbers of a simulated world. The same seed gives the same numbers on every machine.
class dice {
public:
    explicit dice(std::uint64_t seed) : state_(seed) {}

    std::uint64_t roll()  // splitmix64
    {
        auto z = state_ += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    /// 0 <= fraction < 1
    double fraction() { return static_cast<double>(roll() >> 11) * 0x1.0p-53; }

    bool chance(double p) { return p > 0 && fraction() < p; }

    std::size_t below(std::size_t n) { return static_cast<std::size_t>(roll() % n); }

    clock::duration between(clock::duration low, clock::duration high)
    {
        return low + clock::duration(static_cast<clock::rep>(static_cast<double>((high - low).count()) * fraction()));
    }

    /// Logarithmic: a value between 1 and 10 is as likely as one between 10 and 100. Most are short, and some are long.
    clock::duration spread(clock::duration low, clock::duration high)
    {
        auto const ratio = static_cast<double>(high.count()) / static_cast<double>(low.count());
        return clock::duration(static_cast<clock::rep>(static_cast<double>(low.count()) * std::pow(ratio, fraction())));
    }

private:
    std::uint64_t state_;
};

}  // namespace redlock::sim
