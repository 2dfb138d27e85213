#pragma once

#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// Options that a program may set for each store. An option without a value has the default of the store.
struct store_settings {
    std::optional<std::size_t> connections{};
    std::optional<std::chrono::milliseconds> timeout{};
};

/// A store that this program is linked with.
struct linked_store {
    std::string_view name;  ///< "etcd"
    store (*make)(store_settings const&);
};

/// The stores of this build. CMake generates the list.
std::vector<linked_store> const& linked_stores();

/// @return null if this build does not have the store
linked_store const* find_store(std::string_view name);

/// All stores of this build, with their default options.
std::vector<store> known_stores();

}  // namespace redlock::cli
