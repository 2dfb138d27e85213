#pragma once

#include "output/axis.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace redlock::bench {

using points = std::vector<std::pair<double, double>>;

/// The library's line, solid, and its floor's, dashed, in the same colour and with the same shape of points.
struct line {
    std::string name;
    points library = {};
    points floor = {};
};

struct chart {
    std::string title;
    axis x = {};
    axis y = {};
    std::vector<line> lines = {};
    std::vector<tick> marks = {};       ///< vertical lines with a text
    std::optional<tick> reference = {};     ///< a horizontal one
};

/// For text and for attributes.
std::string escaped(std::string_view text);

/// An image of its own, which scales to the width it is given. Its colours are the page's.
std::string to_svg(chart const& c);

}  // namespace redlock::bench
