#pragma once

#include <redlock/histogram.hpp>
#include <redlock/metrics_source.hpp>
#include <redlock/stats.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v1 {

namespace detail {

/// The upper bounds of buckets. A bound belongs to its bucket, as exactly as lengths are known.
struct metrics_bound {
    std::chrono::nanoseconds length;
    std::string_view seconds;  ///< in OpenMetrics' canonical form
};

inline constexpr std::array<metrics_bound, 20> metrics_bounds{{
    {std::chrono::microseconds(100), "0.0001"},
    {std::chrono::microseconds(250), "0.00025"},
    {std::chrono::microseconds(500), "0.0005"},
    {std::chrono::milliseconds(1), "0.001"},
    {std::chrono::microseconds(2500), "0.0025"},
    {std::chrono::milliseconds(5), "0.005"},
    {std::chrono::milliseconds(10), "0.01"},
    {std::chrono::milliseconds(25), "0.025"},
    {std::chrono::milliseconds(50), "0.05"},
    {std::chrono::milliseconds(100), "0.1"},
    {std::chrono::milliseconds(250), "0.25"},
    {std::chrono::milliseconds(500), "0.5"},
    {std::chrono::seconds(1), "1.0"},
    {std::chrono::milliseconds(2500), "2.5"},
    {std::chrono::seconds(5), "5.0"},
    {std::chrono::seconds(10), "10.0"},
    {std::chrono::seconds(30), "30.0"},
    {std::chrono::seconds(60), "60.0"},
    {std::chrono::minutes(5), "300.0"},
    {std::chrono::hours(1), "3600.0"},
}};

/// Writes metric families, each with the samples of all sources.
class metrics_writer {
public:
    using label = std::pair<std::string_view, std::string_view>;

    metrics_writer(std::span<metrics_source const> sources, metrics_format format) : sources_(sources), format_(format)
    {
    }

    /// @param samples called with the stats of each source; it calls @ref sample
    template <class F>
    void counter(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "counter", {}, help, "_total");
        of_all(samples);
    }

    template <class F>
    void gauge(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "gauge", {}, help, {});
        of_all(samples);
    }

    /// A family of durations, in seconds. @param samples calls @ref lengths
    template <class F>
    void durations(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "histogram", "seconds", help, {});
        of_all(samples);
    }

    /// Calls @p samples for each group, or once for all acquisitions if there are no groups.
    template <class F>
    auto by_group(F samples)
    {
        return [this, samples](stats const& s) {
            if (s.groups.empty())
                return samples(s);
            for (auto const& g : s.groups) {
                group_ = g.name;
                samples(g);
            }
            group_ = {};
        };
    }

    template <std::integral T>
    void sample(T value, std::initializer_list<label> labels = {})
    {
        line(suffix_, labels, static_cast<std::uint64_t>(value));
    }

    /// A value that may have a sign or a fraction.
    void sample(double value, std::initializer_list<label> labels = {}) { line(suffix_, labels, value); }

    void lengths(histogram const& h, std::initializer_list<label> labels = {})
    {
        auto const all = h.count();
        for (auto const& b : metrics_bounds)
            line("_bucket", labels, h.count_below(b.length), b.seconds);
        line("_bucket", labels, all, "+Inf");
        line("_sum", labels, std::chrono::duration<double>(h.sum()).count());
        line("_count", labels, all);
    }

    std::string finish()
    {
        if (format_ == metrics_format::openmetrics)
            text_ += "# EOF\n";
        return std::move(text_);
    }

private:
    void begin(std::string_view name, std::string_view type, std::string_view unit, std::string_view help,
               std::string_view suffix)
    {
        name_ = name;
        suffix_ = suffix;
        // OpenMetrics calls a family by what its samples' names have in common; Prometheus by the sample's whole name.
        auto const said =
            std::string(name).append(format_ == metrics_format::openmetrics ? std::string_view() : suffix);
        text_.append("# HELP ").append(said).append(" ").append(help);
        text_.append("\n# TYPE ").append(said).append(" ").append(type).append("\n");
        if (format_ == metrics_format::openmetrics && !unit.empty())
            text_.append("# UNIT ").append(said).append(" ").append(unit).append("\n");
    }

    template <class F>
    void of_all(F samples)
    {
        for (auto const& source : sources_) {
            source_ = &source;
            samples(source.stats);
        }
    }

    template <class T>
    void line(std::string_view suffix, std::initializer_list<label> labels, T value, std::string_view le = {})
    {
        text_.append(name_).append(suffix);
        char next = '{';
        auto add = [&](std::string_view name, std::string_view content) {
            text_ += std::exchange(next, ',');
            text_.append(name).append("=\"");
            quote(content);
            text_ += '"';
        };
        for (auto const& [name, content] : source_->labels)
            add(name, content);
        for (auto const& [name, content] : labels)
            add(name, content);
        if (!group_.empty())
            add("group", group_);
        if (!le.empty())
            add("le", le);
        if (next == ',')
            text_ += '}';
        std::array<char, 32> digits{};
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        text_.append(" ").append(digits.data(), end).append("\n");
    }

    void quote(std::string_view content)
    {
        for (char const c : content) {
            if (c == '\\' || c == '"')
                text_ += '\\';
            c == '\n' ? text_.append("\\n") : text_.append(1, c);
        }
    }

    std::span<metrics_source const> sources_;
    metrics_format format_;
    metrics_source const* source_ = nullptr;
    std::string_view name_, suffix_, group_;
    std::string text_;
};

}  // namespace detail

}  // namespace redlock
