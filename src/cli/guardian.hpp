#pragma once

#include <sys/types.h>

namespace redlock::cli {

/** A child process that kills the process group of a command if this process ends without stopping it.

    Only this process has the write end of the guardian's pipe. When that end is closed, for example because this
    process was killed by SIGKILL, the guardian sends SIGKILL to the group. The guardian has its own session and blocks
    all signals, so that no terminal and no signal to the group of this process ends it. It keeps no other file open.
*/
class guardian {
public:
    /// @throws std::system_error
    guardian();
    ~guardian();  ///< ends the guardian, which then kills nothing
    guardian(guardian const&) = delete;
    guardian& operator=(guardian const&) = delete;

    /// Tells the guardian to guard the process group that the calling process leads. A fork of this process calls it
    /// before it executes the command.
    void guard_us() const noexcept;

    /// Call this when waitpid has returned @p ended. If the guardian has ended, its process id may be reused soon.
    void note_end(pid_t ended) noexcept;

private:
    pid_t pid_ = -1;
    int tells_ = -1;  ///< the write end of the pipe
};

}  // namespace redlock::cli
