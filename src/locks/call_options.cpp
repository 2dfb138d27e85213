#include <redlock/detail/call_options.hpp>

#include "locks/check.hpp"

#include <redlock/detail/recycler.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v1::detail {

namespace {

struct named_objects {
    std::shared_ptr<void const> context;
    std::basic_string<char, std::char_traits<char>, recycler<char>> texts;  ///< one after the other
};

}  // namespace

// If a text is too long, only one byte more than the limit is copied: the check then refuses it.
void call_options::copy()
{
    std::array const all{std::pair(&group, locks::group_max), std::pair(&note, locks::note_max),
                         std::pair(&owner, locks::owner_max), std::pair(&new_token, locks::token_max)};
    std::size_t size = 0;
    for (auto const& [text, most] : all) {
        *text = text->substr(0, most + 1);
        size += text->size();
    }
    auto const kept = make_recycled<named_objects>();
    kept->texts.reserve(size);  // the views must stay valid
    for (auto const& [text, most] : all) {
        auto const begin = kept->texts.size();
        kept->texts += *text;
        *text = std::string_view(kept->texts).substr(begin);
    }
    if (context)
        kept->context = *context;
    context = kept->context ? &kept->context : nullptr;
    kept_ = kept;
}

}  // namespace redlock::inline v1::detail
