#pragma once

#include <redlock/node.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace redlock::inline v1::testing {

/// The command of this kind, with the default of each member.
inline commands::variant command_of(node_command::kind k)
{
    return []<std::size_t... I>(std::size_t i, std::index_sequence<I...>) {
        std::array<commands::variant, sizeof...(I)> const all{commands::variant(std::in_place_index<I>)...};
        return all[i];
    }(static_cast<std::size_t>(k), std::make_index_sequence<std::variant_size_v<commands::variant>>());
}

// Each function sets a member that only some commands have. The other commands stay as they are.

template <class T, class Member>
void set_member(node_command& c, T const& value, Member member)
{
    std::visit(
        [&](auto& command) {
            if constexpr (std::is_invocable_v<Member, decltype(command)>)
                member(command) = value;
        },
        c.what);
}

inline void set_contender(node_command& c, std::string_view who)
{
    set_member(c, who, [](auto& a) -> decltype((a.contender)) { return a.contender; });
}

inline void set_note(node_command& c, std::string_view note)
{
    set_member(c, note, [](auto& a) -> decltype((a.note)) { return a.note; });
}

inline void set_fence(node_command& c, std::uint64_t fence)
{
    set_member(c, fence, [](auto& a) -> decltype((a.fence)) { return a.fence; });
}

inline void set_handed_on(node_command& c, commands::handovers h)
{
    set_member(c, h, [](auto& a) -> decltype((a.handed_on)) { return a.handed_on; });
}

inline void set_heal(node_command& c, bool heal)
{
    set_member(c, heal, [](auto& a) -> decltype((a.heal)) { return a.heal; });
}

inline void set_former(node_command& c, std::string_view former)
{
    set_member(c, former, [](auto& a) -> decltype((a.former)) { return a.former; });
}

}  // namespace redlock::testing
