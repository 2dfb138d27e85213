#pragma once

#include <redlock/store.hpp>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// Options that a program may set for each store. Without a value, the default of the store counts.
struct store_settings {
    std::optional<std::size_t> connections{};
    std::optional<std::chrono::milliseconds> timeout{};
};

/// A store that this program is linked with.
struct linked_store {
    std::string_view name;  ///< "etcd"
    store (*make)(store_settings const&);
};

/// The stores that this build has. CMake writes the list.
std::vector<linked_store> const& linked_stores();

/// @return null if this build does not have it
linked_store const* find_store(std::string_view name);

/// All of them, with their defaults.
std::vector<store> known_stores();

}  // namespace redlock::cli
