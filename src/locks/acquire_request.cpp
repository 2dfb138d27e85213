#include "locks/acquire_request.hpp"

#include <algorithm>

namespace redlock::inline v0::detail {

key_list acquire_request::keys() const
{
    key_list all;
    all.reserve(resources().size());
    for (auto const& resource : resources())
        all.push_back(key_of(resource));
    return all;
}

bool acquire_request::is_asked(round const& asked, std::string_view resource) const
{
    return std::ranges::any_of(asked.command.keys, [&](auto& key) { return name_of(key) == resource; });
}

}  // namespace redlock::detail
