#pragma once

#include "sim/waits.hpp"

#include <redlock.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace redlock::sim {

class process;
class world;

/// A user of locks that holds some while it waits for others, in a scope or at once, and mostly waits for as long as it
/// takes. It keeps to what the documents ask of it; so it never waits for ever.
class owner {
public:
    owner(world&, process&, std::size_t number);

    void start() { rest(); }
    void stop();    ///< no new acquisitions; what waits is cancelled
    void forget();  ///< what it holds
    std::string const& name() const noexcept { return name_; }
    clock::duration rest_of_validity() const;
    bool holds() const;
    void add_claims(std::vector<claim>&) const;

    /// At the end.
    void check_all_completed() const;

    std::list<wait> waits;

private:
    enum class habit {
        scope,  ///< several, one after the other
        set,
        upgrade,
        read,  ///< again and again
        read_for_long,
        try_to_write,  ///< the same, and soon gives up
        keep,          ///< one for seconds, which comes before all others in the order of names
        seldom,        ///< one that nobody else wants, but who waits for what is kept
    };
    struct call {
        std::list<wait>::iterator waits;  ///< the end: not for ever
        std::shared_ptr<asio::cancellation_signal> cancel;
    };

    void rest();
    void begin();
    void step();
    void end();
    void branch_ends();
    void acquire(resource_set, acquire_options, std::function<void()> next);
    void acquire_more(std::function<void()> next);
    void acquire_once();
    void change_one(std::function<void()> next);
    void upgrade(lock&, std::function<void()> next);
    std::list<call>::iterator begin_call(std::string what, wait, bool is_for_ever);
    void end_call(std::list<call>::iterator, std::string const& what, error_code);
    std::chrono::milliseconds draw_wait();
    mode draw_mode();
    resource_set draw_names(std::size_t from, std::size_t most);

    world& world_;
    process& process_;
    std::string const name_;
    habit const habit_;
    std::optional<lock_scope> scope_;
    std::list<lock> held_;
    std::list<call> calls_;
    std::vector<std::string> wanted_;
    std::set<std::string> tokens_;  ///< of what it has acquired
    std::size_t comes_next_ = 0;    ///< the first name that comes after all that were acquired
    int steps_left_ = 0;
    bool ends_ = false;
    bool stopping_ = false;
};

}  // namespace redlock::sim
