#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

struct tick {
    double value;
    std::string text;
};

/// What a chart asks of one of its axes.
struct axis {
    std::string label;                  ///< with its unit
    bool logarithmic = false;           ///< values of 0 and less are left out, then
    std::string (*text)(double) = nullptr;
    std::vector<tick> ticks = {};            ///< chosen if empty
    double low = std::numeric_limits<double>::infinity();  ///< it spans low to high at least
    double high = -std::numeric_limits<double>::infinity();
};

/// An axis with its range: values to places from 0 to 1.
class scale {
public:
    /// From the least to the greatest value, as they are.
    static scale exact(axis const& a, std::vector<double> const& values);

    /// Out to the next ticks; not logarithmic, from 0.
    static scale rounded(axis const& a, std::vector<double> const& values);

    bool shows(double value) const;
    double place(double value) const;
    std::vector<tick> const& ticks() const { return ticks_; }

private:
    explicit scale(axis const& a, std::vector<double> const& values);

    void round_linear();
    void round_logarithmic();
    void choose_ticks(axis const& a);

    bool logarithmic_;
    double low_, high_;
    std::vector<tick> ticks_;
};

}  // namespace redlock::bench
