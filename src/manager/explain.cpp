#include "manager/explain.hpp"

#include "core/check.hpp"
#include "manager/engine.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace redlock::detail {

namespace {

constexpr std::size_t resource_shown = 64;
constexpr std::size_t nodes_shown = 9;

}  // namespace

std::string about(std::string_view resource, std::string_view what)
{
    std::string name(resource.substr(0, resource_shown));
    for (auto& c : name) {
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
            c = '?';
    }
    return fmt::format("redlock: {} \"{}{}\"", what, name, resource.size() > resource_shown ? "…" : "");
}

std::string explain(engine const& e, std::string const& resource, acquire_options const& options, attempt_report const& r)
{
    auto text = about(resource, "cannot hold") + ": ";
    if (r.outcome == errc::invalid_argument) {
        auto wrong = core::check_resource(resource, e.settings().prefix);
        return text + (wrong.empty() ? core::check(options, e.settings()) : wrong);
    }
    text += r.outcome.message();
    if (r.quarantine.count() > 0)
        text += fmt::format("; a majority votes again in {} ms", r.quarantine.count());
    if (r.outcome == asio::error::operation_aborted)
        return text;
    auto const missing = missing_votes(r.nodes, e.quorum());
    return missing.empty() ? text : text + "; " + missing;
}

std::string missing_votes(std::vector<node_report> const& nodes, std::size_t needed)
{
    auto const votes = [&](vote v) { return std::count_if(nodes.begin(), nodes.end(), [v](auto& n) { return n.vote == v; }); };
    std::string reasons;
    std::size_t missing = 0;
    bool all_are_well = true;
    for (auto const& n : nodes) {
        if (n.vote != vote::unknown)
            continue;
        all_are_well = all_are_well && !n.error;
        if (++missing > nodes_shown)
            continue;
        reasons += fmt::format("{}{} ({}{}{})", reasons.empty() ? "" : ", ", n.name, n.error ? n.error.message() : "not waited for",
                               n.message.empty() ? "" : ": ", n.message);
    }
    if (all_are_well)
        return {};
    if (missing > nodes_shown)
        reasons += fmt::format(" and {} more", missing - nodes_shown);
    return fmt::format("{} of {} granted, {} denied, {} needed; no vote from {}", votes(vote::granted), nodes.size(),
                       votes(vote::denied), needed, reasons);
}

}  // namespace redlock::detail
