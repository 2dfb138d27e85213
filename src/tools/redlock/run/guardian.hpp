#pragma once

#include <redlock/clock.hpp>

#include <cstdint>
#include <sys/types.h>

namespace redlock::cli {

/** A child process that kills the process group of a command if this process cannot do so. Then this process has ended,
    or it is stopped when the command must end.

    Only this process has the write end of the guardian's pipe. When that end is closed, for example because this
    process was killed by SIGKILL, the guardian sends SIGKILL to the group. The guardian has its own session and blocks
    all signals, so that no terminal and no signal to the group of this process ends it. It has no other file, besides
    its timer.
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

    /// Tells the guardian that @p group must have ended at @p end. The maximum: there is no such time.
    void must_end_by(clock::time_point end, pid_t group) noexcept;

    /// Call this when waitpid has returned @p ended. If the guardian has ended, its process id may be reused soon.
    void note_end(pid_t ended) noexcept;

private:
    struct message {
        pid_t group;
        std::int64_t end;  ///< on the clock of this library, in nanoseconds; zero: as before
    };

    [[noreturn]] static void wait_and_kill(int hears, int tells) noexcept;
    bool tell(message) const noexcept;

    pid_t pid_ = -1;
    int tells_ = -1;                                    ///< the write end of the pipe
    clock::time_point end_ = clock::time_point::max();  ///< the guardian knows it
};

}  // namespace redlock::cli
