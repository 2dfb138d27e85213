#pragma once

#include <functional>
#include <sys/types.h>

namespace redlock::demo {

/** A process that runs a function, and is killed with this object or with its parent.

    It is a fork, so the parent must have no other thread.
*/
class child_process {
public:
    /// @throws std::system_error if there can be no further process
    explicit child_process(std::function<void()> const& work);
    ~child_process();
    child_process(child_process const&) = delete;
    child_process& operator=(child_process const&) = delete;

    /// Whether @c work has returned.
    /// @throws std::runtime_error if the process has ended in any other way
    bool ended();

    void pause();   ///< SIGSTOP; returns when it stands still
    void resume();  ///< SIGCONT

private:
    pid_t pid_ = -1;
};

}  // namespace redlock::demo
