#include "tools/redlock/commands/key_scan.hpp"

#include <algorithm>
#include <functional>
#include <iterator>

namespace redlock::cli {

namespace {

constexpr std::size_t keys_at_once = 500;

}  // namespace

std::uint64_t fingerprint_of(std::string_view text) { return std::hash<std::string_view>()(text); }

void scan_place::take(reply const& page, std::vector<std::string>& keys)
{
    if (page.what != reply::kind::list || page.elements.size() != 2) {
        trouble = page.failed() ? page.text : "its answer to SCAN has an unknown form";
        is_refused = cli::is_refused(page);
        is_scanned = true;
        return;
    }
    cursor = page.elements[0].text;
    is_scanned = cursor == "0";
    std::ranges::transform(page.elements[1].elements, std::back_inserter(keys), &reply::text);
}

std::vector<std::string> take_some(std::vector<std::string>& found)
{
    auto const first = found.end() - static_cast<std::ptrdiff_t>(std::min(found.size(), keys_at_once));
    std::vector<std::string> some(std::make_move_iterator(first), std::make_move_iterator(found.end()));
    found.erase(first, found.end());
    return some;
}

}  // namespace redlock::cli
