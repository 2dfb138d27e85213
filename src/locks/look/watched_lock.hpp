#pragma once

#include "locks/look/lock_summary.hpp"
#include "locks/waiting_operation.hpp"

#include <redlock/clock.hpp>

#include <boost/intrusive/list.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>

namespace redlock::inline v1::locks {

/// One who waits for another holder of a lock.
class lock_watch : public boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
public:
    /// A look has shown the lock, and who holds it.
    virtual void looked(lock_info const&, std::set<hold> const&) = 0;

    /// No more looks, because memory is short.
    virtual void ended(error_code) = 0;

protected:
    ~lock_watch() = default;
};

/** Looks at one lock for all who wait for its next holder. It begins with the first of them, and ends with the last.

    A look counts only for those who were waiting when it began. For later callers it may be too old: they may have seen
    a newer state already.
*/
class watched_lock final : public waiting_operation<watched_lock> {
public:
    /// The place of one who waits; the destructor leaves.
    class place {
    public:
        place(std::shared_ptr<manager_state> const&, std::string const& resource, lock_watch&);
        ~place();
        place(place const&) = delete;

    private:
        std::shared_ptr<watched_lock> const lock_;
        lock_watch& watch_;
    };

    watched_lock(std::shared_ptr<manager_state>, std::string resource);  ///< only for @ref place

    /// The lock may have changed on some node.
    void changed();

    void complete(error_code);

private:
    using list = boost::intrusive::list<lock_watch, boost::intrusive::constant_time_size<false>>;

    static std::shared_ptr<watched_lock> of(std::shared_ptr<manager_state> const&, std::string const& resource);
    bool is_deserted() const;
    static runtime::task<error_code> look_repeatedly(std::shared_ptr<watched_lock>);
    void tell(lock_info const&);
    clock::time_point next_look(quorum::round const& answers, lock_info const& now) const;

    std::string const resource_;
    list joined_;                          ///< since the latest look has begun
    list asked_;                           ///< no look that counts has ended since they joined
    list told_;                            ///< they know @ref holds_
    std::optional<std::set<hold>> holds_;  ///< as of the latest look
    bool looks_ = false;                   ///< it looks repeatedly
    bool is_new_ = false;                  ///< the latest look saw other holders than the one before
    bool changed_ = false;                 ///< since the latest look has begun
};

}  // namespace redlock::locks
