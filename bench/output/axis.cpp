#include "output/axis.hpp"

#include <algorithm>
#include <cmath>

namespace redlock::bench {

namespace {

/// 1, 2 or 5 times a power of ten: the step that makes about five of @p range.
double nice_step(double range)
{
    auto const rough = range / 5;
    auto const power = std::pow(10.0, std::floor(std::log10(rough)));
    auto const digit = rough / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

/// The @p n-th of …, 1, 2, 5, 10, 20, 50, 100, …; the first of these is 1.
double one_two_five(int n)
{
    auto const decade = int(std::floor(n / 3.0));
    double const digits[] = {1, 2, 5};
    return digits[n - decade * 3] * std::pow(10.0, decade);
}

/// Which of them is the greatest that is not above @p value.
int below(double value)
{
    auto n = int(std::floor(std::log10(value))) * 3 + 3;
    while (one_two_five(n) > value * (1 + 1e-9))  // 0.1 + 0.2 is a 0.3, too
        --n;
    return n;
}

int above(double value)
{
    auto const n = below(value);
    return one_two_five(n) >= value * (1 - 1e-9) ? n : n + 1;
}

}  // namespace

scale::scale(axis const& a, std::vector<double> const& values)
    : logarithmic_(a.logarithmic), low_(a.low), high_(a.high), ticks_(a.ticks)
{
    for (double v : values) {
        if (std::isfinite(v) && (v > 0 || !logarithmic_)) {
            low_ = std::min(low_, v);
            high_ = std::max(high_, v);
        }
    }
    if (!(low_ <= high_)) {  // nothing to show
        low_ = 1;
        high_ = 10;
    }
}

scale scale::exact(axis const& a, std::vector<double> const& values)
{
    scale s(a, values);
    if (s.low_ == s.high_) {  // a single value stands in the middle
        auto const room = std::max(std::abs(s.low_) / 2, 0.5);
        s.low_ = s.logarithmic_ ? s.low_ / 2 : s.low_ - room;
        s.high_ = s.logarithmic_ ? s.high_ * 2 : s.high_ + room;
    }
    s.choose_ticks(a);
    return s;
}

scale scale::rounded(axis const& a, std::vector<double> const& values)
{
    scale s(a, values);
    if (s.logarithmic_)
        s.round_logarithmic();
    else
        s.round_linear();
    s.choose_ticks(a);
    return s;
}

void scale::round_linear()
{
    low_ = std::min(low_, 0.0);
    high_ = high_ > low_ ? high_ : low_ + 1;
    auto const step = nice_step(high_ - low_);
    low_ = std::floor(low_ / step) * step;
    high_ = std::ceil(high_ / step - 1e-9) * step;
}

void scale::round_logarithmic()
{
    auto const first = below(low_);
    low_ = one_two_five(first);
    high_ = one_two_five(std::max(above(high_), first + 1));
}

void scale::choose_ticks(axis const& a)
{
    if (!ticks_.empty())
        return;
    auto const add = [&](double value) {
        if (shows(value))
            ticks_.push_back({value, a.text ? a.text(value) : std::string()});
    };
    if (!logarithmic_) {
        auto const step = nice_step(high_ - low_);
        auto const first = std::ceil(low_ / step - 1e-9);
        for (int i = 0; i < 12; ++i)
            add((first + i) * step);
        return;
    }
    auto const first = below(low_), last = above(high_);
    int const every = last - first <= 7 ? 1 : 3 * std::max(1, (last - first) / 18);  // all, or whole decades
    for (int n = first; n <= last; ++n) {
        if (n % every == 0)
            add(one_two_five(n));
    }
}

bool scale::shows(double value) const
{
    if (!std::isfinite(value) || (logarithmic_ && value <= 0))
        return false;
    auto const at = place(value);
    return at > -1e-6 && at < 1 + 1e-6;
}

double scale::place(double value) const
{
    if (logarithmic_)
        return (std::log(value) - std::log(low_)) / (std::log(high_) - std::log(low_));
    return (value - low_) / (high_ - low_);
}

}  // namespace redlock::bench
