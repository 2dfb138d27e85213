#pragma once

#include <sys/types.h>

namespace redlock::cli {

/** A child process that kills the process group of a command if this process ends without stopping it, as by SIGKILL.

    Only this process has the other end of the guardian's pipe. When the pipe ends, the guardian sends SIGKILL to the
    group. The guardian has a session of its own and blocks all signals, so that a terminal or a signal to our group
    does not end it. It keeps no other file open.
*/
class guardian {
public:
    /// @throws std::system_error
    guardian();
    ~guardian();  ///< The guardian ends, and kills nothing.
    guardian(guardian const&) = delete;
    guardian& operator=(guardian const&) = delete;

    /// In a fork of this process, before it executes the command: the guardian guards the group that the caller leads.
    void guard_us() const noexcept;

    /// waitpid has returned @p ended. If it is the guardian, its number may be that of another process soon.
    void note_end(pid_t ended) noexcept;

private:
    pid_t pid_ = -1;
    int tells_ = -1;  ///< the end of the pipe that only we have
};

}  // namespace redlock::cli
