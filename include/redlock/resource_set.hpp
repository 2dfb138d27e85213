#pragma once

#include <redlock/detail/recycler.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace redlock::inline v1 {

namespace detail {

template <class T>
concept text = std::convertible_to<T, std::string_view> || std::convertible_to<T, std::string>;

template <class T>
std::string to_name(T&& name)
{
    if constexpr (std::convertible_to<T, std::string>)
        return std::forward<T>(name);
    else
        return std::string(std::string_view(std::forward<T>(name)));
}

}  // namespace detail

/** The names to lock together: sorted by their bytes, each once.

    Made from one text, from several in braces, or from a range of texts:
    @code
    locks.async_acquire("order:7", …);
    locks.async_acquire({"order:7", "stock:12"}, …);
    locks.async_acquire(names, …);  // std::vector<std::string>, std::set<std::string_view>, …
    @endcode

    The names are copied. A lock on a set holds all of its names, or nothing. Each name excludes other locks as if it
    were locked alone. So an acquisition of one of the names waits for the set, and the set waits for it.
    `lock_manager::async_acquire` has the limits.

    @par Thread safety
    A value: distinct objects are safe.
*/
class resource_set {
    using names_type = std::vector<std::string, detail::recycler<std::string>>;

public:
    /// Makes an empty set, which cannot be locked.
    resource_set() = default;

    /// Makes a set of one name.
    template <class Name>
        requires(detail::text<Name> && !std::same_as<std::remove_cvref_t<Name>, resource_set>)
    resource_set(Name&& name)
    {
        names_.push_back(detail::to_name(std::forward<Name>(name)));
    }

    /// Makes a set of several names, in braces. A name that comes twice counts once. (Not an initializer list: g++ 12
    /// cannot compile one within a `co_await`.)
    template <class... Names>
        requires(sizeof...(Names) > 1 && (detail::text<Names> && ...))
    resource_set(Names&&... names)
    {
        names_.reserve(sizeof...(names));
        (names_.push_back(detail::to_name(std::forward<Names>(names))), ...);
        put_in_order();
    }

    /// Makes a set of the names of a range. A name that comes twice counts once.
    template <std::ranges::input_range Names>
        requires(!detail::text<Names> && !std::same_as<std::remove_cvref_t<Names>, resource_set>
                 && detail::text<std::ranges::range_reference_t<Names>>)
    resource_set(Names&& names)
    {
        for (auto&& name : names)
            names_.push_back(detail::to_name(std::forward<decltype(name)>(name)));
        put_in_order();
    }

    /// The names, sorted by their bytes, without duplicates. Valid until the set is assigned to or destroyed.
    std::span<std::string const> names() const noexcept { return names_; }
    std::size_t size() const noexcept { return names_.size(); }  ///< The number of names.
    auto begin() const noexcept { return names_.begin(); }       ///< The first of the names, in their order.
    auto end() const noexcept { return names_.end(); }           ///< The end of the names.

    /// Whether both have the same names.
    friend bool operator==(resource_set const&, resource_set const&) = default;

private:
    void put_in_order()
    {
        std::sort(names_.begin(), names_.end());
        names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
    }

    names_type names_;
};

/** The slots of a semaphore: `slots("mailer", 3)` is `mailer:1`, `mailer:2` and `mailer:3`.

    `lock_manager::async_acquire_any` of them acquires one permit. `lock_manager::async_acquire` of them acquires all
    permits, and so excludes every other holder.

    They are names as all others: a lock on `mailer:2`, however it was acquired, has that permit. Clients that name
    fewer slots share these with clients that name more. So you can change the number while processes run; until the
    last process has changed it, the larger number holds.

    @return the names; an empty set for a @p count of zero

    @param name The beginning of all names.
    @param count 1 to 64 to acquire any, 1 to 256 to acquire all. Acquisitions refuse other sets.
*/
inline resource_set slots(std::string_view name, std::size_t count)
{
    std::vector<std::string> names;
    for (std::size_t i = 1; i <= count; ++i)
        names.push_back(std::string(name).append(":").append(std::to_string(i)));
    return names;
}

}  // namespace redlock
