#include "locks/explain.hpp"

#include "core/key.hpp"
#include "locks/check.hpp"

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace redlock::inline v0::detail {

namespace {

constexpr std::size_t nodes_shown = 9;

// How many bytes the character takes with which the text begins; 0: it is none in UTF-8, or one that controls something.
std::size_t printable_size(std::string_view text) noexcept
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    auto const first = byte(0);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    std::size_t const size = first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : first >= 0xf0 && first < 0xf5 ? 4 : 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    }
    bool const c1 = first == 0xc2 && byte(1) < 0xa0;
    return c1 ? 0 : size;
}

}  // namespace

shown_name::shown_name(resource_set const& resources, bool any) noexcept
{
    auto const first = resources.size() > 0 ? std::string_view(resources.names().front()) : std::string_view();
    auto const name = core::without_upgrade_mark(first);
    add(any && resources.size() > 1 ? "any of \"" : name != first ? "the right to upgrade \"" : "\"");
    add_name(name);
    add("\"");
    if (resources.size() < 2)
        return;
    char digits[20];
    add(" and ");
    add({digits, std::to_chars(digits, digits + sizeof digits, resources.size() - 1).ptr});
    add(" more");
}

void shown_name::add_name(std::string_view resource) noexcept
{
    auto const end = size_ + size_max;
    while (!resource.empty()) {
        auto const size = printable_size(resource);
        auto const piece = size > 0 ? resource.substr(0, size) : std::string_view("?");
        if (size_ + piece.size() > end) {
            add("…");
            return;
        }
        add(piece);
        resource.remove_prefix(std::max<std::size_t>(size, 1));
    }
}

void shown_name::add(std::string_view piece) noexcept
{
    std::copy(piece.begin(), piece.end(), text_ + size_);
    size_ += piece.size();
}

std::string about(selection const& selected, std::string_view what)
{
    return fmt::format("redlock: {} {}", what, std::string_view(shown_name(selected.resources, selected.any)));
}

std::string explain(config const& settings, node_set const& nodes, selection const& wanted, acquire_options const& options,
                    attempt_report const& r, std::string_view taken)
{
    std::string refused;
    if (r.outcome == errc::invalid_argument)
        refused = check(wanted, options, settings);
    if (r.outcome == errc::invalid_argument && refused.empty())
        refused = nodes.check_ttl(options.ttl);
    if (r.outcome == errc::unsupported)
        refused = nodes.lack(wanted, options.mode);
    return explain(nodes, wanted, "cannot hold", refused, r, taken);
}

std::string explain(node_set const& nodes, selection const& wanted, std::string_view what, std::string_view refused, attempt_report const& r,
                    std::string_view taken)
{
    auto text = about(wanted, what) + ": ";
    if (!refused.empty())
        return text.append(refused);
    text += r.outcome.message();
    if (!taken.empty())
        text += fmt::format(": \"{}\"", std::string_view(shown_name(taken)));
    if (r.quarantine.count() > 0)
        text += fmt::format("; a majority votes again in {} ms", r.quarantine.count());
    if (r.outcome == boost::asio::error::operation_aborted)
        return text;
    auto const missing = missing_votes(r.nodes, nodes.quorum());
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
