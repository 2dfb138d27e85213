#include "locks/shutdown.hpp"

#include <utility>

namespace redlock::inline v1::locks {

shutdown::shutdown(quorum::quorum_state& q, runtime::operations& o, locks::held_locks& h, quorum::cleaner& c,
                   events::event_log& log, std::shared_ptr<void>& alive)
    : quorum_(q), operations_(o), held_locks_(h), cleaner_(c), log_(log), alive_(alive), deadline_([this] { close(); })
{
}

void shutdown::begin(std::function<void(std::size_t)> done)
{
    if (phase_ == phase::closed) {
        if (done)
            done(keys_left_);
        return;
    }
    if (done)
        done_.push_back(std::move(done));
    if (phase_ == phase::closing)
        return;
    phase_ = phase::closing;
    operations_.stop();
    held_locks_.tell_to_stop();
    proceed();
}

void shutdown::proceed()
{
    if (phase_ != phase::closing || !held_locks_.empty())
        return;
    auto& r = quorum_.runtime;
    if (!std::exchange(draining_, true))
        wait_for_nodes();
    // Not at once: the caller may be a node that is handing out answers.
    if (cleaner_.pending() == 0 && operations_.empty())
        r.set(deadline_, r.now());
}

void shutdown::wait_for_nodes()
{
    auto& r = quorum_.runtime;
    answered_ = quorum_.admission.answered();
    r.set(deadline_, r.now() + quorum_.settings.connect_timeout + quorum_.nodes.longest_timeout());
}

// While releases wait for a place, and the nodes answer others, the shutdown goes on.
void shutdown::close()
{
    bool const has_work = cleaner_.pending() > 0 || !operations_.empty();
    if (has_work && quorum_.admission.waiting() > 0 && quorum_.admission.answered() != answered_)
        return wait_for_nodes();
    keys_left_ = cleaner_.pending();
    if (keys_left_ > 0)
        log_.announce(&observer::keys_left, {.when = quorum_.runtime.now(), .keys = keys_left_}, {});
    phase_ = phase::closed;
    quorum_.closed = true;
    auto const tell = [alive = std::exchange(alive_, {}), all = std::exchange(done_, {}), left = keys_left_] {
        for (auto& done : all)
            done(left);
    };
    quorum_.nodes.close();
    quorum_.admission.open();
    cleaner_.stop();
    quorum_.runtime.stop();
    try {
        log_.end(tell);
    } catch (...) {  // out of memory
        tell();
    }
}

void shutdown::abandon() noexcept
{
    phase_ = phase::closed;
    quorum_.closed = true;
    done_.clear();
}

}  // namespace redlock::locks
