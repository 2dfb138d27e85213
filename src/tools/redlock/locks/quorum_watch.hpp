#pragma once

#include "tools/redlock/args/exit_status.hpp"

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/observer.hpp>
#include <redlock/report.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace redlock::cli {

/** A `manager_options::observer` of one acquisition: it finds out whether a majority of the nodes votes, and if not,
   why.

    @par Thread safety
    None: one thread runs the manager and calls this.
*/
class quorum_watch final : public observer {
public:
    void acquisition_begun(events::acquisition_begun const&) override;
    void round_decided(events::round_decided const&) override;
    void node_quarantined(events::node_quarantined const&) override;

    std::function<void()> changed{};  ///< called after each round; may be empty

    /// Whether too few nodes voted in the latest round.
    bool lacks_quorum() const;

    // The following functions need a round in which too few nodes voted.

    /// The time since which every round had too few votes.
    clock::time_point since() const noexcept { return since_; }

    /// The exit status if waiting cannot help; nothing if it may help.
    std::optional<exit_status> lasting_status() const;

    /// "too few nodes answer: NAME (WHY), …"
    std::string missing_nodes() const;

    /// Whether a missing node has a cause that was not reported before. Each pair of node and cause is reported once.
    bool has_news() const;
    std::string news() const;  ///< like @ref missing_nodes, but only nodes with a new cause
    void set_told();           ///< records that the current news was reported

    std::vector<node_report> const& nodes() const noexcept { return nodes_; }

private:
    struct history {
        bool has_voted = false;
        error_code cause{};         ///< why the latest vote is missing
        clock::time_point since{};  ///< since when it has been missing for this reason
        clock::time_point quarantined_until{};
    };
    using cause = std::pair<std::string, error_code>;  ///< a node, and why it is missing

    void note_node(node_report const&);
    bool lasts(node_report const&) const;
    std::string nodes_in_words(std::function<bool(node_report const&)> const& counts) const;
    std::string why(node_report const&) const;
    bool is_new(node_report const&) const;
    bool is_news(node_report const&) const;

    error_code outcome_{};               ///< of the latest round
    clock::time_point since_{}, now_{};  ///< `now_`: when the latest round ended
    std::vector<node_report> nodes_{};   ///< of the latest round
    std::map<std::string, history, std::less<>> histories_{};
    std::set<cause> told_{};
};

}  // namespace redlock::cli
