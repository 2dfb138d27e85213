#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v1 {

struct manager_options;
class node;

/// The common services for the nodes of one manager.
struct store_context {
    /// A function that prevents that one server votes twice under two addresses. A node calls this on its executor when
    /// it knows which server it talks to. The name of the node is @p name. No server of another kind has the same @p
    /// identity.
    /// @return the name of another node that has met this server before. Then this node must not vote
    /// (`errc::duplicate_node`). Empty: none.
    std::function<std::string(std::string const& name, std::string const& identity)> claim;
};

/** The nodes behind addresses of one kind, for `manager_options::stores`: a component of this library, or your own.

    One manager can mix them with other nodes; each node has one vote.

    @par Thread safety
    A value. Managers that share a store call `make` in the threads of their constructors, perhaps at the same time.
*/
struct store {
    /// The parts of addresses before `://`, in lower case: `{"postgresql", "postgres"}`. Schemes that
    /// `manager_options::nodes` always knows are refused, and so is one scheme for two stores of a manager.
    std::vector<std::string> schemes{};

    /// A function that makes a node, without connecting, in the manager's constructor. @p url is the complete address.
    /// Read the settings that concern the node here. If `manager_options::log` is set, the node may keep it and call it
    /// on its executor.
    /// @throws std::invalid_argument if @p url is wrong. The message says why, without secrets: it is shown with the
    /// index in `manager_options::nodes`.
    std::function<std::shared_ptr<node>(std::string_view url, manager_options const& settings,
                                        store_context const& context)>
        make{};
};

}  // namespace redlock
