#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock {

struct config;
class node;

/// What the nodes of one manager have in common.
struct store_context {
    /// One server under two addresses must not vote twice. A node calls this on its executor when it has learned which server it talks
    /// to: node @p name has met the server @p identity, which no server of another kind has, too. @return the name of the node that met
    /// it before, which this one must not vote beside (`errc::duplicate_node`); empty: none.
    std::function<std::string(std::string const& name, std::string const& identity)> claim;
};

/** What addresses of a kind mean, for `config::stores`: a component of this library, or something of your own.

    Its nodes stand beside any others in one manager, and each has one vote.
*/
struct store {
    /// What stands before `://`, in lower case: `{"postgresql", "postgres"}`. Those of `config::nodes` that are always known cannot be
    /// taken, and no two stores of a manager may have the same.
    std::vector<std::string> schemes{};

    /// Makes a node, without connecting. @p url is the whole of it. The settings that concern it are read here; `config::log`, if
    /// it is set, may be kept and called on the node's executor.
    /// @throws std::invalid_argument saying what is wrong with @p url, without secrets: it is shown with the place in `config::nodes`
    std::function<std::shared_ptr<node>(std::string_view url, config const& settings, store_context const& context)> make{};
};

}  // namespace redlock
