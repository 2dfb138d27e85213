#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

/// Where a page of a listing begins: `lock_page::next`.
struct list_place {
    std::size_t node = 0;            ///< the node that is scanned
    std::set<std::size_t> failed{};  ///< nodes that could not list their locks
    std::string on_node{};           ///< where the node's next scan begins

    void next_node()
    {
        ++node;
        on_node.clear();
    }

    /// Three words with a hyphen between them: the node, the failed nodes, and the place on the node in hexadecimal
    /// digits.
    std::string text() const;

    /// @return empty: the text is no place in a listing of @p nodes nodes
    static std::optional<list_place> read(std::string_view text, std::size_t nodes);
};

}  // namespace redlock::locks
