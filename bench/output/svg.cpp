#include "output/svg.hpp"
#include "output/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace redlock::bench {

namespace {

// Units of the image. Text is 12 high, on narrow pages 16: there the image shrinks, and the page enlarges its letters.
constexpr double image_width = 480, left = 62, right = 466, plot_height = 214;
constexpr double letter = 8.8;  // the width of one, at most
constexpr double row = 20;      // of the legend, and of the marks' texts
constexpr std::size_t colours = 6;

double text_width(std::string_view text)
{
    return double(width(text)) * letter;
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view kind, std::string_view text)
{
    return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}\">{}</text>\n", x, y, anchor,
                       kind, escaped(text));
}

std::string straight(double x1, double y1, double x2, double y2, std::string_view kind)
{
    return fmt::format("<path class=\"{}\" d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\"/>\n", kind, x1, y1, x2, y2);
}

/// One shape per colour, so that nobody has to tell colours apart.
std::string point_at(double x, double y, std::size_t index, bool hollow)
{
    static char const* const shapes[colours] = {
        "M-4 0A4 4 0 1 1 4 0A4 4 0 1 1 -4 0Z", "M-3.6 -3.6H3.6V3.6H-3.6Z", "M0 -4.6L4.4 3.4H-4.4Z",
        "M0 -5L5 0L0 5L-5 0Z", "M0 4.6L4.4 -3.4H-4.4Z", "M-5 -1.5H-1.5V-5H1.5V-1.5H5V1.5H1.5V5H-1.5V1.5H-5Z"};
    return fmt::format("<path class=\"{} c{}\" transform=\"translate({:.1f} {:.1f})\" d=\"{}\"/>\n",
                       hollow ? "hollow" : "point", index % colours, x, y, shapes[index % colours]);
}

class drawing {
public:
    explicit drawing(chart const& c) : c_(c), x_(x_scale(c)), y_(y_scale(c))
    {
        place_marks();
        top_ = 36 + double(mark_rows_) * row;
        bottom_ = top_ + plot_height;
    }

    std::string draw()
    {
        draw_grid();
        draw_marks();
        for (std::size_t i = 0; i < c_.lines.size(); ++i) {
            draw_line(c_.lines[i].floor, i, true);
            draw_line(c_.lines[i].library, i, false);
        }
        auto const height = draw_legend();
        return fmt::format("<svg role=\"img\" viewBox=\"0 0 {:.0f} {:.0f}\">\n<title>{}</title>\n{}</svg>\n",
                           image_width, height, escaped(c_.title), out_);
    }

private:
    static scale x_scale(chart const& c)
    {
        std::vector<double> values;
        for (auto const& l : c.lines) {
            for (auto const* of : {&l.library, &l.floor})
                std::transform(of->begin(), of->end(), std::back_inserter(values), [](auto& p) { return p.first; });
        }
        return scale::exact(c.x, values);
    }

    static scale y_scale(chart const& c)
    {
        std::vector<double> values;
        for (auto const& l : c.lines) {
            for (auto const* of : {&l.library, &l.floor})
                std::transform(of->begin(), of->end(), std::back_inserter(values), [](auto& p) { return p.second; });
        }
        if (c.reference)
            values.push_back(c.reference->value);
        return scale::rounded(c.y, values);
    }

    double x(double value) const { return left + x_.place(value) * (right - left); }
    double y(double value) const { return bottom_ - y_.place(value) * (bottom_ - top_); }

    void draw_grid()
    {
        out_ += text_at(0, 14, "start", "label", c_.y.label);
        for (auto const& t : y_.ticks()) {
            out_ += straight(left, y(t.value), right, y(t.value), "grid");
            out_ += text_at(left - 8, y(t.value) + 4, "end", "tick", t.text);
        }
        out_ += straight(left, bottom_, right, bottom_, "base");
        double free = 0;  // where the next tick's text may begin
        for (auto const& t : x_.ticks()) {
            auto const half = text_width(t.text) / 2;
            if (!x_.shows(t.value) || x(t.value) - half < free)
                continue;
            free = x(t.value) + half;
            out_ += straight(x(t.value), bottom_, x(t.value), bottom_ + 4, "base");
            bool const cut = free > image_width;
            out_ += text_at(cut ? image_width : x(t.value), bottom_ + 21, cut ? "end" : "middle", "tick", t.text);
        }
        out_ += text_at(right, bottom_ + 42, "end", "label", c_.x.label);
        if (c_.reference && y_.shows(c_.reference->value)) {
            auto const at = y(c_.reference->value);
            out_ += straight(left, at, right, at, "reference");
            out_ += text_at(right, at - 5, "end", "label", c_.reference->text);
        }
    }

