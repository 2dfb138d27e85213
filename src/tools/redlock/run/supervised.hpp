#pragma once

#include <redlock/clock.hpp>

namespace redlock::cli {

/// The interface of a command for the supervisor: implemented by @ref child, and by a fake in tests.
class supervised {
public:
    /// Sends a signal to the command and its process group.
    virtual void signal(int) noexcept = 0;

    /// Forwards a signal that this process got. If the command shares the group of this process, a signal of the
    /// terminal is not forwarded, because the terminal has sent it to the whole group.
    virtual void forward(int) noexcept = 0;

    /// Collects the children that have ended or were stopped. Call it after each SIGCHLD.
    virtual void check_children() noexcept = 0;

    virtual bool has_ended() const noexcept = 0;
    virtual bool was_killed() const noexcept = 0;  ///< it has ended by SIGKILL
    virtual bool was_stopped() noexcept = 0;       ///< whether its terminal has stopped it since the last call

    /// Whether the command and all processes of its group have ended.
    virtual bool is_gone() noexcept = 0;

    /// The command and its group must have ended at @p end, also if this process is stopped then. The maximum: there is
    /// no such time.
    virtual void must_end_by(clock::time_point end) noexcept = 0;

    /// After Ctrl-Z has stopped the command: stops its whole group, and this process. Returns when this process is
    /// continued, or immediately if there is no shell that could continue it.
    virtual void suspend_with_command() noexcept = 0;

    /// Continues the command, in the foreground if this process is in the foreground.
    virtual void resume() noexcept = 0;

protected:
    ~supervised() = default;
};

}  // namespace redlock::cli
