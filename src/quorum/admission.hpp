#pragma once

#include "runtime/runtime.hpp"

#include <redlock/clock.hpp>

#include <boost/intrusive/list.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

namespace redlock::inline v1::quorum {

/// A round, as an @ref admission sees it.
class entrant : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    enum class purpose : std::uint8_t {
        extension,
        ending,  ///< it releases, or ends a call
        other,
        acquisition,
    };

    /// How its wait for the nodes has ended.
    struct outcome {
        enum class kind : std::uint8_t { answered, out_of_time, without_nodes } how;
        clock::time_point started;
        clock::duration timeout;
    };

    bool waits_for_place() const noexcept { return owner_ != nullptr; }
    bool has_place() const noexcept { return has_place_; }

protected:
    ~entrant() = default;

private:
    friend class admission;

    virtual purpose aim() const noexcept = 0;
    virtual outcome fate() const noexcept = 0;
    virtual std::shared_ptr<void> owner() = 0;  ///< keeps this alive while it waits
    virtual void admitted() noexcept = 0;

    std::shared_ptr<void> owner_;
    bool has_place_ = false;
};

/** Limits how many rounds of one manager are under way. The others wait here.

    The time-out of a round begins when its requests are sent. If too many were sent at once, their answers would come
    late, although no node is slow. Each round would fail, and would cause a release and another round.

    The limit follows the answers. It grows while answers come in the first quarter of the time that the quickest answer
    leaves until the time-out. It shrinks if they need more than half of that time, or if none comes. (TCP Vegas
    controls its window in this way: Brakmo and Peterson, 1995.)

    Extensions have places of their own, so they never wait for acquisitions. Releases, and whatever else ends a call,
    go before inspections, and these before acquisitions. Rounds that connect or found are always admitted.

    While extensions wait, no acquisition is admitted, and afterwards for as long again, but at most for a second. So a
    manager takes no further locks when the extensions of its locks need half of what the nodes can do. Otherwise
    each lock in excess would delay all extensions, until all locks are lost.

    On the strand.
*/
class admission {
public:
    explicit admission(runtime::runtime&);
    ~admission() { abandon(); }

    /// @return whether the round may be sent now. Otherwise `entrant::admitted` is called later.
    bool enter(entrant&);

    /// The round needs its place no longer. If it waits, it will not be admitted. Further calls do nothing.
    void leave(entrant&);

    /// From now on, all rounds are admitted at once.
    void open();

    /// Forgets all rounds that wait, because the execution context ends.
    void abandon() noexcept;

    /// How many rounds wait.
    std::size_t waiting() const noexcept { return waiting_; }

    /// How many rounds of each kind may be under way.
    std::size_t limit() const noexcept { return limit_; }

    /// Counts the rounds for which a majority has answered in time while others waited. It shows whether the nodes make
    /// progress.
    std::size_t answered() const noexcept { return answered_; }

private:
    using line = boost::intrusive::list<entrant, boost::intrusive::constant_time_size<false>>;

    /// Rounds that share places, in a line for each purpose. Those of the first line go first.
    struct gate {
        std::array<line, 4> lines;
        std::size_t under_way = 0;

        bool is_empty() const noexcept { return is_empty_up_to(entrant::purpose::acquisition); }
        bool is_empty_up_to(entrant::purpose p) const noexcept
        {
            return std::all_of(lines.begin(), lines.begin() + static_cast<int>(p) + 1,
                               [](auto& l) { return l.empty(); });
        }
    };

    gate& gate_of(entrant const&) noexcept;
    bool has_room(gate const& g) const noexcept { return g.under_way < limit_; }
    bool takes_acquisitions() const noexcept;
    bool may_enter(gate const& g, entrant::purpose p) const noexcept
    {
        return has_room(g) && (p != entrant::purpose::acquisition || takes_acquisitions());
    }
    line* next_line(gate& g) const noexcept;
    void note_extensions() noexcept;
    void plan() noexcept;
    void adapt(entrant::outcome const&);
    void admit();
    void go_on_at(clock::time_point) noexcept;
    [[nodiscard]] std::shared_ptr<void> take(entrant&) noexcept;  ///< out of its line; @return its owner

    runtime::runtime& runtime_;
    gate extensions_, others_;
    std::size_t limit_;
    std::size_t waiting_ = 0, answered_ = 0;
    clock::duration quickest_ = clock::duration::max();
    clock::time_point shrunk_at_ = clock::time_point::min();
    std::optional<clock::time_point> extensions_wait_since_;
    clock::time_point acquisitions_from_ = clock::time_point::min();
    bool admits_ = false;   ///< in @ref admit
    bool is_open_ = false;  ///< see @ref open
    runtime::alarm next_turn_;
    clock::time_point next_turn_at_{};  ///< if it is set
};

}  // namespace redlock::quorum