    struct placed_mark {
        double x, begin;  // of the text
        std::size_t row;
        std::string text;
    };

    /// Texts that would overlap go to rows of their own; more than four rows would leave no room for the lines.
    void place_marks()
    {
        std::vector<double> free;  // of each row: where the next text may begin
        for (auto const& m : c_.marks) {
            if (!x_.shows(m.value))
                continue;
            auto const text = shortened(m.text, 40);
            auto const begin = std::max(0.0, std::min(x(m.value) + 4, image_width - text_width(text)));
            std::size_t at = 0;
            while (at < free.size() && free[at] > begin)
                ++at;
            at = std::min<std::size_t>(at, 3);
            free.resize(std::max(free.size(), at + 1));
            free[at] = begin + text_width(text) + letter;
            marks_.push_back({x(m.value), begin, at, text});
        }
        mark_rows_ = free.size();
    }

    void draw_marks()
    {
        for (auto const& m : marks_) {
            auto const at = 26 + double(m.row + 1) * row;
            out_ += straight(m.x, at - 9, m.x, bottom_, "mark");
            out_ += text_at(m.begin, at, "start", "mark-text", m.text);
        }
    }

    /// On a single long line shapes would only be taken for events.
    bool has_points() const
    {
        return c_.lines.size() > 1 || !c_.lines[0].floor.empty() || c_.lines[0].library.size() <= 8;
    }

    void draw_line(points const& all, std::size_t index, bool dashed)
    {
        std::vector<std::pair<double, double>> shown;
        for (auto const& [px, py] : all) {
            if (x_.shows(px) && y_.shows(py))
                shown.emplace_back(x(px), y(py));
        }
        std::string d;
        for (auto const& [px, py] : shown)
            d += fmt::format("{}{:.1f} {:.1f}", d.empty() ? 'M' : 'L', px, py);
        if (shown.size() > 1)
            out_ += fmt::format("<path class=\"{} c{}\" d=\"{}\"/>\n", dashed ? "floor" : "line", index % colours, d);
        if (!has_points())
            return;
        // Every point of a few, some of many, and of each line others, so that they do not hide each other.
        auto const step = shown.size() <= 8 ? 1 : shown.size() / 6;
        auto const first = step == 1 ? 0 : (index * 2 + (dashed ? 1 : 0)) * step / (2 * c_.lines.size());
        for (std::size_t i = first; i < shown.size(); i += step)
            out_ += point_at(shown[i].first, shown[i].second, index, dashed);
    }

    void draw_sample(double at, double height, std::size_t index, bool dashed)
    {
        auto const kind = fmt::format("{} c{}", dashed ? "floor" : "line", index % colours);
        out_ += straight(at, height, at + 44, height, kind);
        if (has_points())
            out_ += point_at(at + 22, height, index, dashed);
    }

    /// Below the axis: a row per line. Returns where it ends.
    double draw_legend()
    {
        bool const floors = std::any_of(c_.lines.begin(), c_.lines.end(), [](auto& l) { return !l.floor.empty(); });
        auto at = bottom_ + 71;
        if (floors) {
            out_ += text_at(30, at, "middle", "label", "redlock");
            out_ += text_at(102, at, "middle", "label", "floor");
            at += row;
        }
        for (std::size_t i = 0; i < c_.lines.size(); ++i, at += row) {
            draw_sample(8, at - 4, i, false);
            if (!c_.lines[i].floor.empty())
                draw_sample(80, at - 4, i, true);
            out_ += text_at(floors ? 138 : 64, at, "start", "name", shortened(c_.lines[i].name, floors ? 38 : 46));
        }
        return at - row + 8;
    }

    chart const& c_;
    scale x_, y_;
    double top_ = 0, bottom_ = 0;
    std::vector<placed_mark> marks_;
    std::size_t mark_rows_ = 0;
    std::string out_;
};

}  // namespace

std::string escaped(std::string_view text)
{
    std::string out;
    for (char c : text) {
        switch (c) {
        case '&': out += "&amp;"; break;
        case '<': out += "&lt;"; break;
        case '>': out += "&gt;"; break;
        case '"': out += "&quot;"; break;
        case '\'': out += "&#39;"; break;
        default: out += (c >= 0 && c < ' ') || c == 0x7f ? ' ' : c;  // XML has no control characters
        }
    }
    return out;
}

std::string to_svg(chart const& c)
{
    return drawing(c).draw();
}

}  // namespace redlock::bench
