#pragma once

#include "quorum/node_set.hpp"

#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

/// The name of a resource as it may be shown: of bounded length, and without what could disturb a terminal or a log.
class shown_name {
public:
    explicit shown_name(std::string_view resource) noexcept;
    operator std::string_view() const noexcept { return {text_, size_}; }

private:
    void add(std::string_view) noexcept;

    static constexpr std::size_t size_max = 64;
    char text_[size_max + 3];  // and "…"
    std::size_t size_ = 0;
};

/// For people: which resource, and what became of it. Without what could disturb a terminal.
std::string about(std::string_view resource, std::string_view what);

/// What to tell a person about an acquisition that ended with `outcome`. Its message is not read.
std::string explain(config const&, node_set const&, std::string const& resource, acquire_options const&, attempt_report const&);

/// Which nodes did not vote, and why; how many of those that did have granted, and how many would have to. Empty if nobody is missing.
std::string missing_votes(std::vector<node_report> const&, std::size_t needed);

}  // namespace redlock::detail
